package api

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// ErrBusy is wrapped by errors of a Workshop that is doing a step already.
var ErrBusy = errors.New("busy")

// Workshop is the scenarios of a sandbox, as users go through them. Steps are counted from
// 1. Errors about a name or a step that is not there wrap store.ErrNotFound.
type Workshop interface {
	Scenarios(ctx context.Context) ([]WorkshopScenario, error)
	Scenario(ctx context.Context, name string) (WorkshopDetail, error)
	// Check says how a step is. It makes no more checks for many readers than for one.
	Check(ctx context.Context, name string, step int) (WorkshopCheck, error)
	// Acknowledge notes a step as done that is only looked at, or cannot be checked.
	Acknowledge(ctx context.Context, name string, step int) error
	// Hint is one of a step's, from 1. After the last one comes what there is to do.
	Hint(ctx context.Context, name string, step, number int) ([]WorkshopBlock, error)
	// ToDo is what there is to do in a step.
	ToDo(ctx context.Context, name string, step int) ([]WorkshopBlock, error)
	// Solve begins to do a step for the user, which Check then says how it goes. The error
	// wraps ErrBusy while one is being done.
	Solve(ctx context.Context, name string, step int) error
	// File is a file that a user is to write in a scenario.
	File(ctx context.Context, name, file string) (string, error)
}

type (
	// WorkshopScenario is a scenario in the list of them.
	WorkshopScenario struct {
		Name    string   `json:"name"`
		Title   string   `json:"title"`
		Persona string   `json:"persona" doc:"Who acts in it."`
		Needs   []string `json:"needs" doc:"The scenarios that it builds on."`
		Apart   bool     `json:"apart" doc:"It ends what others build on."`
		Done    []bool   `json:"done" doc:"For each step whether it is done."`
	}
	// WorkshopDetail is a scenario with its steps.
	WorkshopDetail struct {
		WorkshopScenario
		Follows string          `json:"follows" doc:"The sections of the tutorial."`
		Intro   []WorkshopBlock `json:"intro"`
		Steps   []WorkshopStep  `json:"steps"`
	}
	// WorkshopStep is a step of a scenario.
	WorkshopStep struct {
		Title    string          `json:"title"`
		Reading  bool            `json:"reading" doc:"There is nothing to do but to look; a user says when it is done."`
		Blocks   []WorkshopBlock `json:"blocks" doc:"What it is about, and what is to be reached or seen."`
		Hints    int             `json:"hints" doc:"How many there are."`
		Solvable bool            `json:"solvable" doc:"It can be done for the user."`
	}
	// WorkshopBlock is a piece of a step's text.
	WorkshopBlock struct {
		Kind     string         `json:"kind" enum:"label,text,item,command,diff,code"`
		Spans    []WorkshopSpan `json:"spans" doc:"Of a label, a text or an item."`
		Code     string         `json:"code" doc:"Of a command, a diff or code."`
		Language string         `json:"language" doc:"Of code."`
		Line     int            `json:"line" doc:"Of the scenario: an item with a line before that of a check's unmet is so."`
		File     string         `json:"file" doc:"What the user has at path then, to be downloaded by this name."`
		Path     string         `json:"path"`
	}
	// WorkshopSpan is a part of a text.
	WorkshopSpan struct {
		Text   string `json:"text"`
		Code   bool   `json:"code"`
		Strong bool   `json:"strong"`
		URL    string `json:"url"`
	}
	// WorkshopCheck is how a step is.
	WorkshopCheck struct {
		State   string           `json:"state" enum:"done,passed,waiting,unknown,simulated" doc:"passed: it was so, and what comes after it is done. unknown: the check cannot be made. simulated: it needs pods that really run."`
		Reason  string           `json:"reason" doc:"Why it is not so yet, or why that is not known."`
		Unmet   int              `json:"unmet" doc:"The line of the scenario that is not so yet; 0 where it is not known."`
		Lacks   string           `json:"lacks" doc:"The scenario that has to be done before."`
		At      time.Time        `json:"at,omitzero" doc:"When the check was made; absent: never."`
		Done    []bool           `json:"done" doc:"For each step of the scenario whether it is done."`
		Solving *WorkshopSolving `json:"solving,omitempty"`
	}
	// WorkshopSolving is a step that is being done for the user, or was done last.
	WorkshopSolving struct {
		Scenario string    `json:"scenario"`
		Step     int       `json:"step"`
		Began    time.Time `json:"began"`
		Ended    time.Time `json:"ended,omitzero" doc:"Absent while it goes on."`
		Output   string    `json:"output"`
		Waits    string    `json:"waits" doc:"What is waited for."`
		Error    string    `json:"error" doc:"Why it did not work."`
	}
	// WorkshopBlocks are pieces of a step's text.
	WorkshopBlocks struct {
		Blocks []WorkshopBlock `json:"blocks"`
	}
	// ScenarioInput names a scenario.
	ScenarioInput struct {
		Name string `path:"name"`
	}
	// StepInput names a step of a scenario.
	StepInput struct {
		ScenarioInput
		Step int `path:"step" minimum:"1" doc:"From 1."`
	}
	// HintInput asks for a hint.
	HintInput struct {
		StepInput
		Number int `query:"number" minimum:"1" default:"1" doc:"From 1. After the last one comes what there is to do."`
	}
	// FileInput asks for a file of a scenario.
	FileInput struct {
		ScenarioInput
		File string `path:"file"`
	}
)

