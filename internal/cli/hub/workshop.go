package hub

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/cli/scenario"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/attempts"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
)

// ofWorkshop is the scenarios of a sandbox as the hub's pages show them.
type ofWorkshop struct{ *attempts.Attempts }

var _ api.Workshop = ofWorkshop{}

// newWorkshop returns the workshop of a sandbox. It has to be closed.
func newWorkshop(home sandbox.Home) ofWorkshop {
	return ofWorkshop{attempts.New(attempts.Options{
		Library: func() (scenarios.Library, string, error) { return scenario.LibraryOf(home) },
		Access: func(ctx context.Context) (engine.Access, error) {
			access, _, err := scenario.AccessTo(ctx, home)
			return access, err
		},
		Progress: scenario.ProgressFile(home),
	})}
}

// Scenarios implements api.Workshop.
func (w ofWorkshop) Scenarios(context.Context) ([]api.WorkshopScenario, error) {
	listed, err := w.List()
	if err != nil {
		return nil, err
	}
	all := make([]api.WorkshopScenario, len(listed))
	for i, one := range listed {
		all[i] = scenarioDocument(one.Info, one.Done)
	}
	return all, nil
}

func scenarioDocument(info scenarios.Info, done []bool) api.WorkshopScenario {
	needs := info.Needs
	if needs == nil {
		needs = []string{}
	}
	return api.WorkshopScenario{Name: info.Name, Title: info.Title, Persona: info.Persona, Needs: needs, Apart: info.Apart, Done: done}
}

// Scenario implements api.Workshop.
func (w ofWorkshop) Scenario(_ context.Context, name string) (api.WorkshopDetail, error) {
	page, done, err := w.Page(name)
	if err != nil {
		return api.WorkshopDetail{}, mistake(err)
	}
	d := api.WorkshopDetail{WorkshopScenario: scenarioDocument(page.Info, done), Follows: page.Info.Follows, Intro: blocks(page.Intro()), Steps: []api.WorkshopStep{}}
	for _, s := range page.Steps() {
		d.Steps = append(d.Steps, api.WorkshopStep{Title: s.Title, Reading: s.Reading, Blocks: blocks(s.Blocks), Hints: s.Hints, Solvable: s.Solvable})
	}
	return d, nil
}

func blocks(all []engine.Block) []api.WorkshopBlock {
	documents := make([]api.WorkshopBlock, len(all))
	for i, b := range all {
		d := api.WorkshopBlock{Kind: string(b.Kind), Spans: []api.WorkshopSpan{}, Code: b.Code, Language: b.Language, Line: b.Line, File: b.File, Path: b.Path}
		for _, s := range b.Spans {
			d.Spans = append(d.Spans, api.WorkshopSpan{Text: s.Text, Code: s.Code, Strong: s.Strong, URL: s.URL})
		}
		documents[i] = d
	}
	return documents
}

// Check implements api.Workshop.
func (w ofWorkshop) Check(ctx context.Context, name string, step int) (api.WorkshopCheck, error) {
	look, err := w.Attempts.Check(ctx, name, step-1)
	if err != nil {
		return api.WorkshopCheck{}, mistake(err)
	}
	_, done, err := w.Page(name) // after the check, which may have changed it
	if err != nil {
		return api.WorkshopCheck{}, mistake(err)
	}
	c := api.WorkshopCheck{State: string(look.State), Reason: look.Reason, Unmet: look.Unmet, At: look.At, Done: done}
	if look.Lack != nil {
		c.Lacks = look.Lack.Scenario
	}
	if s, ok := w.Solving(); ok {
		c.Solving = &api.WorkshopSolving{Scenario: s.Scenario, Step: s.Step + 1, Began: s.Began, Ended: s.Ended, Output: s.Output, Waits: s.Waits, Error: s.Error}
	}
	return c, nil
}

// Acknowledge implements api.Workshop.
func (w ofWorkshop) Acknowledge(_ context.Context, name string, step int) error {
	return mistake(w.Attempts.Acknowledge(name, step-1))
}

// Hint implements api.Workshop.
func (w ofWorkshop) Hint(_ context.Context, name string, step, number int) ([]api.WorkshopBlock, error) {
	found, err := w.Attempts.Hint(name, step-1, number-1)
	return blocks(found), mistake(err)
}

// ToDo implements api.Workshop.
func (w ofWorkshop) ToDo(_ context.Context, name string, step int) ([]api.WorkshopBlock, error) {
	found, err := w.Attempts.ToDo(name, step-1)
	return blocks(found), mistake(err)
}

// Solve implements api.Workshop.
func (w ofWorkshop) Solve(_ context.Context, name string, step int) error {
	return mistake(w.Attempts.Solve(name, step-1))
}

// File implements api.Workshop.
func (w ofWorkshop) File(_ context.Context, name, file string) (string, error) {
	content, err := w.Attempts.File(name, file)
	return content, mistake(err)
}

// mistake makes what a caller has named wrongly an error of the API's.
func mistake(err error) error {
	var unknown *scenarios.UnknownError
	switch {
	case errors.As(err, &unknown), errors.Is(err, attempts.ErrStep):
		return fmt.Errorf("%w (%w)", err, store.ErrNotFound)
	case errors.Is(err, attempts.ErrBusy):
		return fmt.Errorf("%w (%w)", err, api.ErrBusy)
	}
	return err
}
