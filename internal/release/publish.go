package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// chartFolder has the chart that is packed, from the repository's root.
const chartFolder = "deploy/helm/kalypso"

// versionLine matches the two versions in a Chart.yaml: in the repository they are
// no release's.
var versionLine = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart packs the chart with the version of the release.
func (r *Release) chart() error {
	root := filepath.Join(r.Root, filepath.FromSlash(chartFolder))
	var content tree
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			if n := len(versionLine.FindAll(data, -1)); n != 2 {
				return fmt.Errorf("%s has %d lines with a version, not two", path, n)
			}
			data = versionLine.ReplaceAll(data, []byte("${1}: "+r.number()))
		}
		content.add(filepath.ToSlash(name), data)
		return nil
	})
	if err != nil {
		return err
	}
	return r.create(fmt.Sprintf("kalypso-chart_%s.tgz", r.number()), func(f *os.File) error { return content.below("kalypso").writeTarGz(f, r.time) })
}

//go:embed formula.rb.tmpl
var formula string

// installers writes the script that installs a release, and the formula for
// Homebrew, with the digests of the archives.
func (r *Release) installers() error {
	script, err := os.ReadFile(filepath.Join(r.Root, "install.sh"))
	if err != nil {
		return err
	}
	if err := r.write("install.sh", script); err != nil {
		return err
	}
	return r.writeFormula()
}

// writeFormula writes the formula of kalypso with the sandbox.
func (r *Release) writeFormula() error {
	type archive struct{ URL, SHA256 string }
	archives := map[string]archive{}
	for _, t := range r.Targets {
		if t.Name != whole {
			continue
		}
		name := archiveName(t, r.number())
		digest, err := digestOf(filepath.Join(r.stage, name))
		if err != nil {
			return err
		}
		archives[t.OS+"_"+t.Arch] = archive{URL: strings.TrimSuffix(r.URL, "/") + "/download/" + r.Version + "/" + name, SHA256: digest}
	}
	if len(archives) == 0 {
		r.log("no formula, since kalypso with the sandbox is not built")
		return nil
	}
	t, err := template.New("formula").Parse(formula)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Homepage": repository, "Version": r.number(), "Archives": archives})
	if err != nil {
		return err
	}
	return r.write("kalypso.rb", out.Bytes())
}
