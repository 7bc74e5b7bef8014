package cluster

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// ExecOptions are those of `kalypso cluster exec`.
type ExecOptions struct {
	*cmdutil.App
	Name    string
	Command []string
}

func newExec(a *cmdutil.App, run func(context.Context, *ExecOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "exec NAME -- COMMAND [ARGUMENTS...]",
		Short: "Run a command on a host",
		Long: `Run a command as root on a host of the sandbox, with this terminal and this
standard input. The exit code is the command's.

What it writes lies in the sandbox's folder. What Ansible has put there is as in git
again within a minute.`,
		Example: `  kalypso cluster exec edge-1 -- sh
  kalypso cluster exec edge-1 -- dpkg --list`,
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() != 1 || len(args) < 2 {
				return usage.New("which command on which host? Write NAME -- COMMAND")
			}
			return run(c.Context(), &ExecOptions{a, args[0], args[1:]})
		},
	}
}

// execute replaces this process with the command, which so has its terminal and its
// signals.
func execute(ctx context.Context, o *ExecOptions) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	cmd, err := sandbox.HostCommand(ctx, home, o.Name, term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())), o.Command)
	if err != nil {
		return err
	}
	err = syscall.Exec(cmd.Path, cmd.Args, cmd.Env)
	return fmt.Errorf("run runc: %w", err)
}
