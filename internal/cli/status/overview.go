package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
)

// columns is the width that titles are cut to.
const columns = 80

// printOverview prints what matters first: environments, pull requests that wait,
// and problems.
func printOverview(out io.Writer, st cmdutil.Style, s *sandbox.Status) error {
	if s.Scheduler == nil {
		fmt.Fprintln(out, "The scheduler does not answer.")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(s.Environments) > 0 {
		fmt.Fprintln(w, "ENVIRONMENT\tSTATE\tREVISION\tTARGETS\tASSIGNMENTS\tPULL REQUEST")
	}
	for _, e := range s.Environments {
		pull := "-"
		if p := e.PullRequest; p != nil {
			pull = fmt.Sprintf("#%d", p.Number)
			if p.Held {
				pull += " held: it would remove most of what is assigned"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", e.Name, e.State, revision(e.Revision), e.Targets, e.Assignments, pull)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Virtual) > 0 {
		fmt.Fprintln(out)
	}
	for _, g := range s.Virtual {
		line := g.String()
		if g.Failed > 0 {
			line = st.Warn(line)
		}
		fmt.Fprintln(out, line)
	}
	if len(s.PullRequests) > 0 {
		fmt.Fprintf(out, "\n%s\n", st.Bold("Pull requests that wait"))
	}
	for _, p := range s.PullRequests {
		fmt.Fprintln(out, cut(fmt.Sprintf("  %s  %s", p.URL, p.Title)))
	}
	problems, components := problemsOf(s), notReady(s)
	if len(problems)+len(components) > 0 {
		fmt.Fprintf(out, "\n%s\n", st.Bold("Problems"))
	}
	for _, c := range components {
		fmt.Fprintf(out, "  %s: %s\n", st.Bad(c.Name), c.Reason)
		for _, line := range c.LogTail {
			fmt.Fprintf(out, "    | %s\n", line)
		}
	}
	for _, p := range problems {
		about := strings.Join(strings.Fields(p.Environment+" "+p.Cluster+" "+p.Object), " ")
		if about != "" {
			about = st.Warn(about) + ": "
		}
		fmt.Fprintf(out, "  %s%s\n", about, p.Reason)
	}
	return nil
}

// problemsOf are those that are not about a component or virtual clusters, which say
// them themselves.
func problemsOf(s *sandbox.Status) []sandbox.Problem {
	var all []sandbox.Problem
	for _, p := range s.Problems {
		if p.Component == "" && !slices.ContainsFunc(s.Virtual, func(g virtual.Group) bool { return g.Name() == p.Cluster }) {
			all = append(all, p)
		}
	}
	return all
}

func notReady(s *sandbox.Status) []sandbox.Component {
	var all []sandbox.Component
	for _, c := range s.Components {
		if c.State != supervisor.Ready && c.Reason != "" && !c.Held {
			all = append(all, c)
		}
	}
	return all
}

func revision(commit string) string {
	if commit == "" {
		return "-"
	}
	return commit[:min(7, len(commit))]
}

// cut shortens a line to a terminal's width, at its end, which has a title.
func cut(line string) string {
	if r := []rune(line); len(r) > columns {
		return strings.TrimRight(string(r[:columns-3]), " ") + "..."
	}
	return line
}
