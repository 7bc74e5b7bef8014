package recipe

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/scheduler/ci/gosources"
	"github.com/kalypso-dev/kalypso/workshop"
)

// samples are the tutorials' applications. They use the standard library only,
// and embed nothing: see package gosources.
var samples = []struct{ name, workshop, repository string }{
	{"hello-world", "hello-world", "kalypso-app-src"},
	{"basic-inference", "basic-inference", "basic-inference-orchestration"},
}

// Samples are the tutorials' applications, as their repositories have them: a
// static Linux program each, since images are Linux's, and beside it the
// fingerprint of the Go files that it is made of.
func Samples() Recipe {
	r := Recipe{Name: "samples", Revision: 2, Finish: finishSamples}
	for _, s := range samples {
		sources, err := sampleSources(s.workshop, s.repository)
		// Finish returns the same error
		r.Lists = append(r.Lists, fmt.Sprint(s.name, err))
		for _, name := range slices.Sorted(maps.Keys(sources)) {
			r.Lists = append(r.Lists, name, string(sources[name]))
		}
	}
	return r
}

// sampleSources are the files of the repository's main branch that decide what
// its program is.
func sampleSources(name, repository string) (map[string][]byte, error) {
	w, err := loaded(name)
	if err != nil {
		return nil, err
	}
	r, ok := w.Repository(repository)
	if !ok {
		return nil, fmt.Errorf("workshop %s has no repository %s", name, repository)
	}
	branch, ok := r.Branch("main")
	if !ok {
		return nil, fmt.Errorf("%s has no branch main", repository)
	}
	sources := map[string][]byte{}
	for name, content := range branch.Files {
		if gosources.Counts(name) {
			sources[name] = content
		}
	}
	return sources, nil
}

func loaded(name string) (*workshop.Workshop, error) {
	w, err := workshop.OpenBuiltin(name)
	if err != nil {
		return nil, err
	}
	return w.Load(workshop.On("http://localhost"))
}

func finishSamples(ctx context.Context, b Bench) ([]components.License, error) {
	for _, s := range samples {
		sources, err := sampleSources(s.workshop, s.repository)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(b.Work, s.name)
		for name, content := range sources {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				return nil, err
			}
		}
		program := filepath.Join(b.Out, s.name)
		if err := (Compilation{Dir: dir, Env: append(GoEnv(), "GOOS=linux"), Flags: programFlags, Package: ".", Out: program, Component: b.Component, Track: b.Track}).Run(ctx); err != nil {
			return nil, err
		}
		fingerprint := gosources.Fingerprint(sources) + "\n"
		if err := os.WriteFile(program+gosources.Suffix, []byte(fingerprint), 0o644); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
