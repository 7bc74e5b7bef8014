package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// folder is what scenarios keep in the sandbox's home: the progress of
// learning, and what is known of failures.
const folder = "scenarios"

// learned is the user's progress.
func learned(a *cmdutil.App) (*scenarios.Progress, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	return scenarios.LoadProgress(ProgressFile(home))
}

func newLearn(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
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

		ValidArgsFunction: cmdutil.Complete(false, names(a)),

		RunE: func(c *cobra.Command, args []string) error { return run(c.Context(), &Options{App: a, Names: args}) },
	}
}

func learn(ctx context.Context, o *Options) error {
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
	if err := before(ctx, library, access, o.Names); err != nil {
		return err
	}
	progress, err := learned(o.App)
	if err != nil {
		return err
	}
	done, err := o.hold(ctx, engine.Lesson{
		Options:  engine.Options{Library: library, Name: o.Names[0], Access: access},
		Progress: progress,
	})
	if ctx.Err() != nil {
		return errors.New("interrupted; the progress is kept")
	}
	if err != nil || !done {
		return asUsage(err)
	}
	all, err := library.List()
	if err != nil {
		return err
	}
	if next := following(all, o.Names[0]); next != "" {
		o.Messagef("\nNext      kalypso scenario learn %s", next)
	} else {
		o.Messagef("\nThat was the last one. `kalypso reset` brings the sandbox back to its beginning.")
	}
	return nil
}

// hold holds a lesson with the user.
func (o *Options) hold(ctx context.Context, l engine.Lesson) (done bool, err error) {
	in, out, end := o.conversation()
	defer end()
	l.In, l.Out, l.Width, l.Paint = in, out, terminalWidth(o.Out), painter(o.Out)
	return engine.Learn(ctx, l)
}

// conversation returns what a lesson reads and writes. On a terminal, what it says
// comes above the line that the user is typing, and ctrl-c ends what it reads.
// end puts the terminal back.
func (o *Options) conversation() (in io.Reader, out io.Writer, end func()) {
	typed, ok := o.In.(*os.File)
	shown, okOut := o.Out.(*os.File)
	if !ok || !okOut || !term.IsTerminal(int(typed.Fd())) || !term.IsTerminal(int(shown.Fd())) {
		return o.In, o.Out, func() {}
	}
	before, err := term.MakeRaw(int(typed.Fd()))
	if err != nil {
		return o.In, o.Out, func() {}
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{typed, shown}, "> ")
	if width, height, err := term.GetSize(int(shown.Fd())); err == nil {
		_ = t.SetSize(width, height) // it has a size of its own else
	}
	lines, feed := io.Pipe()
	go func() {
		for {
			line, err := t.ReadLine()
			if err != nil {
				_ = feed.Close()
				return
			}
			fmt.Fprintln(feed, line)
		}
	}()
	return lines, t, func() {
		fmt.Fprint(shown, "\r\x1b[K") // the prompt that nobody answers any more
		_ = term.Restore(int(typed.Fd()), before)
	}
}

func newCheck(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Say which steps are done, by this command or by hand",
		Long: `Look at the sandbox once, and say which steps of the scenarios are done. With
--exit-code the exit code is 6 when one is not.`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Names = args
			return run(c.Context(), o)
		},
	}
	o.Output.AddTo(c, "text", "json")
	c.ValidArgsFunction = cmdutil.Complete(true, names(a))
	c.Flags().BoolVar(&o.ExitCode, "exit-code", false, "exit with 6 when a step is not done")
	return c
}

func check(ctx context.Context, o *Options) error {
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
	if len(o.Names) == 0 {
		o.Names = library.Ordered
	}
	done, err := engine.Check(ctx, engine.Options{Library: library, Access: access}, o.Names)
	if err != nil {
		return asUsage(err)
	}
	err = o.Output.Print(o.App, done, func() error { return showDone(o.Out, done) })
	if err != nil || !o.ExitCode {
		return err
	}
	return firstNotDone(done)
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
func showDone(w io.Writer, all []engine.Done) error {
	st := cmdutil.NewStyle(w)
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s\n", st.Bold(d.Name+":"), d.Title)
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
			if _, err := fmt.Fprintf(w, "  %s %s%s\n", mark, box.Title, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func newReset(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Forget the progress of learning",
		Long: `Forget the progress of learning. What has been done in the sandbox stays:
` + "`kalypso reset`" + ` brings that back to its beginning.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), &Options{App: a}) },
	}
}

func forget(_ context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if err := scenarios.ForgetProgress(ProgressFile(home)); err != nil {
		return err
	}
	o.Messagef("The progress of learning is forgotten. What was done in the sandbox is still there: `kalypso reset` brings the sandbox back to its beginning.")
	return nil
}
