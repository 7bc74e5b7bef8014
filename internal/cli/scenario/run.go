package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/spf13/cobra"
)

// RunOptions are those of `kalypso scenario run`.
type RunOptions struct {
	*cmdutil.App
	Names        []string
	All          bool
	JUnit        string // a file for the results
	Keep         bool   // the folders that scenarios work in
	VerifyChecks bool   // each must fail before its step
	Output       cmdutil.Output
}

func newRun(a *cmdutil.App, run func(context.Context, *RunOptions) error) *cobra.Command {
	o := &RunOptions{App: a}
	c := &cobra.Command{
		Use:   "run NAME... | --all",
		Short: "Run scenarios on the sandbox",
		Long: `Run scenarios on the sandbox, which must be up. One that has been done already
makes its checks and changes nothing. The exit code is 6 when a check fails;
what is to be known of the failure is then in a folder that is named at the end.

--verify-checks proves the checks themselves, on a sandbox where nothing is done yet.`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) != o.All {
				return usage.Errorf("usage: %s\nName scenarios, or say --all.", c.UseLine())
			}
			o.Names = args
			return run(c.Context(), o)
		},
	}
	c.ValidArgsFunction = cmdutil.Complete(true, names(a))
	c.Flags().BoolVar(&o.All, "all", false, "run all scenarios of the workshop in order, but those that stand apart")
	c.Flags().StringVar(&o.JUnit, "junit", "", "also write the results to a `FILE` in JUnit's format")
	c.Flags().BoolVar(&o.Keep, "keep", false, "leave the folders that the scenarios work in")
	c.Flags().BoolVar(&o.VerifyChecks, "verify-checks", false, "make each check before its step, too, and fail if it passes then")
	c.Flags().BoolVar(&o.VerifyChecks, "honest", false, "the same")
	_ = c.Flags().MarkDeprecated("honest", "use --verify-checks") // it has just been added
	o.Output.AddTo(c, "text", "json")
	return c
}

func run(ctx context.Context, o *RunOptions) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	access, library, err := AccessTo(ctx, home)
	if err != nil {
		return err
	}
	if library, o.Names, err = among(library, o.Names); err != nil {
		return err
	}
	all, err := library.List()
	if err != nil {
		return asUsage(err)
	}
	if o.All && len(library.Ordered) == 0 {
		return usage.Errorf("the workshop %s has no scenarios", library.Workshop)
	}
	if o.All {
		o.Names = library.Ordered
	} else if err := before(ctx, library, access, o.Names); err != nil {
		return goOn(ctx, err)
	}
	if o.JUnit != "" {
		// a file that cannot be written is an error now, not after minutes
		unused, err := reserve(o.JUnit)
		if err != nil {
			return usage.Errorf("--junit: %v", err)
		}
		defer unused()
	}
	w := o.Out
	if o.Output.String() == "json" {
		w = o.Err
	}
	p := newProgress(o.App, w)
	results, failure := engine.RunAll(ctx, engine.Options{
		Library: library, Access: access, Report: p.event, Keep: o.Keep,
		VerifyChecks: o.VerifyChecks, Dumps: home.Path(folder, "failures"),
	}, o.Names)
	p.p.Clear()
	if len(results) == 0 {
		return asUsage(failure)
	}
	err = o.Output.Print(o.App, results, func() error { return summarise(o.Out, results) })
	if o.JUnit != "" {
		err = errors.Join(err, writeJUnit(o.JUnit, results))
	}
	if err != nil {
		return withDump(errors.Join(failure, err), results)
	}
	if ctx.Err() != nil {
		return goOn(ctx, failure)
	}
	if failure == nil {
		o.Messagef("")
		next := "kalypso status"
		if name := following(all, results[len(results)-1].Name); name != "" {
			next = "kalypso scenario run " + name
		}
		o.Messagef("Next      %s", next)
	}
	return withDump(failure, results)
}

// goOn is the error of an interrupted run, in place of what the interruption
// broke.
func goOn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; run it again to go on where it stopped")
	}
	return err
}

