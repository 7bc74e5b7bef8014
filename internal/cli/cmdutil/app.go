package cmdutil

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// App is what every command needs: data goes to Out, messages go to Err.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Version  string
}

// Home is the folder of the sandbox. It is looked up when a command needs it,
// so that a wrong KALYPSO_HOME fails no other command.
func (a *App) Home() (state.Home, error) { return state.FindHome() }

// Messagef prints a line to Err, without the credentials of URLs in it.
func (a *App) Messagef(format string, args ...any) {
	fmt.Fprintln(a.Err, redact.Text(fmt.Sprintf(format, args...)))
}

// Renewed prints what has been mended of the sandbox's credentials.
func (a *App) Renewed(what []string) {
	for _, w := range what {
		a.Messagef("Credentials renewed: %s.", w)
	}
}

// ReportAzureWait prints why and until when a request to Azure is retried.
func (a *App) ReportAzureWait(w arc.Wait) {
	a.Messagef("waiting %s, until %s: %s (%s)", time.Until(w.Until).Round(time.Second), w.Until.Format(time.TimeOnly), w.Reason, w.Request)
}

// Interactive reports whether there is a terminal to ask at.
func (a *App) Interactive() bool {
	f, ok := a.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Confirm asks before something is lost. Without a terminal, --yes must have
// been given.
func (a *App) Confirm(ctx context.Context, yes bool, loss string) error {
	if yes {
		return nil
	}
	if !a.Interactive() {
		return usage.New(loss + "\nThere is no terminal to ask at: add --yes if that is what you want.")
	}
	fmt.Fprintf(a.Err, "%s\nGo on? [y/N] ", loss)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.In).ReadString('\n') // an end of input is a no
		answer <- line
	}()
	select {
	case <-ctx.Done():
		a.Messagef("")
		return Silent(ctx.Err())
	case line := <-answer:
		if saysYes(line) {
			return nil
		}
		a.Messagef("Nothing has been done.")
		return Silent(errors.New("declined"))
	}
}

func saysYes(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

// Group makes c a command that only holds others.
func Group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = subcommandArgs
	c.SuggestionsMinimumDistance = 2 // edits, cobra's own default where it reports unknown commands itself
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	return c
}

// subcommandArgs suggests the command that was most likely meant.
func subcommandArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		message += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage.Errorf("%s\nSee `%s --help`.", message, c.CommandPath())
}

// ExactArgs is an argument check whose error shows how the command is called.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return RangeArgs(len(names), len(names))
}

// RangeArgs is [ExactArgs] for commands with optional arguments.
func RangeArgs(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
	}
}

// AddYes adds the flag that answers [App.Confirm] ahead.
func AddYes(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}
