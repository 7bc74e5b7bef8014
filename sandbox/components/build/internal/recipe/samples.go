package recipe

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// samples are the tutorials' applications. They use the standard library only.
var samples = []struct{ name, workshop, repository string }{
	{"hello-world", "hello-world", "kalypso-app-src"},
}

// Samples are the tutorials' applications, as their repositories have them.
func Samples() Recipe {
	r := Recipe{Name: "samples", Revision: 1, Finish: finishSamples}
	for _, s := range samples {
		sources, err := sampleSources(s.workshop, s.repository)
		// an error is told by Finish, which meets it again
		r.Lists = append(r.Lists, fmt.Sprint(s.name, err))
		for _, name := range slices.Sorted(maps.Keys(sources)) {
			r.Lists = append(r.Lists, name, string(sources[name]))
		}
	}
	return r
}

// sampleSources are the files of the repository's main branch that decide what
// its program is.
func sampleSources(workshop, repository string) (map[string][]byte, error) {
	w, err := fixtures.Load(workshop, "http://localhost")
	if err != nil {
		return nil, err
	}
	r, ok := w.Repository(repository)
	if !ok {
		return nil, fmt.Errorf("workshop %s has no repository %s", workshop, repository)
	}
	branch, ok := r.Branch("main")
	if !ok {
		return nil, fmt.Errorf("%s has no branch main", repository)
	}
	sources := map[string][]byte{}
	for name, content := range branch.Files {
		if name == "go.mod" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			sources[name] = content
		}
	}
	return sources, nil
}

func finishSamples(ctx context.Context, b Bench) ([]components.License, error) {
	for _, s := range samples {
		b.Log("compile and link %s", s.name)
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
		args := append([]string{"go", "build"}, buildFlags...)
		args = append(args, "-ldflags", linkFlags, "-o", filepath.Join(b.Out, s.name), ".")
		if err := (command.Command{Dir: dir, Env: goEnv, Args: args}).Run(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
