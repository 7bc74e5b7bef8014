package scheduler

import (
	"fmt"
	"io"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// roundsDocument is what -o json prints, which scripts rely on: fields are
// added, not changed.
type roundsDocument struct {
	ControlPlanes []controller.RunReport `json:"controlPlanes"`
}

// showRounds prints what was found and done. Nothing at all is shown of a
// scheduler that could not begin.
func showRounds(a *cmdutil.App, rounds []controller.RunReport, asJSON bool) error {
	switch {
	case rounds == nil:
		return nil
	case asJSON:
		return a.PrintJSON(roundsDocument{rounds})
	}
	for _, r := range rounds {
		if len(rounds) > 1 {
			fmt.Fprintf(a.Out, "%s@%s\n", r.ControlPlane.Repo, r.ControlPlane.Branch)
		}
		for _, problem := range r.ControlPlane.Problems {
			fmt.Fprintln(a.Out, problem)
		}
		for _, e := range r.Environments {
			showRun(a.Out, e)
		}
		if len(r.Environments) == 0 && r.ControlPlane.Error == "" {
			fmt.Fprintln(a.Out, "no environments")
		}
	}
	return nil
}

func showRun(out io.Writer, e controller.RunResult) {
	fmt.Fprintf(out, "%s: %s\n", e.Name, deed(e))
	if e.Promotes {
		fmt.Fprintf(out, "  promotes %.10s\n", e.Promoted)
	}
	if pr := e.PullRequest; pr != nil && pr.Held {
		fmt.Fprintln(out, "  it removes more than half of what is there, and waits for a person to take the label mass-delete off")
	}
	for _, problem := range e.Problems {
		fmt.Fprintf(out, "  %s\n", problem)
	}
	for _, issue := range e.Issues {
		fmt.Fprintf(out, "  see %s\n", issue)
	}
}

// deed is what became of an environment, in one line.
func deed(e controller.RunResult) string {
	var where string
	if e.PullRequest != nil {
		where = e.PullRequest.URL
	}
	size := fmt.Sprintf("%s of %s", cmdutil.Count(e.Assignments, "assignment"), cmdutil.Count(e.Targets, "deployment target"))
	switch {
	case e.State != controller.Synced:
		return "failed"
	case e.Action == publish.Opened:
		return "opened " + where + ", " + size
	case e.Action == publish.Updated:
		return "updated " + where + ", " + size
	case e.Action == publish.Unchanged:
		return "nothing to do, " + where + " waits to be merged, " + size
	case e.Action == publish.Withdrawn:
		return "closed its pull request, since nothing differs any more, " + size
	case e.Action == publish.Withheld:
		return "proposed nothing: most assignments would go, and the forge has no drafts to hold that, see the issue, " + size
	case e.Action == publish.LeftClosed:
		return "nothing to do, a person has closed " + where + ", " + size
	}
	return "nothing to do, " + size
}
