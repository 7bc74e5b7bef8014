package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// script is a scenario while it runs: what its commands share.
type script struct {
	ctx      context.Context
	deadline time.Time // zero is none
	access   Access
	info     scenarios.Info
	text     []byte // of the scenario
	forge    *forge
	library  scenarios.Library
	onEvent  func(scenarios.Event)
	began    time.Time
	dir      string            // where the script works; has its files
	home     string            // folder for what programs keep
	vars     map[string]string // that the script and its commands have set
	envNames []string          // that the script sets itself

	askedStatus time.Time // when a wait has last asked how the sandbox is

	waits        bool                   // commands wait
	ts           *testscript.TestScript // of the command that runs now
	commandError error                  // of the last of our commands

	steps    []scenarios.Step // begun so far
	stepTime time.Time
	measured []scenarios.Measurement

	written   []string             // paths, by the commands write and edit
	pushed    bool                 // the last push had something to push
	repeated  bool                 // something had been done before this run
	since     time.Time            // of the last commit that was pushed, found or merged
	stepSince time.Time            // what since was when the step began
	happened  map[string]time.Time // the last "push" and "merge" of this run
	pull      *pull                // the current pull request
	wanted    *pullQuery           // what was waited for last: it may come later
	files     map[string][]string  // that a pull request changes, by its head
	blobs     map[string][]any     // objects of files, by the hash of the content

	// what the command that runs now has done and printed
	ran, stdout, stderr strings.Builder
	// printed is what the last command has shown that shows a file
	printed struct{ what, text string }
}

// newScript prepares a scenario: its folder with its files, in which the
// forge's address is filled in. close removes the folder.
func newScript(ctx context.Context, o Options) (*script, error) {
	text, err := o.Library.Source(o.Name)
	if err != nil {
		return nil, err
	}
	f, err := newForge(ctx, o.Access)
	if err != nil {
		return nil, err
	}
	s := &script{
		ctx: ctx, access: o.Access, info: scenarios.Parse(o.Library.Workshop, o.Name, text), text: text, forge: f, library: o.Library, onEvent: o.Report, began: time.Now(),
		happened: map[string]time.Time{}, vars: map[string]string{},
	}
	if s.onEvent == nil {
		s.onEvent = func(scenarios.Event) {}
	}
	for _, m := range envWord.FindAllSubmatch(text, -1) {
		if name := string(m[1]); !slices.Contains(s.envNames, name) {
			s.envNames = append(s.envNames, name)
		}
	}
	if s.dir, err = os.MkdirTemp("", "kalypso-scenario-"); err != nil {
		return nil, err
	}
	// messages have the folder's real name
	if s.dir, err = filepath.EvalSymlinks(s.dir); err != nil {
		return nil, err
	}
	s.home = filepath.Join(s.dir, ".home")
	if err := os.Mkdir(s.home, 0o700); err != nil {
		s.close()
		return nil, err
	}
	for _, file := range txtar.Parse(text).Files {
		if err := s.extract(file); err != nil {
			s.close()
			return nil, fmt.Errorf("scenario %s: %w", o.Name, err)
		}
	}
	return s, nil
}

