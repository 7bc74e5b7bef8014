package recipe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/progress"
)

// HubWeb is what the cache calls the hub's pages. They are no component: they are linked
// into kalypso itself, from the folder HubWebOutput.
const HubWeb = "hubweb"

// HubWebOutput is where package hub/web embeds its pages from, from the repository's root.
const HubWebOutput = "hub/web/dist"

// HubWebTypes are the types of the API, made in the build.
const HubWebTypes = hubWeb + "/src/api/schema.d.ts"

// HubWebRevision is raised when the code of MakeHubWeb changes what comes out.
const HubWebRevision = 1

// hubWeb is the folder of the pages' sources, hubAPI the description of the API that their
// types are made of.
const (
	hubWeb = "hub/web"
	hubAPI = "hub/api/openapi.json"
)

// HubWebSources are the files and folders that the pages are made of, from the repository's
// root: a clone that is worked in has others beside them.
func HubWebSources() []string {
	sources := []string{hubAPI}
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc", "tsconfig.json", "vite.config.ts", "budget.ts", "index.html", "src"} {
		sources = append(sources, hubWeb+"/"+name)
	}
	return sources
}

// MakeHubWeb builds the pages of the repository in b.Source into the folder dist of b.Out,
// and returns the licences of what is in them.
func MakeHubWeb(ctx context.Context, b Bench) ([]components.License, error) {
	site, err := prepareHubWeb(ctx, b)
	if err != nil {
		return nil, err
	}
	b.Doing("check the types")
	if err := site.run(ctx, "typescript/bin/tsc", "--noEmit"); err != nil {
		return nil, err
	}
	b.Doing("bundle the pages")
	if err := site.run(ctx, "vite/bin/vite.js", "build", "--logLevel", "warn"); err != nil {
		return nil, err
	}
	b.Track.Finish(progress.Pages(b.Component))
	made := filepath.Join(site.dir, "dist")
	if err := checkPages(made); err != nil {
		return nil, err
	}
	licenses, err := licensesOfVite(filepath.Join(made, "licenses.json"))
	if err != nil {
		return nil, err
	}
	return licenses, os.Rename(made, filepath.Join(b.Out, "dist"))
}

// TestHubWeb runs the tests of the pages.
func TestHubWeb(ctx context.Context, b Bench) error {
	site, err := prepareHubWeb(ctx, b)
	if err != nil {
		return err
	}
	return site.run(ctx, "vitest/vitest.mjs", "run")
}

// webSite is a copy of the pages' sources with all that they are built with.
type webSite struct {
	dir, node string
	env       []string
}

// run runs a script of one of the site's packages.
func (s webSite) run(ctx context.Context, script string, args ...string) error {
	return run(ctx, s.dir, s.env, append([]string{s.node, filepath.Join(s.dir, "node_modules", filepath.FromSlash(script))}, args...)...)
}

// prepareHubWeb copies the sources, fetches their packages, and makes the types of the API.
func prepareHubWeb(ctx context.Context, b Bench) (webSite, error) {
	for _, name := range HubWebSources() {
		if err := copyTree(filepath.Join(b.Source, filepath.FromSlash(name)), filepath.Join(b.Work, filepath.FromSlash(name))); err != nil {
			return webSite{}, err
		}
	}
	site := webSite{dir: filepath.Join(b.Work, filepath.FromSlash(hubWeb))}
	b.Doing("fetch Node and the packages")
	var err error
	if site.node, site.env, err = fetchNode(ctx, site.dir); err != nil {
		return webSite{}, err
	}
	return site, site.run(ctx, "openapi-typescript/bin/cli.js", "../api/openapi.json", "-o", "src/api/schema.d.ts")
}

// licensesOfVite reads the licences that Vite has written, and removes the file: it is no page.
func licensesOfVite(path string) ([]components.License, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var listed []struct{ Name, Version, Text string }
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	var licenses []components.License
	for _, one := range listed {
		l := components.License{Component: components.Self, Module: "npm:" + one.Name, Version: one.Version}
		if one.Text != "" {
			l.Files = []components.LicenseFile{{Name: "LICENSE", Text: one.Text + "\n"}}
		}
		licenses = append(licenses, l)
	}
	if len(licenses) == 0 {
		return nil, fmt.Errorf("no npm package is listed in %s", filepath.Base(path))
	}
	return licenses, os.Remove(path)
}
