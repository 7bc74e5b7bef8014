// Package status has the command that says how a sandbox is.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso status`.
type Options struct {
	*cmdutil.App
	Watch  bool
	Output cmdutil.Output
}

// NewCommand makes `kalypso status`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "status",
		Short: "What runs, what is planned, and what is wrong",
		Long: `Show how the sandbox is: its components with their processes, memory and
addresses, and the scheduler's account of every environment.

With --watch it goes on until ctrl-c: on a terminal in place, elsewhere
a new block, or with -o json a line, for each change.`,
		Example: `  kalypso status
  kalypso status --watch
  kalypso status -o json`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
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
	return o.Output.Print(o.App, s, func() error { return printStatus(o.Out, cmdutil.NewStyle(o.Out), s, time.Now()) })
}

func printStatus(out io.Writer, st cmdutil.Style, s *sandbox.Status, now time.Time) error {
	if !s.Running {
		_, err := fmt.Fprintf(out, "Sandbox %s (workshop %s) is down. `kalypso up` brings it back.\n", s.Home, s.Workshop)
		return err
	}
	state := "ready"
	if !s.Ready {
		state = "not ready"
	}
	fmt.Fprintf(out, "Sandbox %s, workshop %s: %s, up for %s\n\n", s.Home, s.Workshop, state, short(now.Sub(s.Since)))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COMPONENT\tSTATE\tSINCE\tPID\tMEMORY\tRESTARTS\tURL")
	for _, c := range s.Components {
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
	printReasons(out, st, s)
	for _, c := range s.Existing {
		fmt.Fprintf(out, "\nCluster %s is yours: context %s of %s; %s.\n  Pods of the sample applications do not start there: %s.\n",
			c.Name, c.Context, strings.Join(c.Files, " and "), ReconcilerOf(s, c), c.Pods)
	}
	return printScheduler(out, st, s)
}

// printReasons prints why components are not ready, and why those that are have
// been started again.
func printReasons(out io.Writer, st cmdutil.Style, s *sandbox.Status) {
	for _, c := range s.Components {
		switch {
		case c.State == supervisor.Ready && c.LastFailure != "":
			fmt.Fprintf(out, "\n%s: started again %s; the last time because: %s\n", st.Warn(c.Name), cmdutil.Count(c.Restarts, "time"), c.LastFailure)
		case c.State != supervisor.Ready && c.Reason != "":
			fmt.Fprintf(out, "\n%s: %s\n", st.Bad(c.Name), c.Reason)
			for _, line := range c.LogTail {
				fmt.Fprintf(out, "  | %s\n", line)
			}
		}
	}
}

func printScheduler(out io.Writer, st cmdutil.Style, s *sandbox.Status) error {
	fmt.Fprintf(out, "\nForge  %s/%s\n", s.ForgeURL, sandbox.Organisation)
	if s.Scheduler == nil {
		fmt.Fprintln(out, "The scheduler does not answer.")
		return nil
	}
	var w controller.Status
	if err := json.Unmarshal(s.Scheduler, &w); err != nil {
		return fmt.Errorf("the scheduler's status: %w", err)
	}
	if w.ControlPlane.Error != "" {
		fmt.Fprintf(out, "%s\n", st.Bad("Control plane: "+w.ControlPlane.Error))
	}
	for _, e := range w.Environments {
		fmt.Fprintf(out, "\nEnvironment %s: %s, %s, %s\n", st.Bold(e.Name), e.State, cmdutil.Count(e.Targets, "deployment target"), cmdutil.Count(e.Assignments, "assignment"))
		if e.PullRequest != nil {
			note := ""
			if e.PullRequest.Held {
				note = "; held: it would remove most of what is assigned"
			}
			fmt.Fprintf(out, "  pull request  %s  (%s%s)\n", e.PullRequest.URL, e.PullRequest.State, note)
		}
		if e.Error != "" {
			fmt.Fprintf(out, "  %s\n", st.Bad(e.Error))
		}
		for _, p := range e.Problems {
			fmt.Fprintf(out, "  %s\n", st.Warn(p))
		}
		for _, url := range e.Issues {
			fmt.Fprintf(out, "  issue  %s\n", url)
		}
	}
	for _, p := range w.ControlPlane.Problems {
		fmt.Fprintf(out, "  %s\n", st.Warn(p))
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