func (s *script) extract(file txtar.File) error {
	if !filepath.IsLocal(file.Name) {
		return fmt.Errorf("file %s: %w", file.Name, fs.ErrInvalid)
	}
	path := filepath.Join(s.dir, filepath.FromSlash(file.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, s.library.Replacer(s.access.OrgURL()).Replace(file.Data), 0o600)
}

// memory is what commands remember of what they have seen.
type memory struct {
	vars   map[string]string
	pull   *pull
	wanted *pullQuery
	since  time.Time
}

func (s *script) memory() memory { return memory{maps.Clone(s.vars), s.pull, s.wanted, s.since} }

// remember makes commands remember what they did at another time.
func (s *script) remember(m memory) {
	s.vars, s.pull, s.wanted, s.since = maps.Clone(m.vars), m.pull, m.wanted, m.since
	if s.vars == nil {
		s.vars = map[string]string{}
	}
}

// remembered puts back, when it is called, what commands remember of what they have
// seen as it is now.
func (s *script) remembered() (restore func()) {
	now := s.memory()
	return func() { s.remember(now) }
}

func (s *script) close() { _ = os.RemoveAll(s.dir) }

// simulated says why pods of some of the clusters do not really run, "" when
// all do.
func (s *script) simulated(clusters []string) string {
	for _, c := range clusters {
		if why := s.access.Simulated[c]; why != "" {
			return fmt.Sprintf("pods on %s do not really run: %s", c, why)
		}
	}
	return ""
}

// failLine begins the last entry of a failed script's log.
var failLine = regexp.MustCompile(`^FAIL: [^ ]+:(\d+): `)

// sectionFolder has the section that runs, within the scenario's folder.
const sectionFolder = ".section"

// failure is why a section has not come to its end.
type failure struct {
	reason string // for a user; can have several lines
	output string // the commands with what they printed
	line   int    // of the scenario; 0 when it is not known
	// broken is set when a check could not be made, as opposed to one that was
	// made and found things otherwise.
	broken bool
}

// run runs one section of a step, as a script of its own in the scenario's
// folder. Sections share that folder and the variables, and otherwise only
// what the commands remember: the current pull request, and what was pushed.
//
// waits means that commands wait as long as they say; otherwise they look once.
func (s *script) run(index int, which scenarios.Section, waits bool) *failure {
	step := s.info.Steps[index]
	if !step.Has(which) {
		return nil
	}
	file := filepath.Join(s.dir, sectionFolder, s.info.Name+".txtar")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(only(step, which)), 0o600)
	}
	if err != nil {
		return &failure{reason: err.Error(), broken: true}
	}
	s.waits, s.commandError, s.ts = waits, nil, nil
	if which == scenarios.Check || which == scenarios.Look {
		s.since = s.stepSince // a check can be made any number of times
	}
	h := &host{}
	h.run(func() {
		testscript.RunT(h, testscript.Params{
			Files:       []string{file},
			WorkdirRoot: filepath.Dir(file),
			Deadline:    s.deadline,
			Setup:       s.environment,
			Cmds:        s.testscriptCommands(),
		})
	})
	if !h.failed && !h.skipped {
		return nil
	}
	f := s.failureOf(h.log, step)
	if f.broken {
		s.addStopped(f)
	}
	return f
}

// only is the script with nothing but a step's line and one of its sections,
// each line where it was: messages give its number.
func only(step scenarios.StepInfo, which scenarios.Section) string {
	last := step.Sections[which][len(step.Sections[which])-1].Number
	lines := make([]string, last)
	lines[step.Line.Number-1] = step.Line.Text
	for _, l := range step.Sections[which] {
		lines[l.Number-1] = l.Text
	}
	return strings.Join(lines, "\n") + "\n"
}

// environment gives a section its folder and its variables. The token is not
// among them: the commands that need it hand it on themselves.
func (s *script) environment(env *testscript.Env) error {
	env.Cd = s.dir
	set := func(name, value string) { env.Vars = append(env.Vars, name+"="+value) }
	set("WORK", s.dir)
	set("HOME", s.home)
	set("FORGE_URL", s.access.ForgeURL)
	set("ORG_URL", s.access.OrgURL())
	set("KUBECONFIG", s.access.Kubeconfig)
	set("KALYPSO_HOME", s.access.Home)
	env.Vars = append(env.Vars, gitSettings...)
	for name, value := range s.vars {
		set(name, value)
	}
	env.Defer(func() {
		if s.ts == nil {
			return
		}
		for _, name := range s.envNames {
			if value := s.ts.Getenv(name); value != "" {
				s.vars[name] = value
			}
		}
	})
	return nil
}

// setenv sets a variable for what comes after, in this section and others.
func (s *script) setenv(name, value string) {
	s.vars[name] = value
	s.ts.Setenv(name, value)
}

// envWord finds the variables that a script sets itself.
var envWord = regexp.MustCompile(`(?m)^env (\w+)=`)

