package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/watch"
	"github.com/spf13/cobra"
)

func newStatus(a *app) *cobra.Command {
	return reads(a, &cobra.Command{
		Use:   "status",
		Short: "What runs, what is planned, and what is wrong",
		Args:  onlyArgs(),
	}, func(c *cobra.Command, _ []string) (*sandbox.Status, error) {
		home, err := a.home()
		if err != nil {
			return nil, err
		}
		return sandbox.GetStatus(c.Context(), home)
	}, a.printStatus)
}

func (a *app) printStatus(s *sandbox.Status) error {
	if !s.Running {
		fmt.Fprintf(a.out, "Sandbox %s (workshop %s) is down. `kalypso up` brings it back.\n", s.Home, s.Workshop)
		return nil
	}
	state := "ready"
	if !s.Ready {
		state = "not ready"
	}
	fmt.Fprintf(a.out, "Sandbox %s, workshop %s: %s, up for %s\n\n", s.Home, s.Workshop, state, short(time.Since(s.Since)))
	st := newStyle(a.out)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COMPONENT\tSTATE\tFOR\tPID\tMEMORY\tRESTARTS")
	for _, c := range s.Components {
		pid, memory, restarts := "", "", ""
		if c.PID != 0 {
			pid = fmt.Sprint(c.PID)
		}
		if c.MemoryBytes != 0 {
			memory = fmt.Sprintf("%d MiB", c.MemoryBytes>>20)
		}
		if c.Restarts > 0 {
			restarts = fmt.Sprint(c.Restarts)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, c.State, short(time.Since(c.Since)), pid, memory, restarts)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range s.Components {
		if c.State != supervisor.Ready && c.Reason != "" {
			fmt.Fprintf(a.out, "\n%s: %s\n", st.bad(c.Name), c.Reason)
			for _, line := range c.LogTail {
				fmt.Fprintf(a.out, "  | %s\n", line)
			}
		}
	}
	return a.printScheduler(s, st)
}

func (a *app) printScheduler(s *sandbox.Status, st style) error {
	fmt.Fprintf(a.out, "\nForge  %s/%s\n", s.ForgeURL, sandbox.Organisation)
	if s.Scheduler == nil {
		fmt.Fprintln(a.out, "The scheduler does not answer.")
		return nil
	}
	var w watch.Status
	if err := json.Unmarshal(s.Scheduler, &w); err != nil {
		return fmt.Errorf("the scheduler's status: %w", err)
	}
	if w.ControlPlane.Error != "" {
		fmt.Fprintf(a.out, "%s\n", st.bad("Control plane: "+w.ControlPlane.Error))
	}
	for _, e := range w.Environments {
		fmt.Fprintf(a.out, "\nEnvironment %s: %s, %s, %s\n", st.bold(e.Name), e.State, count(e.Targets, "deployment target"), count(e.Assignments, "assignment"))
		if e.PullRequest != nil {
			note := ""
			if e.PullRequest.Held {
				note = "; held: it would remove most of what is assigned"
			}
			fmt.Fprintf(a.out, "  pull request  %s  (%s%s)\n", e.PullRequest.URL, e.PullRequest.State, note)
		}
		if e.Error != "" {
			fmt.Fprintf(a.out, "  %s\n", st.bad(e.Error))
		}
		for _, p := range e.Problems {
			fmt.Fprintf(a.out, "  %s\n", st.warn(p))
		}
		for _, url := range e.Issues {
			fmt.Fprintf(a.out, "  issue  %s\n", url)
		}
	}
	for _, p := range w.ControlPlane.Problems {
		fmt.Fprintf(a.out, "  %s\n", st.warn(p))
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short rounds a duration to what a person wants to know.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	default:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
}
