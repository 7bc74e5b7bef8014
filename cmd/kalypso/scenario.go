package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/spf13/cobra"
)

func newScenario(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "scenario",
		Short: "Run the tutorials step by step, and check each step",
		Long: `A scenario is a part of a tutorial that runs by itself on the sandbox: it does
what a person would do, by git, pull requests and kubectl, and checks what has
come of it. Its text can be read, and done by hand, too.`,
		Args: aCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScenarioList(a), newScenarioShow(a), newScenarioRun(a))
	return c
}

func newScenarioList(a *app) *cobra.Command {
	return reads(a, &cobra.Command{
		Use:   "list",
		Short: "List the scenarios in the order of the tutorial",
		Args:  onlyArgs(),
	}, func(*cobra.Command, []string) ([]scenarios.Info, error) {
		workshop, err := a.workshop()
		if err != nil {
			return nil, err
		}
		all, err := scenarios.List(workshop)
		return all, asUsage(err)
	}, func(all []scenarios.Info) error {
		w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "NAME\tTITLE\tBY\tSTEPS")
		for _, s := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", s.Name, s.Title, s.Persona, len(s.Steps))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		a.talk("\nNext      kalypso scenario show %s", all[0].Name)
		a.talk("          kalypso scenario run %s", all[0].Name)
		return nil
	})
}

// scenarioText is a scenario with its text.
type scenarioText struct {
	scenarios.Info
	Text string `json:"text"`
}

func newScenarioShow(a *app) *cobra.Command {
	return reads(a, &cobra.Command{
		Use:   "show NAME",
		Short: "Print a scenario's text",
		Args:  onlyArgs("name"),
	}, func(_ *cobra.Command, args []string) (scenarioText, error) {
		workshop, err := a.workshop()
		if err != nil {
			return scenarioText{}, err
		}
		text, err := scenarios.Source(workshop, args[0])
		if err != nil {
			return scenarioText{}, asUsage(err)
		}
		info, err := scenarios.Describe(workshop, args[0])
		return scenarioText{info, string(text)}, err
	}, func(s scenarioText) error {
		_, err := fmt.Fprint(a.out, s.Text)
		return err
	})
}

func newScenarioRun(a *app) *cobra.Command {
	var o scenarioRun
	c := &cobra.Command{
		Use:   "run NAME... | --all",
		Short: "Run scenarios on the sandbox",
		Long: `Run scenarios on the sandbox, which must be up. One that has been done already
makes its checks and changes nothing. The exit code is 6 when a check fails.`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) != o.all {
				return &sandbox.UsageError{Message: fmt.Sprintf("usage: %s\nName scenarios, or say --all.", c.UseLine())}
			}
			o.names = args
			return a.runScenarios(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "run all scenarios of the workshop in order")
	c.Flags().StringVar(&o.junit, "junit", "", "also write the results to a `FILE` in JUnit's format")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the folders that the scenarios work in")
	o.output.addTo(c)
	return c
}

type scenarioRun struct {
	names     []string
	all, keep bool
	junit     string
	output    output
}

