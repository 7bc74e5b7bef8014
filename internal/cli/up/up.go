// Package up has the command that brings a sandbox up, and the daemon that it
// starts.
package up

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/status"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso up` and of the daemon.
type Options struct {
	*cmdutil.App
	sandbox.Options
	Yes   bool
	Share string // "" for as it is; shareOn, shareOff or an address
}

// NewCommand makes `kalypso up`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a, Options: sandbox.Options{Version: a.Version}}
	c := &cobra.Command{
		Use:   "up",
		Short: "Bring the sandbox up, or back up",
		Long: `Bring the sandbox up: a git forge with the workshop's repositories, Kubernetes
clusters with Flux or Argo CD and a node each, and the scheduler. On a sandbox
that is up it changes nothing; on one that is half up it starts what is missing.
Credentials of its own that the forge does not know any more are made again.
Interrupting it leaves the sandbox to go on starting.

With --cluster NAME=CONTEXT it uses a cluster that you have, in place of one
that it would make. It looks at the cluster before it changes anything, notes
what it puts there, and ` + "`kalypso down`" + ` takes just that off again.

With --share others on your network who have the link that it prints see the
hub's pages and the workshop. They can look, and change nothing. It asks first,
and ends with --share=off, or with the sandbox.

The sandbox lives in ~/.kalypso, or in the folder that KALYPSO_HOME names.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	addShare(c, &o.Share)
	cmdutil.AddChoice(c, &o.Choice)
	cmdutil.AddYes(c, &o.Yes)
	return c
}

// Run brings the sandbox up and waits until it is ready.
func Run(ctx context.Context, o *Options) error {
	home, err := o.App.Home()
	if err != nil {
		return err
	}
	shareAt, err := o.askShare(ctx, home)
	if err != nil {
		return err
	}
	o.Messagef("Bringing up the sandbox in %s", home)
	p := cmdutil.NewProgress(o.Err)
	o.Options.Home, o.Progress = home, p.Show
	o.Say = func(step string) { o.Messagef("  %s", step) }
	o.Trust = func(w *workshop.Workshop) error { return o.trust(ctx, home, w) }
	status, err := sandbox.Up(ctx, o.Options)
	var renewed []string
	if err == nil {
		renewed, err = sandbox.RenewCredentials(ctx, home)
	}
	p.Clear()
	var failed *sandbox.FailedError
	switch {
	case errors.As(err, &failed):
		o.PrintLogTails(failed)
		o.Messagef("\nThe rest goes on. `kalypso doctor` looks for causes; after mending, run `kalypso up` again.")
		return err
	case ctx.Err() != nil:
		o.Messagef("Interrupted; the sandbox goes on starting. `kalypso status` shows it, `kalypso down` stops it.")
		return cmdutil.Silent(err)
	case err != nil:
		return err
	}
	if p.Changed || len(renewed) > 0 {
		o.Messagef("Ready in %.1f s.", p.Took())
	} else {
		o.Messagef("Already up; nothing changed (%.2f s).", p.Took())
	}
	o.Renewed(renewed)
	if status.Version != o.App.Version {
		o.Messagef("The sandbox runs kalypso %s and this is %s: `kalypso down`, then `kalypso up`, moves it over.", status.Version, o.App.Version)
	}
	o.Messagef("")
	o.Messagef("  Forge     %s/%s   (user %s; password: kalypso credentials)", status.ForgeURL, sandbox.Organisation, status.User)
	o.Messagef("  Hub       kalypso open hub   (what runs where, and why, in a browser)")
	stopped, given := stoppedClusters(status), existingClusters(status)
	for _, name := range status.Clusters {
		if stopped[name] {
			o.Messagef("  Stopped   cluster %s; `kalypso start %s` brings it back", name, name)
			continue
		}
		o.Messagef("  Cluster   kalypso kubectl --context %s get ns%s", name, given[name])
	}
	for _, c := range status.Components {
		if strings.HasPrefix(c.Name, "argocd-") && !c.Held && c.URL != "" {
			o.Messagef("  Argo CD   %s   (user admin; password: kalypso credentials)", c.URL)
		}
	}
	o.Messagef("  Workflows %s", whoRunsWorkflows(home))
	if doctor.GitIdentity(ctx, doctor.Machine()) != nil {
		o.Messagef("  Git       does not know who you are, and will not commit. Tell it:")
		for _, line := range doctor.SetGitIdentity {
			o.Messagef("            %s", line)
		}
	}
	o.Messagef("  Next      kalypso scenario list")
	return o.share(ctx, home, shareAt)
}

// trust says what of a workshop from elsewhere will run on this machine, and as
// whom, and asks on a terminal.
func (o *Options) trust(ctx context.Context, home sandbox.Home, w *workshop.Workshop) error {
	loss, err := Workflows(home, w)
	if err != nil || loss == "" {
		return err
	}
	if !o.Yes && !o.Interactive() {
		o.Messagef("%s", loss)
		return nil
	}
	return o.Confirm(ctx, o.Yes, loss)
}

// Workflows says what of a workshop from elsewhere will run on this machine, and as
// whom; "" for nothing.
func Workflows(home state.Home, w *workshop.Workshop) (string, error) {
	files, err := w.WorkflowFiles()
	if err != nil || len(files) == 0 {
		return "", err
	}
	return fmt.Sprintf("The workshop %s does not come with kalypso. Its workflows will %s:\n  %s", w.Name, whoRunsWorkflows(home), strings.Join(files, "\n  ")), nil
}

// whoRunsWorkflows says what a workflow of the forge may do on this machine.
func whoRunsWorkflows(home state.Home) string {
	switch user, err := stack.WorkflowUser(home); {
	case err != nil:
		return fmt.Sprintf("run on this machine as root, and may do all that root may: %v", err)
	case user == 0:
		return "run on this machine as you, and may do all that you may"
	default:
		return fmt.Sprintf("run on this machine as user %d, who has no account and no rights, and sees nothing of the sandbox's files but the job's own", user)
	}
}

// existingClusters are the attached clusters, with their context and reconciler.
func existingClusters(s *sandbox.Status) map[string]string {
	all := map[string]string{}
	for _, c := range s.Existing {
		all[c.Name] = fmt.Sprintf("   (yours, context %s; %s)", c.Context, status.ReconcilerOf(s, c))
	}
	return all
}

// stoppedClusters are those that `kalypso stop` has stopped.
func stoppedClusters(s *sandbox.Status) map[string]bool {
	stopped := map[string]bool{}
	for _, c := range s.Components {
		if c.Held {
			stopped[c.Group] = true
		}
	}
	return stopped
}

// NewDaemonCommand makes the hidden `kalypso daemon`, which up starts.
func NewDaemonCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	return &cobra.Command{
		Use:    "daemon",
		Short:  "The sandbox's supervisor; started by up",
		Hidden: true,
		Args:   cmdutil.ExactArgs(),
		RunE:   func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
}

// RunDaemon supervises the sandbox until it is stopped.
func RunDaemon(_ context.Context, o *Options) error {
	home, err := o.App.Home()
	if err != nil {
		return err
	}
	if err := daemon.Run(home, o.App.Version); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}
