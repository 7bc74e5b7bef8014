package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kalypso-dev/kalypso/internal/cli/az"
	"github.com/kalypso-dev/kalypso/internal/cli/ci"
	"github.com/kalypso-dev/kalypso/internal/cli/cluster"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/credentials"
	"github.com/kalypso-dev/kalypso/internal/cli/doctor"
	"github.com/kalypso-dev/kalypso/internal/cli/down"
	"github.com/kalypso-dev/kalypso/internal/cli/edit"
	"github.com/kalypso-dev/kalypso/internal/cli/explain"
	"github.com/kalypso-dev/kalypso/internal/cli/get"
	"github.com/kalypso-dev/kalypso/internal/cli/history"
	"github.com/kalypso-dev/kalypso/internal/cli/hub"
	"github.com/kalypso-dev/kalypso/internal/cli/initialize"
	"github.com/kalypso-dev/kalypso/internal/cli/kubectl"
	"github.com/kalypso-dev/kalypso/internal/cli/logs"
	"github.com/kalypso-dev/kalypso/internal/cli/open"
	"github.com/kalypso-dev/kalypso/internal/cli/plan"
	"github.com/kalypso-dev/kalypso/internal/cli/reset"
	"github.com/kalypso-dev/kalypso/internal/cli/rollout"
	"github.com/kalypso-dev/kalypso/internal/cli/scenario"
	"github.com/kalypso-dev/kalypso/internal/cli/scheduler"
	"github.com/kalypso-dev/kalypso/internal/cli/snapshot"
	"github.com/kalypso-dev/kalypso/internal/cli/status"
	"github.com/kalypso-dev/kalypso/internal/cli/up"
	"github.com/kalypso-dev/kalypso/internal/cli/validate"
	"github.com/kalypso-dev/kalypso/internal/cli/version"
	"github.com/kalypso-dev/kalypso/internal/cli/workshop"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Run is the whole program; it returns the exit code.
func Run(ctx context.Context, version string, args []string, in io.Reader, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, interrupts(args)...)
	defer stop()
	a := &cmdutil.App{In: in, Out: out, Err: err, Version: version}
	cmd := newRoot(a)
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(err)
	failure := cmd.ExecuteContext(ctx)
	if failure == nil {
		return cmdutil.ExitOK
	}
	var silent *cmdutil.SilentError
	if !errors.As(failure, &silent) {
		a.Messagef("kalypso: %v", failure)
		if h := cmdutil.Hint(failure); h != "" {
			a.Messagef("  %s", h)
		}
	}
	if ctx.Err() != nil {
		return cmdutil.ExitInterrupted
	}
	return cmdutil.ExitCode(failure)
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

func newRoot(a *cmdutil.App) *cobra.Command {
	root := cmdutil.Group(&cobra.Command{
		Use:   "kalypso",
		Short: "The Kalypso workload orchestration pattern on one machine",
		Long: `kalypso brings up clusters, a git forge with a workshop's repositories, Flux
and the Kalypso scheduler on this machine, and runs the tutorials on them.

Begin with:  kalypso up
Then:        kalypso scenario list

Platform repositories of your own need no sandbox. In a clone of a control plane:

    kalypso validate .
    kalypso plan --control-plane .`,
		Version:       a.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var mistake *usage.Error
		if errors.As(err, &mistake) {
			return mistake
		}
		return usage.Errorf("%s\nSee `%s --help`.", flagMistake(err), c.CommandPath())
	})
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
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
	add("sandbox", up.NewCommand(a, up.Run), status.NewCommand(a, status.Run), down.NewCommand(a, down.Run), credentials.NewCommand(a, credentials.Run), kubectl.NewCommand(a, kubectl.Run), kubectl.NewKubeconfigCommand(a, kubectl.Kubeconfig), logs.NewCommand(a, logs.Run))
	add("sandbox", doctor.NewCommand(a, doctor.Run), open.NewCommand(a, open.Run), cluster.NewRestartCommand(a, cluster.Restart), cluster.NewStopCommand(a, cluster.Stop), cluster.NewStartCommand(a, cluster.Start), cluster.NewCommand(a), reset.NewCommand(a, reset.Run), snapshot.NewCommand(a), az.NewCommand(a))
	add("learn", scenario.NewCommand(a), workshop.NewCommand(a))
	add("scheduler", validate.NewCommand(a, validate.Run), plan.NewCommand(a, plan.Run), explain.NewCommand(a, explain.Run), get.NewCommand(a, get.Run), history.NewCommand(a, history.Run), edit.NewCommand(a), rollout.NewCommand(a), scheduler.NewCommand(a), hub.NewCommand(a), ci.NewCommand(a), initialize.NewCommand(a, initialize.Run))
	root.AddCommand(version.NewCommand(a, version.Run), version.NewLicensesCommand(a, version.Licenses), up.NewDaemonCommand(a, up.RunDaemon), newManCommand(a), exitCodesTopic(), scenarioCommandsTopic())
	strictHelp(root)
	return root
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `kalypso exits with

    0  done
    1  something failed
    2  it was called wrongly
    3  the plan has changes (for commands with --exit-code); for az, there is
       no such resource, as the Azure CLI has it
    4  a forge or a cloud refused the credentials
    5  this machine lacks something: see the message
    6  a scenario's check failed
    7  something waited for did not come in time
    8  the sandbox has problems (for status with --exit-code)
  130  interrupted`,
	}
}

func scenarioCommandsTopic() *cobra.Command {
	return &cobra.Command{
		Use:     "scenario-commands",
		Aliases: []string{"scenario-words"},
		Short:   "What the lines of a scenario's file mean",
		Long:    engine.Reference(),
	}
}

// flagMistake is the message of an error about flags. Those about a value come
// with the messages of Go's parsers, which do not help who calls a command.
func flagMistake(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	wanted, ok := map[string]string{
		"int":      "a whole number",
		"int64":    "a whole number",
		"bool":     "true or false",
		"duration": "a time with its unit, such as 30s, 10m or 1h30m",
	}[invalid.GetFlag().Value.Type()]
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("--%s %q: give %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
}

// strictHelp makes help about what there is not a mistake: cobra's own shows
// the help of whatever it did find.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		show := help.Run
		help.Run = nil
		help.RunE = func(c *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return usage.New(err.Error())
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return noTopic(found, rest[0])
			}
			show(c, args)
			return nil
		}
	}
}

// noTopic is the error for help about something that a command does not hold.
func noTopic(c *cobra.Command, name string) error {
	var names []string
	for _, each := range c.Commands() {
		if !each.Hidden {
			names = append(names, each.Name())
		}
	}
	message := fmt.Sprintf("%s has no command or topic %q", c.CommandPath(), name)
	if near := model.Nearest(strings.ToLower(name), names); near != "" {
		message += ", did you mean " + near + "?"
	}
	return usage.Errorf("%s\nSee `%s --help`.", message, c.CommandPath())
}
