package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "devel"

// app is what every command needs: where to talk, and where the sandbox is.
// Data goes to out, talk to err.
type app struct {
	in       io.Reader
	out, err io.Writer
}

// home is looked up when a command needs it: most mistakes in it concern no
// other command.
func (a *app) home() (sandbox.Home, error) { return sandbox.FindHome() }

func (a *app) talk(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// run is the whole program; it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, interrupts(args)...)
	defer stop()
	a := &app{in: in, out: out, err: err}
	cmd := newRoot(a)
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(err)
	failure := cmd.ExecuteContext(ctx)
	if failure == nil {
		return exitOK
	}
	var silent *silentError
	if !errors.As(failure, &silent) {
		a.talk("kalypso: %v", failure)
		if h := hint(failure); h != "" {
			a.talk("  %s", h)
		}
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitCode(failure)
}

// interrupts are the signals that end a command in order. A terminal that is
// closed sends a hangup, which must not leave behind what a command cleans up;
// but where it is ignored, as nohup does, it stays so. The daemon has no terminal.
func interrupts(args []string) []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) && (len(args) == 0 || args[0] != "daemon") {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kalypso",
		Short: "The Kalypso workload orchestration pattern on one machine",
		Long: `kalypso brings up clusters, a git forge with a workshop's repositories, Flux
and the Kalypso scheduler on this machine, and runs the tutorials on them.

Begin with:  kalypso up
Then:        kalypso scenario list

Platform repositories of your own need no sandbox. In a clone of a control plane:

    kalypso validate .
    kalypso plan --control-plane .`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          aCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &sandbox.UsageError{Message: fmt.Sprintf("%s\nSee `%s --help`.", flagMistake(err), c.CommandPath())}
	})
	root.AddGroup(
		&cobra.Group{ID: "sandbox", Title: "The sandbox:"},
		&cobra.Group{ID: "learn", Title: "Tutorials and tests:"},
		&cobra.Group{ID: "scheduler", Title: "The scheduler, in the sandbox or on your own repositories:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("sandbox", newUp(a), newStatus(a), newDown(a), newCredentials(a), newKubectl(a), newKubeconfig(a), newLogs(a))
	add("sandbox", newDoctor(a), newOpen(a), newRestart(a), newStop(a), newStart(a), newReset(a), newSnapshot(a), newAz(a))
	add("learn", newScenario(a))
	add("scheduler", newValidate(a), newPlan(a), newExplain(a), newGet(a), newScheduler(a), newCI(a), newInit(a))
	root.AddCommand(newVersion(a), newLicenses(a), newDaemon(), newActions(a), exitCodesTopic())
	strictHelp(root)
	return root
}

// aCommand is the argument check of commands that only hold others.
func aCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		message += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return &sandbox.UsageError{Message: message + fmt.Sprintf("\nSee `%s --help`.", c.CommandPath())}
}

// onlyArgs is a cobra argument check whose error says what is taken.
func onlyArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return &sandbox.UsageError{Message: fmt.Sprintf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())}
	}
}
