package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/spf13/cobra"
)

func newScenarioRun(a *cmdutil.App) *cobra.Command {
	var o run
	c := &cobra.Command{
		Use:   "run NAME... | --all",
		Short: "Run scenarios on the sandbox",
		Long: `Run scenarios on the sandbox, which must be up. One that has been done already
makes its checks and changes nothing. The exit code is 6 when a check fails;
what is to be known of the failure is then in a folder that is named at the end.

--honest proves the checks themselves, on a sandbox where nothing is done yet.`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) != o.all {
				return usage.Errorf("usage: %s\nName scenarios, or say --all.", c.UseLine())
			}
			o.names = args
			return runScenarios(a, c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "run all scenarios of the workshop in order, but those that stand apart")
	c.Flags().StringVar(&o.junit, "junit", "", "also write the results to a `FILE` in JUnit's format")
	c.Flags().BoolVar(&o.keep, "keep", false, "leave the folders that the scenarios work in")
	c.Flags().BoolVar(&o.honest, "honest", false, "make each check before its step, too, and fail if it passes then")
	o.output.AddTo(c)
	return c
}

type run struct {
	names             []string
	all, keep, honest bool
	junit             string
	output            cmdutil.Output
}

func runScenarios(a *cmdutil.App, ctx context.Context, o run) error {
	asJSON, err := o.output.JSON()
	if err != nil {
		return err
	}
	home, err := a.Home()
	if err != nil {
		return err
	}
	access, workshop, err := accessTo(ctx, home)
	if err != nil {
		return err
	}
	all, err := scenarios.Tutorials.List(workshop)
	if err != nil {
		return err
	}
	if o.all {
		for _, info := range all {
			if !info.Apart {
				o.names = append(o.names, info.Name)
			}
		}
	}
	if !o.all {
		if err := before(ctx, workshop, access, o.names); err != nil {
			return goOn(ctx, err)
		}
	}
	if o.junit != "" {
		// a place that cannot be written is to be known before, not after minutes
		unused, err := reserve(o.junit)
		if err != nil {
			return usage.Errorf("--junit: %v", err)
		}
		defer unused()
	}
	p := newScenarioProgress(a, asJSON)
	results, failure := engine.RunAll(ctx, engine.Options{
		Workshop: workshop, Access: access, Report: p.event, Keep: o.keep,
		VerifyChecks: o.honest, Dumps: home.Path(folder, "failures"),
	}, o.names)
	p.end()
	if len(results) == 0 {
		return asUsage(failure)
	}
	if asJSON {
		err = a.PrintJSON(results)
	} else {
		summarise(a, results, p.Style)
	}
	if o.junit != "" {
		err = errors.Join(err, writeJUnit(o.junit, results))
	}
	if err != nil {
		return withDump(errors.Join(failure, err), results)
	}
	if ctx.Err() != nil {
		return goOn(ctx, failure)
	}
	if failure == nil {
		a.Messagef("")
		a.Messagef("Next      %s", nextAfter(all, results[len(results)-1].Name))
	}
	return withDump(failure, results)
}

// goOn tells a person who has interrupted a run so, in place of what that has
// broken.
func goOn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; run it again to go on where it stopped")
	}
	return err
}

func summarise(a *cmdutil.App, results []scenarios.Result, st cmdutil.Style) {
	for _, r := range results {
		fmt.Fprintln(a.Out)
		switch r.State {
		case scenarios.Passed:
			fmt.Fprintf(a.Out, "%s %s in %.1f s\n", r.Name, st.Good("passed"), r.Took.Seconds())
		case scenarios.Simulated:
			fmt.Fprintf(a.Out, "%s %s in %.1f s: some steps need pods that really run, and were not checked\n", r.Name, st.Warn("simulated"), r.Took.Seconds())
		case scenarios.Failed:
			fmt.Fprintf(a.Out, "%s %s after %.1f s\n", r.Name, st.Bad("failed"), r.Took.Seconds())
		default:
			fmt.Fprintf(a.Out, "%s %s\n", r.Name, st.Warn("skipped"))
		}
		for _, m := range r.Measurements {
			fmt.Fprintf(a.Out, "  %-24s %.2f s\n", m.Name, m.Took.Seconds())
		}
		if r.WorkDir != "" {
			fmt.Fprintf(a.Out, "  worked in %s\n", r.WorkDir)
		}
	}
}

// withDump names the folder of a failure, if there is one, at the very end,
// where a person looks.
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
func before(ctx context.Context, workshop string, access engine.Access, names []string) error {
	lack, err := engine.Missing(ctx, engine.Options{Workshop: workshop, Access: access}, names)
	if err != nil {
		return asUsage(err)
	}
	if lack == nil {
		return nil
	}
	return &scenarios.CheckError{Scenario: lack.Of, Step: "before it", Reason: fmt.Sprintf(
		"scenario %s is not done (%s): run `kalypso scenario run %[1]s` first, or --all", lack.Scenario, lack.Step)}
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
