package scenario

import (
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/spf13/cobra"
)

// folder is what scenarios keep in the sandbox's home: the progress of
// learning, and what is known of failures.
const folder = "scenarios"

// learned is the person's progress.
func learned(a *cmdutil.App) (*scenarios.Progress, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	return scenarios.LoadProgress(home.Path(folder, "progress.json"))
}

func newScenarioLearn(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "learn NAME",
		Short: "Do a scenario yourself: with explanations, hints and checks",
		Long: `Do a scenario yourself. Each step is explained, with what is to be reached; do it
in another terminal or in the browser. learn looks every two seconds whether it
is done, says what is not so yet, and goes on by itself. Type

    enter   to look now, or to go on after reading
    hint    for a hint; each one says more, and after the last comes what to do
    show    for what to do: the commands and the files
    solve   to have the step done for you
    skip    to leave the step out
    quit    to leave; the progress is kept`,
		Args: cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			access, workshop, err := accessTo(c.Context(), home)
			if err != nil {
				return err
			}
			if err := before(c.Context(), workshop, access, args); err != nil {
				return err
			}
			progress, err := learned(a)
			if err != nil {
				return err
			}
			done, err := engine.Learn(c.Context(), engine.Lesson{
				Options:  engine.Options{Workshop: workshop, Name: args[0], Access: access},
				Progress: progress,
				In:       a.In, Out: a.Out, Width: terminalWidth(a.Out), Paint: painter(a.Out),
			})
			if c.Context().Err() != nil {
				return errors.New("interrupted; the progress is kept")
			}
			if err != nil || !done {
				return asUsage(err)
			}
			return tellNextLesson(a, workshop, args[0])
		},
	}
}

func tellNextLesson(a *cmdutil.App, workshop, name string) error {
	all, err := scenarios.Tutorials.List(workshop)
	if err != nil {
		return err
	}
	for i, info := range all {
		if info.Name == name && i+1 < len(all) {
			a.Messagef("\nNext      kalypso scenario learn %s", all[i+1].Name)
			return nil
		}
	}
	a.Messagef("\nThat was the last one. `kalypso reset` brings the sandbox back to its beginning.")
	return nil
}

func newScenarioCheck(a *cmdutil.App) *cobra.Command {
	var exit bool
	var notDone error
	c := cmdutil.ReadCommand(a, &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Say which steps are done, whoever has done them",
		Long: `Look at the sandbox once, and say which steps of the scenarios are done. With
--exit-code the exit code is 6 when one is not.`,
	}, func(c *cobra.Command, args []string) ([]engine.Done, error) {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		access, workshop, err := accessTo(c.Context(), home)
		if err != nil {
			return nil, err
		}
		if len(args) == 0 {
			all, err := scenarios.Tutorials.List(workshop)
			if err != nil {
				return nil, err
			}
			for _, info := range all {
				if !info.Apart {
					args = append(args, info.Name)
				}
			}
		}
		done, err := engine.Check(c.Context(), engine.Options{Workshop: workshop, Access: access}, args)
		notDone = firstNotDone(done)
		return done, asUsage(err)
	}, func(all []engine.Done) error { return showDone(a, all) })
	c.Flags().BoolVar(&exit, "exit-code", false, "exit with 6 when a step is not done")
	look := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := look(c, args); err != nil || !exit {
			return err
		}
		return notDone
	}
	return c
}

// firstNotDone is a *scenarios.CheckError about the first step that is not done.
func firstNotDone(all []engine.Done) error {
	for _, d := range all {
		for _, box := range d.Steps {
			if !box.Done && !box.Simulated {
				return &scenarios.CheckError{Scenario: d.Name, Step: box.Title, Reason: "not done: " + box.Reason}
			}
		}
	}
	return nil
}

// showDone prints the steps as a list of boxes.
func showDone(a *cmdutil.App, all []engine.Done) error {
	st := cmdutil.NewStyle(a.Out)
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		fmt.Fprintf(a.Out, "%s %s\n", st.Bold(d.Name+":"), d.Title)
		for _, box := range d.Steps {
			mark, note := "[ ]", box.Reason
			switch {
			case box.Done:
				mark = st.Good("[x]")
			case box.Simulated:
				mark = st.Warn("[-]")
			}
			if note != "" {
				note = st.Faint(" (" + note + ")")
			}
			if _, err := fmt.Fprintf(a.Out, "  %s %s%s\n", mark, box.Title, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func newScenarioReset(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Forget the progress of learning",
		Long: `Forget the progress of learning. What has been done in the sandbox stays:
` + "`kalypso reset`" + ` brings that back to its beginning.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			if err := scenarios.ForgetProgress(home.Path(folder, "progress.json")); err != nil {
				return err
			}
			a.Messagef("The progress of learning is forgotten. What was done in the sandbox is still there: `kalypso reset` brings the sandbox back to its beginning.")
			return nil
		},
	}
}