// failureOf reads a section's log: what came before the step's line is the
// environment.
func (s *script) failureOf(log string, step scenarios.StepInfo) *failure {
	here := s.dir + string(filepath.Separator)
	log = s.hide(strings.NewReplacer(here+sectionFolder+string(filepath.Separator), "", here, "").Replace(log))
	output := strings.TrimSpace(log)
	if _, after, ok := strings.Cut(log, "> "+step.Line.Text+"\n"); ok {
		output = strings.TrimSpace(after)
	} else if i := strings.LastIndex(log, "\nFAIL: "); i >= 0 {
		output = strings.TrimSpace(log[i:]) // the step's line itself is wrong
	}
	f := &failure{output: output, reason: output}
	var not *unmetError
	if s.commandError != nil {
		f.broken = !errors.As(s.commandError, &not)
	}
	var reason []string
	for line := range strings.SplitSeq(output, "\n") {
		if found := failLine.FindStringSubmatch(line); found != nil {
			f.line, _ = strconv.Atoi(found[1])
			reason = []string{strings.TrimPrefix(line, found[0])}
		} else if reason != nil {
			reason = append(reason, line)
		}
	}
	if reason != nil {
		f.reason = strings.TrimSpace(strings.Join(reason, "\n"))
		// testscript's commands know nothing of what ours have shown, and its stdout
		// is empty when the script has ended: the log has it
		const stdout = "[stdout]\n"
		i := strings.LastIndex(output, stdout)
		if i >= 0 && s.printed.text != "" && strings.HasPrefix(output[i+len(stdout):], s.hide(strings.TrimSpace(s.printed.text))) {
			f.reason = strings.Replace(f.reason, " found in stdout", " found in "+s.printed.what, 1)
		}
	}
	return f
}

// hide takes what is secret out of a text.
func (s *script) hide(text string) string {
	for _, secret := range append([]string{s.access.Token}, s.access.Secrets...) {
		if len(secret) > 3 { // anything shorter is no secret, and would be everywhere
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// begin reports that a step begins.
func (s *script) begin(index int) {
	s.stepTime, s.stepSince = time.Now(), s.since
	s.steps = append(s.steps, scenarios.Step{Title: s.info.Steps[index].Title})
	s.report(scenarios.Event{Kind: scenarios.StepBegins})
}

func (s *script) end(state scenarios.State) {
	s.step().State = state
	s.step().Took = time.Since(s.stepTime)
	s.report(scenarios.Event{Kind: scenarios.StepEnds})
}

// step is the present one.
func (s *script) step() *scenarios.Step {
	if len(s.steps) == 0 {
		return &scenarios.Step{}
	}
	return &s.steps[len(s.steps)-1]
}

// note adds a remark to the present step.
func (s *script) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	step := s.step()
	switch {
	case step.Note == "":
		step.Note = text
	case !strings.Contains(step.Note, text):
		step.Note += "; " + text
	}
}

func (s *script) report(e scenarios.Event) {
	e.Scenario, e.Index, e.Step = s.info, len(s.steps)-1, *s.step()
	s.onEvent(e)
}

// host is what a script runs on in place of `go test`. As there, whatever ends
// the script ends its goroutine.
type host struct {
	log     string
	failed  bool
	skipped bool
}

func (h *host) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (h *host) Run(_ string, f func(testscript.T)) { h.run(func() { f(h) }) }

func (h *host) FailNow() {
	h.failed = true
	runtime.Goexit()
}

func (h *host) Fatal(args ...any) {
	h.Log(args...)
	h.FailNow()
}

func (h *host) Skip(args ...any) {
	h.Log(args...)
	h.skipped = true
	runtime.Goexit()
}

func (h *host) Log(args ...any) { h.log += fmt.Sprintln(args...) }

func (h *host) Parallel() {}

// Verbose keeps the log whole: what is shown of it is for us to choose.
func (h *host) Verbose() bool { return true }

// Access is what the user has who goes through a tutorial.
type Access struct {
	ForgeURL     string // without a slash at its end
	Organisation string // owner of the workshop's repositories
	User         string // on the forge
	Token        string // the user's access token, or password
	Kubeconfig   string // file with a context for each cluster
	Kubectl      Program
	Kalypso      Program
	Home         string // the sandbox's folder; scripts see it as $KALYPSO_HOME
	// Simulated has the clusters whose pods do not really run, with the reason.
	Simulated map[string]string
	// Secrets are what must be in no output, besides the token.
	Secrets []string
}

// Program is a program that knows by its name what it is to be.
type Program struct {
	Path string
	Name string // argv[0]
}

// OrgURL is the address below which the workshop's repositories lie.
func (w Access) OrgURL() string { return w.ForgeURL + "/" + w.Organisation }