func (a *app) runScenarios(ctx context.Context, o scenarioRun) error {
	asJSON, err := o.output.json()
	if err != nil {
		return err
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	world, workshop, err := worldOf(ctx, home)
	if err != nil {
		return err
	}
	all, err := scenarios.List(workshop)
	if err != nil {
		return err
	}
	if o.all {
		for _, info := range all {
			o.names = append(o.names, info.Name)
		}
	}
	p := newScenarioProgress(a, asJSON)
	results, failure := scenarios.RunAll(ctx, scenarios.Options{
		Workshop: workshop, World: world, Report: p.event, Keep: o.keep,
	}, o.names)
	p.end()
	if len(results) == 0 {
		return asUsage(failure)
	}
	if o.junit != "" {
		if err := writeJUnit(o.junit, results); err != nil {
			return errors.Join(failure, err)
		}
	}
	if asJSON {
		if err := a.printJSON(results); err != nil {
			return errors.Join(failure, err)
		}
	} else {
		a.summarise(results, p.style)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; run it again to go on where it stopped")
	}
	if failure == nil {
		a.talk("")
		a.talk("Next      %s", nextAfter(all, results[len(results)-1].Name))
	}
	return failure
}

func (a *app) summarise(results []scenarios.Result, st style) {
	for _, r := range results {
		fmt.Fprintln(a.out)
		switch r.State {
		case scenarios.Passed:
			fmt.Fprintf(a.out, "%s %s in %.1f s\n", r.Name, st.good("passed"), r.Took.Seconds())
		case scenarios.Failed:
			fmt.Fprintf(a.out, "%s %s after %.1f s\n", r.Name, st.bad("failed"), r.Took.Seconds())
		default:
			fmt.Fprintf(a.out, "%s %s\n", r.Name, st.warn("skipped"))
		}
		for _, m := range r.Measurements {
			fmt.Fprintf(a.out, "  %-24s %.2f s\n", m.Name, m.Took.Seconds())
		}
		if r.WorkDir != "" {
			fmt.Fprintf(a.out, "  worked in %s\n", r.WorkDir)
		}
	}
}

// nextAfter names the command to go on with.
func nextAfter(all []scenarios.Info, name string) string {
	for i, info := range all {
		if info.Name == name && i+1 < len(all) {
			return "kalypso scenario run " + all[i+1].Name
		}
	}
	return "kalypso status"
}

func writeJUnit(file string, results []scenarios.Result) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = errors.Join(scenarios.WriteJUnit(f, results), f.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// workshop is the sandbox's, or without one the workshop that it would have.
func (a *app) workshop() (string, error) {
	home, err := a.home()
	if err != nil {
		return "", err
	}
	state, err := home.LoadState()
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return sandbox.DefaultWorkshop, nil
	}
	if err != nil {
		return "", err
	}
	return state.Workshop, nil
}

func asUsage(err error) error {
	var unknown *scenarios.UnknownError
	if errors.As(err, &unknown) {
		return &sandbox.UsageError{Message: err.Error()}
	}
	return err
}

// worldOf is what a person has on a sandbox that is up.
func worldOf(ctx context.Context, home sandbox.Home) (scenarios.World, string, error) {
	status, err := sandbox.GetStatus(ctx, home)
	if err != nil {
		return scenarios.World{}, "", err
	}
	if !status.Running {
		return scenarios.World{}, "", errors.New("the sandbox is not up: run `kalypso up`")
	}
	if !status.Ready {
		var missing []string
		for _, c := range status.Components {
			if c.State != supervisor.Ready {
				missing = append(missing, fmt.Sprintf("%s is %s", c.Name, c.State))
			}
		}
		return scenarios.World{}, "", fmt.Errorf("the sandbox is not ready (%s): run `kalypso up`", strings.Join(missing, ", "))
	}
	credentials, err := sandbox.GetCredentials(home)
	if err != nil {
		return scenarios.World{}, "", err
	}
	return scenarios.World{
		ForgeURL:     credentials.URL,
		Organisation: sandbox.Organisation,
		User:         credentials.User,
		Token:        credentials.Token,
		Kubeconfig:   home.Kubeconfig(),
		Kubectl: scenarios.Program{
			Path: filepath.Join(components.Path(home.Components(), "kube"), "kube"),
			Name: "kubectl",
		},
		Home: string(home),
	}, status.Workshop, nil
}

// scenarioProgress shows a line per step as it ends, with what it has done
// only when it fails. On a terminal a last line says what goes on.
type scenarioProgress struct {
	p   *progress // where the last line is
	say func(format string, args ...any)
	style
}

// newScenarioProgress shows to the data's side, or beside JSON to the talk's.
func newScenarioProgress(a *app, asJSON bool) *scenarioProgress {
	s := &scenarioProgress{p: newProgress(a.err, time.Now())}
	w := a.out
	if asJSON {
		w = a.err
	}
	s.style = newStyle(w)
	s.say = func(format string, args ...any) {
		s.p.clear()
		fmt.Fprintf(w, format+"\n", args...)
	}
	return s
}

func (s *scenarioProgress) end() { s.p.clear() }

// last rewrites the last line on a terminal.
func (s *scenarioProgress) last(text string) {
	if !s.p.style.terminal {
		return
	}
	s.p.clear()
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); s.p.width > 1 && len(r) >= s.p.width {
		text = string(r[:s.p.width-1])
	}
	fmt.Fprint(s.p.w, s.p.style.faint(text))
	s.p.live = true
}

func (s *scenarioProgress) event(e scenarios.Event) {
	number := fmt.Sprintf("%d/%d", e.Index+1, len(e.Scenario.Steps))
	switch e.Kind {
	case scenarios.ScenarioBegins:
		s.say("%s %s", s.bold(e.Scenario.Name+":"), e.Scenario.Title+s.faint(" ("+e.Scenario.Persona+")"))
	case scenarios.StepBegins:
		s.last(fmt.Sprintf("  ...   %s %s", number, e.Step.Title))
	case scenarios.StepWaits:
		s.last(fmt.Sprintf("  %4.1fs %s %s: %s", e.Elapsed.Seconds(), number, e.Step.Title, e.Reason))
	case scenarios.StepEnds:
		word := s.good("ok  ")
		switch e.Step.State {
		case scenarios.Failed:
			word = s.bad("FAIL")
		case scenarios.Skipped:
			word = s.warn("skip")
		}
		note := ""
		if e.Step.Note != "" {
			note = ", " + e.Step.Note
		}
		s.say("  %s  %s %-40s %s", word, number, e.Step.Title, s.faint(fmt.Sprintf("%.2f s%s", e.Step.Took.Seconds(), note)))
		if e.Step.Output != "" {
			s.say("        %s", strings.ReplaceAll(e.Step.Output, "\n", "\n        "))
		}
	}
}
