package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// descriptions are what package managers show.
var descriptions = map[string]string{
	whole: `Multi-cluster workload orchestration on one machine
 A git forge with a workshop's repositories, Kubernetes clusters that follow it
 with Flux and Argo CD, and the scheduler that opens pull requests with what
 belongs on each cluster: all in one program, without Docker.`,
	cli: `Plans, explains and validates platform models of Kalypso
 The commands that read platform repositories, the verbs for workflows, the
 scheduler and the hub. The package kalypso has the sandbox, too.`,
}

// installed is where a package puts a file of an archive, "" for nowhere.
func installed(name, pkg string) string {
	base := path.Base(name)
	switch {
	case name == "kalypso":
		return "/usr/bin/kalypso"
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/man/man1/" + base
	case strings.HasPrefix(name, "completions/bash/"):
		return "/usr/share/bash-completion/completions/" + base
	case strings.HasPrefix(name, "completions/zsh/"):
		return "/usr/share/zsh/vendor-completions/" + base
	case strings.HasPrefix(name, "completions/fish/"):
		return "/usr/share/fish/vendor_completions.d/" + base
	case name == "LICENSE":
		return "/usr/share/doc/" + pkg + "/copyright"
	case name == "THIRD-PARTY-LICENSES.txt":
		return "/usr/share/doc/" + pkg + "/" + base
	}
	return ""
}

// packages writes a .deb and a .rpm with the files of an archive. The two programs
// have one name, so of their packages one can be installed.
func (r *Release) packages(t Target, content tree) error {
	// nfpm reads files, and takes what has no other time to be of now
	dir := filepath.Join(r.work, t.String(), "package")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var contents files.Contents
	for _, f := range content.sorted() {
		to := installed(f.name, t.Name)
		if to == "" {
			continue
		}
		from := f.path
		if from == "" {
			from = filepath.Join(dir, filepath.FromSlash(f.name))
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(from, f.content, 0o644); err != nil {
				return err
			}
		}
		contents = append(contents, &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: f.mode, MTime: r.time,
		}})
	}
	other := map[string]string{whole: cli, cli: whole}[t.Name]
	info := func() *nfpm.Info {
		return nfpm.WithDefaults(&nfpm.Info{
			Name: t.Name, Arch: t.Arch, Platform: "linux", Version: r.Version, Release: "1", VersionSchema: "semver",
			Section: "devel", Priority: "optional", Maintainer: "Kalypso <kalypso-dev@users.noreply.github.com>",
			Description: descriptions[t.Name], Homepage: repository, License: "Apache-2.0", MTime: r.time, DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Depends: []string{"git"}, Recommends: []string{"ca-certificates"}, Conflicts: []string{other}, Replaces: []string{other}, Contents: contents,
				// what is large in it is compressed already
				Deb: nfpm.Deb{Compression: "gzip:1"},
				RPM: nfpm.RPM{Compression: "gzip:1", BuildHost: "localhost", Summary: strings.SplitN(descriptions[t.Name], "\n", 2)[0]},
			},
		})
	}
	for _, format := range []interface {
		ConventionalFileName(*nfpm.Info) string
		Package(*nfpm.Info, io.Writer) error
	}{deb.Default, rpm.DefaultRPM} {
		one := info()
		if err := r.create(format.ConventionalFileName(one), func(f *os.File) error { return format.Package(one, f) }); err != nil {
			return fmt.Errorf("package: %w", err)
		}
	}
	return nil
}
