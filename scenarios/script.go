package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// script is a scenario while it runs: what its words share.
type script struct {
	ctx   context.Context
	world World
	info  Info
	text  []byte
	forge *forge
	say   func(Event)
	began time.Time
	home  string                 // folder for what programs keep
	ts    *testscript.TestScript // of the word that runs now

	steps    []Step // begun so far
	stepTime time.Time
	measured []Measurement

	written  []string             // paths, by the word write
	pushed   bool                 // the last push had something to push
	happened map[string]time.Time // the last "push" and "merge" of this run
	pull     *pull                // the current pull request
	files    map[string][]string  // that a pull request changes, by its head

	// what the word that runs now has done and printed
	ran, stdout, stderr strings.Builder
}

func newScript(ctx context.Context, o Options, info Info, text []byte) (*script, error) {
	f, err := newForge(ctx, o.World)
	if err != nil {
		return nil, err
	}
	return &script{
		ctx: ctx, world: o.World, info: info, text: text, forge: f, say: o.Report, began: time.Now(),
		happened: map[string]time.Time{},
	}, nil
}

// setup fills in the forge's address and gives the script its environment.
// The token stays out of it: the words that need it hand it on themselves.
func (s *script) setup(env *testscript.Env) error {
	for _, f := range txtar.Parse(s.text).Files {
		path := filepath.Join(env.WorkDir, filepath.FromSlash(f.Name))
		filled := strings.ReplaceAll(string(f.Data), placeholder, s.world.OrgURL())
		if err := os.WriteFile(path, []byte(filled), 0o600); err != nil {
			return err
		}
	}
	s.home = filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(s.home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", s.home)
	env.Setenv("FORGE_URL", s.world.ForgeURL)
	env.Setenv("ORG_URL", s.world.OrgURL())
	env.Setenv("KUBECONFIG", s.world.Kubeconfig)
	env.Setenv("KALYPSO_HOME", s.world.Home)
	env.Vars = append(env.Vars, gitSettings...)
	return nil
}

// begin ends the present step, which has passed, and begins the next one.
func (s *script) begin(title string) {
	s.end(Passed)
	s.stepTime = time.Now()
	s.steps = append(s.steps, Step{Title: title})
	s.tell(Event{Kind: StepBegins})
}

func (s *script) end(state State) {
	if s.step().State != "" || len(s.steps) == 0 {
		return
	}
	s.step().State = state
	s.step().Took = time.Since(s.stepTime)
	s.tell(Event{Kind: StepEnds})
}

// step is the present one.
func (s *script) step() *Step {
	if len(s.steps) == 0 {
		return &Step{}
	}
	return &s.steps[len(s.steps)-1]
}

// note adds a remark to the present step.
func (s *script) note(text string) {
	step := s.step()
	if step.Note != "" {
		step.Note += "; "
	}
	step.Note += text
}

func (s *script) tell(e Event) {
	e.Scenario, e.Index, e.Step = s.info, len(s.steps)-1, *s.step()
	s.say(e)
}

// finish makes the result of a script that has ended.
func (s *script) finish(h *host, dir string) (Result, error) {
	log := strings.ReplaceAll(h.log, dir+string(filepath.Separator), "")
	if s.world.Token != "" {
		log = strings.ReplaceAll(log, s.world.Token, "***")
	}
	t := readTranscript(log, s.info.Steps, comments(s.text))
	state := Passed
	switch {
	case h.failed:
		state = Failed
	case h.skipped:
		state = Skipped
	}
	reason := t.reason
	if reason == "" {
		reason = strings.TrimSpace(log)
	}
	if n := len(s.steps); state == Failed && n > 0 && n <= len(t.steps) {
		s.step().Reason, s.step().Output = reason, t.steps[n-1]
	}
	s.end(state)
	r := Result{
		Workshop: s.info.Workshop, Name: s.info.Name, Title: s.info.Title, State: state,
		Began: s.began.UTC().Truncate(time.Second), Took: time.Since(s.began),
		Steps: s.steps, Measurements: s.measured,
	}
	for i := len(r.Steps); i < len(s.info.Steps); i++ {
		r.Steps = append(r.Steps, Step{Title: s.info.Steps[i].Title, State: Skipped})
	}
	if state != Failed {
		return r, nil
	}
	if s.ctx.Err() != nil {
		return r, context.Cause(s.ctx)
	}
	step := "before the first step"
	if len(s.steps) > 0 {
		step = s.step().Title
	}
	return r, &CheckError{Scenario: s.info.Name, Step: step, Reason: reason}
}

// comments are the comment lines of a script.
func comments(text []byte) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(string(txtar.Parse(text).Comment)) {
		if strings.HasPrefix(line, "#") {
			all[strings.TrimSuffix(line, "\n")] = true
		}
	}
	return all
}
