package main

import (
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/spf13/cobra"
)

// scenarioFolder is what scenarios keep in the sandbox's home: the progress of
// learning, and what is known of failures.
const scenarioFolder = "scenarios"

// learned is the person's progress.
func (a *app) learned() (*scenarios.Progress, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	return scenarios.LoadProgress(home.Path(scenarioFolder, "progress.json"))
}

func newScenarioLearn(a *app) *cobra.Command {
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
		Args: onlyArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			world, workshop, err := worldOf(c.Context(), home)
			if err != nil {
				return err
			}
			if err := before(c.Context(), workshop, world, args); err != nil {
				return err
			}
			progress, err := a.learned()
			if err != nil {
				return err
			}
			done, err := scenarios.Learn(c.Context(), scenarios.Lesson{
				Options:  scenarios.Options{Workshop: workshop, Name: args[0], World: world},
				Progress: progress,
				In:       a.in, Out: a.out, Width: terminalWidth(a.out), Paint: newStyle(a.out).part,
			})
			if c.Context().Err() != nil {
				return errors.New("interrupted; the progress is kept")
			}
			if err != nil || !done {
				return asUsage(err)
			}
			return a.tellNextLesson(workshop, args[0])
		},
	}
}

func (a *app) tellNextLesson(workshop, name string) error {
	all, err := scenarios.List(workshop)
	if err != nil {
		return err
	}
	for i, info := range all {
		if info.Name == name && i+1 < len(all) {
			a.talk("\nNext      kalypso scenario learn %s", all[i+1].Name)
			return nil
		}
	}
	a.talk("\nThat was the last one. `kalypso reset` brings the world back to its beginning.")
	return nil
}

func newScenarioCheck(a *app) *cobra.Command {
	var exit bool
	var notDone error
	c := reads(a, &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Say which steps are done, whoever has done them",
		Long: `Look at the sandbox once, and say which steps of the scenarios are done. With
--exit-code the exit code is 6 when one is not.`,
	}, func(c *cobra.Command, args []string) ([]scenarios.Done, error) {
		home, err := a.home()
		if err != nil {
			return nil, err
		}
		world, workshop, err := worldOf(c.Context(), home)
		if err != nil {
			return nil, err
		}
		if len(args) == 0 {
			all, err := scenarios.List(workshop)
			if err != nil {
				return nil, err
			}
			for _, info := range all {
				if !info.Apart {
					args = append(args, info.Name)
				}
			}
		}
		done, err := scenarios.Check(c.Context(), scenarios.Options{Workshop: workshop, World: world}, args)
		notDone = firstNotDone(done)
		return done, asUsage(err)
	}, func(all []scenarios.Done) error { return a.showDone(all) })
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
func firstNotDone(all []scenarios.Done) error {
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
func (a *app) showDone(all []scenarios.Done) error {
	st := newStyle(a.out)
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		fmt.Fprintf(a.out, "%s %s\n", st.bold(d.Name+":"), d.Title)
		for _, box := range d.Steps {
			mark, note := "[ ]", box.Reason
			switch {
			case box.Done:
				mark = st.good("[x]")
			case box.Simulated:
				mark = st.warn("[-]")
			}
			if note != "" {
				note = st.faint(" (" + note + ")")
			}
			if _, err := fmt.Fprintf(a.out, "  %s %s%s\n", mark, box.Title, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func newScenarioReset(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Forget the progress of learning",
		Long: `Forget the progress of learning. What has been done in the sandbox stays:
` + "`kalypso reset`" + ` brings that back to its beginning.`,
		Args: onlyArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			if err := scenarios.ForgetProgress(home.Path(scenarioFolder, "progress.json")); err != nil {
				return err
			}
			a.talk("The progress of learning is forgotten. What was done in the sandbox is still there: `kalypso reset` brings the sandbox back to its beginning.")
			return nil
		},
	}
}