func summarise(w io.Writer, results []scenarios.Result) error {
	st := cmdutil.NewStyle(w)
	for _, r := range results {
		fmt.Fprintln(w)
		switch r.State {
		case scenarios.Passed:
			fmt.Fprintf(w, "%s %s in %.1f s\n", r.Name, st.Good("passed"), r.Took.Seconds())
		case scenarios.Simulated:
			fmt.Fprintf(w, "%s %s in %.1f s: some steps need pods that really run, and were not checked\n", r.Name, st.Warn("simulated"), r.Took.Seconds())
		case scenarios.Failed:
			fmt.Fprintf(w, "%s %s after %.1f s\n", r.Name, st.Bad("failed"), r.Took.Seconds())
		default:
			fmt.Fprintf(w, "%s %s\n", r.Name, st.Warn("skipped"))
		}
		for _, m := range r.Measurements {
			fmt.Fprintf(w, "  %-24s %.2f s\n", m.Name, m.Took.Seconds())
		}
		if r.WorkDir != "" {
			fmt.Fprintf(w, "  worked in %s\n", r.WorkDir)
		}
	}
	return nil
}

// withDump names the folder of a failure, if there is one, at the very end.
func withDump(err error, results []scenarios.Result) error {
	if err == nil {
		return nil
	}
	for _, r := range results {
		if r.DumpError != nil {
			err = fmt.Errorf("%w\nWhat is known of the failure is not complete: %w", err, r.DumpError)
		}
		if r.Dump != "" {
			err = fmt.Errorf("%w\nWhat is known of the failure is in %s", err, r.Dump)
		}
	}
	return err
}

// before refuses scenarios that build on others which are neither done nor run
// before them.
func before(ctx context.Context, library scenarios.Library, access engine.Access, names []string) error {
	lack, err := engine.Missing(ctx, engine.Options{Library: library, Access: access}, names)
	if err != nil {
		return asUsage(err)
	}
	if lack == nil {
		return nil
	}
	return &scenarios.CheckError{Scenario: lack.Of, Step: "before it", Reason: fmt.Sprintf(
		"scenario %s is not done (%s): run `kalypso scenario run %[1]s` first, or --all", lack.Scenario, lack.Step)}
}

// following is the scenario after another, "" after the last.
func following(all []scenarios.Info, name string) string {
	for i, info := range all {
		if info.Name == name && i+1 < len(all) {
			return all[i+1].Name
		}
	}
	return ""
}

// reserve checks that a file can be written. unused removes it if it was not
// there and nothing has been written.
func reserve(file string) (unused func(), err error) {
	_, before := os.Stat(file)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	return func() {
		if info, err := os.Stat(file); before != nil && err == nil && info.Size() == 0 {
			_ = os.Remove(file)
		}
	}, f.Close()
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

// progress shows a line per step as it ends, with what it has done
// only when it fails. On a terminal a last line says what goes on.
type progress struct {
	p   *cmdutil.Progress // where the last line is
	say func(format string, args ...any)
	cmdutil.Style
}

// newProgress prints to w; the last line of the terminal is on a's messages' side.
func newProgress(a *cmdutil.App, w io.Writer) *progress {
	s := &progress{p: cmdutil.NewProgress(a.Err), Style: cmdutil.NewStyle(w)}
	s.say = func(format string, args ...any) {
		s.p.Clear()
		fmt.Fprintf(w, format+"\n", args...)
	}
	return s
}

func (s *progress) event(e scenarios.Event) {
	number := fmt.Sprintf("%d/%d", e.Index+1, len(e.Scenario.Steps))
	switch e.Kind {
	case scenarios.ScenarioBegins:
		s.say("%s %s", s.Bold(e.Scenario.Name+":"), e.Scenario.Title+s.Faint(" ("+e.Scenario.Persona+")"))
	case scenarios.StepBegins:
		s.p.Last(fmt.Sprintf("  ...   %s %s", number, e.Step.Title))
	case scenarios.StepWaits:
		s.p.Last(fmt.Sprintf("  %4.1fs %s %s: %s", e.Elapsed.Seconds(), number, e.Step.Title, e.Reason))
	case scenarios.StepEnds:
		word := s.Good("ok  ")
		switch e.Step.State {
		case scenarios.Failed:
			word = s.Bad("FAIL")
		case scenarios.Skipped:
			word = s.Warn("skip")
		case scenarios.Simulated:
			word = s.Warn("sim ")
		}
		note := ""
		if e.Step.Note != "" {
			note = ", " + e.Step.Note
		}
		s.say("  %s  %s %-40s %s", word, number, e.Step.Title, s.Faint(fmt.Sprintf("%.2f s%s", e.Step.Took.Seconds(), note)))
		what := e.Step.Output
		if what == "" {
			what = e.Step.Reason
		}
		if what != "" {
			s.say("        %s", strings.ReplaceAll(what, "\n", "\n        "))
		}
	}
}
