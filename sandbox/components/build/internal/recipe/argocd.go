package recipe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/license"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/progress"
)

const argoCDModule = "github.com/argoproj/argo-cd/v3"

// argoCDKinds are the definitions that Argo CD reads objects of. The value says
// whether only the kind's name is needed: the API server of Argo CD watches
// ApplicationSets, but nothing here acts on them, and their schema is three
// times as large as that of all others together.
var argoCDKinds = map[string]bool{
	"application-crd.yaml":    false,
	"appproject-crd.yaml":     false,
	"applicationset-crd.yaml": true,
}

// argoCDInstall is what Argo CD is installed with in a cluster, definitions
// included. The file of that name beside the program has them not.
const argoCDInstall = "install.yaml"

// ArgoCD is Argo CD in one program, its web pages in the folder ui, its
// resource definitions in the folder crds, and what it is run with in a cluster
// in one file.
func ArgoCD() Recipe {
	const v = argoCDModule + "/common."
	return Recipe{
		Name:     "argocd",
		Revision: 1,
		Lists:    []string{fmt.Sprint(argoCDKinds, argoCDPages)},
		Module:   argoCDModule,
		// all three, or the pages show a version of no release
		Stamp:    []string{v + "gitTag={version}", v + "gitCommit=module", v + "gitTreeState=clean"},
		Versions: map[string]string{"Argo CD": argoCDModule},
		Begin:    beginArgoCD,
		Finish:   finishArgoCD,
	}
}

// startPage is the one page that Argo CD reads out of its own program. The
// folder has a substitute that says so, for a program built by hand.
const startPage = "dist/app/index.html"

// beginArgoCD builds the web pages, and has their start page linked in.
func beginArgoCD(ctx context.Context, b Bench) (map[string]string, error) {
	m, err := findModule(ctx, b.Source, argoCDModule)
	if err != nil {
		return nil, err
	}
	site := site(b)
	if err := copyTree(filepath.Join(b.Source, "ui"), site); err != nil {
		return nil, err
	}
	for _, name := range argoCDPages {
		if err := copyTree(filepath.Join(m.Dir, "ui", name), filepath.Join(site, name)); err != nil {
			return nil, err
		}
	}
	if err := buildPages(ctx, b, site, m.Version); err != nil {
		return nil, err
	}
	if err := checkPages(pages(b), "assets/fonts.css"); err != nil {
		return nil, err
	}
	return map[string]string{startPage: filepath.Join(pages(b), "index.html")}, nil
}

// site is where the pages are built, pages is what comes out.
func site(b Bench) string  { return filepath.Join(b.Work, "site") }
func pages(b Bench) string { return filepath.Join(site(b), "dist", "app") }

func finishArgoCD(ctx context.Context, b Bench) ([]components.License, error) {
	m, err := findModule(ctx, b.Source, argoCDModule)
	if err != nil {
		return nil, err
	}
	if err := packDefinitions(filepath.Join(m.Dir, "manifests", "crds"), filepath.Join(b.Out, "crds"), argoCDKinds, openSchema); err != nil {
		return nil, err
	}
	if err := packArgoCDInstall(filepath.Join(m.Dir, "manifests"), b.Out); err != nil {
		return nil, err
	}
	// the list is no page
	list := filepath.Join(pages(b), "licenses.txt")
	licenses, err := license.OfBundle(list)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(list); err != nil {
		return nil, err
	}
	return licenses, os.Rename(pages(b), filepath.Join(b.Out, "ui"))
}

// packArgoCDInstall copies what Argo CD is installed with, without definitions.
func packArgoCDInstall(from, to string) error {
	data, err := os.ReadFile(filepath.Join(from, argoCDInstall))
	if err != nil {
		return err
	}
	var kept [][]byte
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var o struct{ Kind string }
		if err := yaml.Unmarshal(document, &o); err != nil {
			return fmt.Errorf("%s: %w", argoCDInstall, err)
		}
		if o.Kind != "" && o.Kind != "CustomResourceDefinition" {
			kept = append(kept, bytes.TrimSpace(document))
		}
	}
	if len(kept) == 0 {
		return fmt.Errorf("%s: nothing is left without the definitions", argoCDInstall)
	}
	data = append(bytes.Join(kept, []byte("\n---\n")), '\n')
	return os.WriteFile(filepath.Join(to, argoCDInstall), data, 0o644)
}

// openSchema makes a definition take objects of any content.
func openSchema(definition []byte) ([]byte, error) {
	d, err := parseDefinition(definition)
	if err != nil {
		return nil, err
	}
	for _, v := range d.versions {
		v["schema"] = map[string]any{"openAPIV3Schema": map[string]any{
			"type":                                 "object",
			"x-kubernetes-preserve-unknown-fields": true,
		}}
	}
	return yaml.Marshal(d.object)
}

// argoCDPages is what Argo CD's module has of the web pages. What they are
// built with comes from the component's folder ui: Argo CD's own list of
// packages names one that only GitHub has.
var argoCDPages = []string{"src", "babel.config.js"}

// buildPages builds Argo CD's web pages in site, which has the component's
// folder ui and the module's sources.
func buildPages(ctx context.Context, b Bench, site, version string) error {
	b.Doing("fetch Node and the front end's packages")
	node, env, err := fetchNode(ctx, site)
	if err != nil {
		return err
	}
	// what Argo CD's sources use of a newer argo-ui than npm has
	if err := copyTree(filepath.Join(site, "argo-ui"), filepath.Join(site, "node_modules", "argo-ui")); err != nil {
		return err
	}
	b.Doing("bundle the front end")
	webpack := filepath.Join(site, "node_modules", "webpack", "bin", "webpack.js")
	defer b.Track.Finish(progress.Pages(b.Component))
	return run(ctx, site, append(env, "ARGO_VERSION="+version), node, webpack, "--config", "webpack.config.js", "--mode", "production")
}

var scriptOfPage = regexp.MustCompile(`<script[^>]*\ssrc="([^"]+)"`)

// checkPages makes sure that the pages will work, which without a script or one
// of the other files show nothing.
func checkPages(dir string, others ...string) error {
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		return fmt.Errorf("the front end's build made no start page: %w", err)
	}
	scripts := scriptOfPage.FindAllSubmatch(page, -1)
	if len(scripts) == 0 {
		return errors.New("the front end's start page has no script")
	}
	files := others
	for _, s := range scripts {
		files = append(files, string(s[1]))
	}
	for _, f := range files {
		// Argo CD's server makes this one
		if f == "extensions.js" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f))); err != nil {
			return fmt.Errorf("the front end's start page needs what its build did not make: %w", err)
		}
	}
	return nil
}