func (a *api) workshopRoutes() {
	const scenario = "/workshop/scenarios/{name}"
	const step = scenario + "/steps/{step}"
	get(a, operation{id: "listScenarios", path: "/workshop/scenarios", summary: "Scenarios of the workshop"}, func(ctx context.Context, _ *struct{}) (List[WorkshopScenario], error) {
		all, err := a.Workshop.Scenarios(ctx)
		return whole(all, time.Time{}), ofWorkshop(err)
	})
	get(a, operation{id: "getScenario", path: scenario, summary: "A scenario with its steps"}, func(ctx context.Context, input *ScenarioInput) (WorkshopDetail, error) {
		d, err := a.Workshop.Scenario(ctx, input.Name)
		return d, ofWorkshop(err)
	})
	get(a, operation{id: "checkStep", path: step + "/check", summary: "How a step is: its check is made, at most once in two seconds"}, func(ctx context.Context, input *StepInput) (WorkshopCheck, error) {
		c, err := a.Workshop.Check(ctx, input.Name, input.Step)
		c.Reason = text(c.Reason)
		return c, ofWorkshop(err)
	})
	change(a, operation{id: "acknowledgeStep", path: step + "/check", summary: "Note a step as done that is only looked at", role: Owner}, func(ctx context.Context, input *StepInput) error {
		return ofWorkshop(a.Workshop.Acknowledge(ctx, input.Name, input.Step))
	})
	get(a, operation{id: "getHint", path: step + "/hint", summary: "A hint for a step"}, func(ctx context.Context, input *HintInput) (WorkshopBlocks, error) {
		blocks, err := a.Workshop.Hint(ctx, input.Name, input.Step, input.Number)
		return WorkshopBlocks{orEmpty(blocks)}, ofWorkshop(err)
	})
	get(a, operation{id: "getSolution", path: step + "/solve", summary: "What there is to do in a step"}, func(ctx context.Context, input *StepInput) (WorkshopBlocks, error) {
		blocks, err := a.Workshop.ToDo(ctx, input.Name, input.Step)
		return WorkshopBlocks{orEmpty(blocks)}, ofWorkshop(err)
	})
	change(a, operation{id: "solveStep", path: step + "/solve", summary: "Begin to do a step for the user", role: Owner, status: http.StatusAccepted}, func(ctx context.Context, input *StepInput) error {
		requestOf(ctx).detail = "scenario " + input.Name + ", step " + strconv.Itoa(input.Step)
		return ofWorkshop(a.Workshop.Solve(ctx, input.Name, input.Step))
	})
	o := operation{id: "getScenarioFile", path: scenario + "/files/{file}", summary: "A file that a user is to write"}.huma()
	o.Responses = map[string]*huma.Response{"200": {
		Description: http.StatusText(http.StatusOK), Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(a.huma, o, a.scenarioFile)
}

// ofWorkshop is the answer to an error of the workshop.
func ofWorkshop(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrBusy):
		return newProblemOf("busy", err.Error())
	}
	return ofModel(err)
}

// scenarioFile answers with a file to be saved: nothing that a browser would run.
func (a *api) scenarioFile(ctx context.Context, input *FileInput) (*huma.StreamResponse, error) {
	content, err := a.Workshop.File(ctx, input.Name, input.File)
	if err != nil {
		return nil, failed(ctx, ofWorkshop(err))
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		c.SetHeader("Content-Type", "text/plain; charset=utf-8")
		c.SetHeader("Content-Disposition", "attachment; filename="+strconv.Quote(path.Base(input.File)))
		c.SetStatus(http.StatusOK)
		_, rw := humago.Unwrap(c)
		_, _ = rw.Write([]byte(content)) // who is gone needs no answer
	}}, nil
}
