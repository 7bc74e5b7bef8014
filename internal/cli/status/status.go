// Package status has the command that says how a sandbox is.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso status`.
type Options struct {
	*cmdutil.App
	Watch    bool
	All      bool // components that did their work once, too
	ExitCode bool
	Output   cmdutil.Output

	unmatched unmatched
}

// errProblems is the result with --exit-code when there are problems.
var errProblems = cmdutil.Classify(errors.New("the sandbox has problems"), cmdutil.ErrProblems)

// NewCommand makes `kalypso status`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "status",
		Short: "What runs, what is planned, and what is wrong",
		Long: `Show how the sandbox is. First each environment: the revision of its GitOps
branch, and its state:

    synced    every cluster that follows it has what the model asks for
    applying  a cluster has not applied the revision yet
    proposed  a pull request is open
    problems  something in its files cannot be used
    planning  the scheduler works on it
    error     the scheduler has failed, and tries again

Then the pull requests that wait for a user, and the problems with their reasons.
Last the components with their processes, memory and addresses; --all also
shows those that do their work once, such as unpack-kube.

The exit code is 1 when the sandbox is down. With --exit-code it is 8 when there
are problems.

With --watch it goes on until ctrl-c: on a terminal in place, elsewhere
a new block, or with -o json a line, for each change.`,
		Example: `  kalypso status
  kalypso status --watch
  kalypso status --exit-code
  kalypso status -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	c.Flags().BoolVarP(&o.All, "all", "a", false, "show components that do their work once, too")
	c.Flags().BoolVar(&o.ExitCode, "exit-code", false, "exit with 8 when there are problems")
	c.Flags().BoolVarP(&o.Watch, "watch", "w", false, "go on with what changes")
	return c
}

// Run prints the status, with --watch until ctx ends.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if o.Watch {
		return watch(ctx, home, o)
	}
	s, err := sandbox.GetStatus(ctx, home)
	if err != nil {
		return err
	}
	s = o.withUnmatched(ctx, s)
	err = o.Output.Print(o.App, s, func() error { return printStatus(o.Out, cmdutil.NewStyle(o.Out), s, time.Now(), o.All) })
	switch {
	case err != nil:
		return err
	case !s.Running:
		return cmdutil.Silent(sandbox.ErrDown)
	case o.ExitCode && (!s.Ready || len(s.Problems) > 0):
		return cmdutil.Silent(errProblems)
	}
	return nil
}

func printStatus(out io.Writer, st cmdutil.Style, s *sandbox.Status, now time.Time, all bool) error {
	if !s.Running {
		_, err := fmt.Fprintf(out, "Sandbox %s (workshop %s) is down. `kalypso up` brings it back.\n", s.Home, s.Workshop)
		return err
	}
	state := "ready"
	if !s.Ready {
		state = "not ready"
	}
	fmt.Fprintf(out, "Sandbox %s, workshop %s: %s, up for %s\n", s.Home, s.Workshop, state, short(now.Sub(s.Since)))
	fmt.Fprintf(out, "Forge   %s/%s\n", s.ForgeURL, sandbox.Organisation)
	if s.Share != nil {
		fmt.Fprintf(out, "Shared  https://%s, to all who have the link; `kalypso up --share=off` ends it\n", s.Share.Address)
	}
	fmt.Fprintln(out)
	if err := printOverview(out, st, s); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCOMPONENT\tSTATE\tSINCE\tPID\tMEMORY\tRESTARTS\tURL")
	for _, c := range s.Components {
		if c.OneShot && c.State == supervisor.Ready && !all {
			continue
		}
		pid, memory, restarts, url := "-", "-", "-", "-"
		if c.PID != 0 {
			pid = fmt.Sprint(c.PID)
		}
		if c.MemoryBytes != 0 {
			memory = fmt.Sprintf("%d MiB", c.MemoryBytes>>20)
		}
		if c.Restarts > 0 {
			restarts = fmt.Sprint(c.Restarts)
		}
		if c.URL != "" {
			url = c.URL
		}
		fmt.Fprintf(w, "%s\t%s\t%s ago\t%s\t%s\t%s\t%s\n", c.Name, c.State, short(now.Sub(c.Since)), pid, memory, restarts, url)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range s.Components {
		if c.Held && c.Reason != "" {
			fmt.Fprintf(out, "\n%s: %s\n", st.Warn(c.Name), c.Reason)
		}
		if c.State == supervisor.Ready && c.LastFailure != "" {
			fmt.Fprintf(out, "\n%s: started again %s; the last time because: %s\n", st.Warn(c.Name), cmdutil.Count(c.Restarts, "time"), c.LastFailure)
		}
	}
	for _, c := range s.Existing {
		fmt.Fprintf(out, "\nCluster %s is yours: context %s of %s; %s.\n  Pods of the sample applications do not start there: %s.\n",
			c.Name, c.Context, strings.Join(c.Files, " and "), ReconcilerOf(s, c), c.Pods)
	}
	return nil
}

// short rounds a duration to minutes, or below an hour to seconds.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		d = d.Round(time.Second)
	default:
		d = d.Round(time.Minute)
	}
	text, whole := strings.CutSuffix(d.String(), "m0s")
	if whole {
		text += "m"
	}
	return text
}

// ReconcilerOf says what makes a cluster follow git, and where it runs.
func ReconcilerOf(s *sandbox.Status, c sandbox.ExistingCluster) string {
	what := "Flux"
	for _, p := range s.Components {
		if p.Name == "argocd-"+c.Name {
			what = "Argo CD"
		}
	}
	if c.Theirs != "" {
		return fmt.Sprintf("its own %s in namespace %s follows git", what, c.Theirs)
	}
	return what + " runs beside it, on this machine"
}
