package scenarios

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// limit is for a whole scenario; each wait in it has its own, shorter one.
const limit = 10 * time.Minute

// Options of Run.
type Options struct {
	Workshop string
	Name     string
	World    World
	Report   func(Event) // may be nil; called from one goroutine at a time
	Keep     bool        // leave the folder that the scenario worked in

	files fs.FS // in place of the library, for tests
}

// Run runs a scenario. When one of its checks fails, the error is a
// *CheckError and the result says what was done up to there.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.files == nil {
		o.files = library
	}
	if o.Report == nil {
		o.Report = func(Event) {}
	}
	text, err := source(o.files, o.Workshop, o.Name)
	if err != nil {
		return Result{}, err
	}
	info := describe(o.Workshop, o.Name, text)
	dir, err := os.MkdirTemp("", "kalypso-scenario-")
	if err != nil {
		return Result{}, err
	}
	// the script's messages have the folder's real name
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Result{}, err
	}
	if !o.Keep {
		defer os.RemoveAll(dir)
	}
	file := filepath.Join(dir, o.Name+".txtar")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return Result{}, err
	}

	deadline := time.Now().Add(limit)
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, fmt.Errorf("scenario %s: not done after %s", o.Name, limit))
	defer cancel()
	s, err := newScript(ctx, o, info, text)
	if err != nil {
		return Result{}, err
	}
	o.Report(Event{Kind: ScenarioBegins, Scenario: info})
	h := &host{}
	h.run(func() {
		testscript.RunT(h, testscript.Params{
			Files:       []string{file},
			WorkdirRoot: dir,
			Deadline:    deadline,
			Setup:       s.setup,
			Cmds:        s.commands(),
		})
	})
	r, err := s.finish(h, dir)
	if o.Keep {
		r.WorkDir = dir
	}
	o.Report(Event{Kind: ScenarioEnds, Scenario: info})
	return r, err
}

// RunAll runs scenarios one after another. Each builds on those before it, so
// after the first failure, which is returned, the rest is skipped. There are no
// results when a scenario could not even begin.
func RunAll(ctx context.Context, o Options, names []string) ([]Result, error) {
	if o.files == nil {
		o.files = library
	}
	infos := make([]Info, len(names))
	for i, name := range names {
		text, err := source(o.files, o.Workshop, name)
		if err != nil {
			return nil, err
		}
		infos[i] = describe(o.Workshop, name, text)
	}
	results := make([]Result, 0, len(names))
	var failure error
	for i, name := range names {
		if failure != nil {
			results = append(results, skipped(infos[i]))
			continue
		}
		o.Name = name
		r, err := Run(ctx, o)
		if r.Name == "" {
			return nil, err
		}
		results = append(results, r)
		failure = err
	}
	return results, failure
}

func skipped(info Info) Result {
	r := Result{Workshop: info.Workshop, Name: info.Name, Title: info.Title, State: Skipped}
	for _, step := range info.Steps {
		r.Steps = append(r.Steps, Step{Title: step.Title, State: Skipped})
	}
	return r
}
