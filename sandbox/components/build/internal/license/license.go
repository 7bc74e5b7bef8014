// Package license collects the licence texts of what is linked into a program.
package license

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// listed is what `go list -deps -json` says of a package.
type listed struct {
	ImportPath, Dir, Root string
	Standard              bool
	Module                *module
}

type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// A Linked is a module with the folders of those of its packages that are
// linked in.
type Linked struct {
	Path, Version, Dir string
	packages           []string
}

// Modules lists the modules linked into the program in package pkg of the
// module in dir, with the standard library as module "std". A module replaced
// by another appears as that other; one replaced by a folder is part of the
// program, and left out like the program's own.
func Modules(ctx context.Context, dir string, env []string, pkg string) ([]Linked, error) {
	args := []string{"go", "list", "-mod=readonly", "-deps", "-json=ImportPath,Dir,Root,Standard,Module", pkg}
	out, err := (command.Command{Dir: dir, Env: env, Args: args}).Output(ctx)
	if err != nil {
		return nil, err
	}
	version, err := (command.Command{Dir: dir, Env: env, Args: []string{"go", "env", "GOVERSION"}}).Output(ctx)
	if err != nil {
		return nil, err
	}
	return parse(out, strings.TrimSpace(string(version)))
}

func parse(list []byte, goVersion string) ([]Linked, error) {
	all := map[string]*Linked{}
	add := func(path, version, dir, pkg string) {
		l := all[path+"@"+version]
		if l == nil {
			l = &Linked{Path: path, Version: version, Dir: dir}
			all[path+"@"+version] = l
		}
		l.packages = append(l.packages, pkg)
	}
	dec := json.NewDecoder(bytes.NewReader(list))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		switch m := p.Module; {
		case p.Standard:
			add("std", goVersion, p.Root, p.Dir)
		case m == nil || m.Main:
		case m.Replace != nil && m.Replace.Version == "":
		case m.Replace != nil:
			add(m.Replace.Path, m.Replace.Version, m.Replace.Dir, p.Dir)
		default:
			add(m.Path, m.Version, m.Dir, p.Dir)
		}
	}
	out := make([]Linked, 0, len(all))
	for _, l := range all {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Linked) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Version, b.Version))
	})
	return out, nil
}

// isText matches the names under which licences and what must go with them are
// kept.
var isText = regexp.MustCompile(`(?i)^([a-z0-9]+[-_.])?(un)?(licen[cs]e|copying|notice|copyright|patents)s?([-_.].*)?$`)

// notText are the endings of programs and data that have such names too.
var notText = regexp.MustCompile(`(?i)\.(go|js|ts|py|sh|json|ya?ml|tmpl|html|png|svg)$`)

// Collect reads the licence texts of each module: those at its root, and those
// beside or above each linked package, which is where copied code has its own.
// It returns one entry per module, and the modules that have no text.
func Collect(component string, modules []Linked) (licenses []components.License, without []string, err error) {
	for _, m := range modules {
		files, err := m.texts()
		if err != nil {
			return nil, nil, fmt.Errorf("licence of %s: %w", m.Path, err)
		}
		if len(files) == 0 {
			without = append(without, m.Path+"@"+m.Version)
		}
		licenses = append(licenses, components.License{Component: component, Module: m.Path, Version: m.Version, Files: files})
	}
	return licenses, without, nil
}

func (m Linked) texts() ([]components.LicenseFile, error) {
	folders := map[string]bool{m.Dir: true}
	for _, p := range m.packages {
		for d := p; len(d) > len(m.Dir) && strings.HasPrefix(d, m.Dir) && !folders[d]; d = filepath.Dir(d) {
			folders[d] = true
		}
	}
	var files []components.LicenseFile
	for d := range folders {
		found, err := textsIn(m.Dir, d)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		// the layout of the REUSE specification
		var err error
		if files, err = textsIn(m.Dir, filepath.Join(m.Dir, "LICENSES")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b components.LicenseFile) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

func textsIn(root, dir string) ([]components.LicenseFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := filepath.Base(dir) == "LICENSES"
	var files []components.LicenseFile
	for _, e := range entries {
		if !e.Type().IsRegular() || !(all || isText.MatchString(e.Name())) || notText.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		files = append(files, components.LicenseFile{Name: filepath.ToSlash(rel), Text: string(data)})
	}
	return files, nil
}

// npmTitle matches a package with its version, and no Go module: those are in
// the bundle too, as their authors listed them, but are read from the modules.
var npmTitle = regexp.MustCompile(`^((?:@[^/@\s]+/)?[^/@\s]+)@(\d\S*)$`)

// OfBundle reads the licences of npm packages out of the file that a front end's
// bundler writes. A file without any is an error.
func OfBundle(path string) ([]components.License, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	licenses := parseBundle(string(text))
	if len(licenses) == 0 {
		return nil, fmt.Errorf("no npm package is listed in the front end's %s", filepath.Base(path))
	}
	return licenses, nil
}

// bundled matches the title of a package in that file, between lines of dashes;
// its text follows.
var bundled = regexp.MustCompile(`(?m)^-{80}\n(.*)\n-{80}$`)

func parseBundle(text string) []components.License {
	var out []components.License
	titles := bundled.FindAllStringSubmatchIndex(text, -1)
	for i, at := range titles {
		m := npmTitle.FindStringSubmatch(text[at[2]:at[3]])
		if m == nil {
			continue
		}
		end := len(text)
		if i+1 < len(titles) {
			end = titles[i+1][0]
		}
		l := components.License{Module: "npm:" + m[1], Version: m[2]}
		if t := strings.TrimSpace(text[at[1]:end]); t != "" {
			l.Files = []components.LicenseFile{{Name: "LICENSE", Text: t + "\n"}}
		}
		out = append(out, l)
	}
	return out
}
