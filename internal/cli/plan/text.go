package plan

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// writeDiff writes a plan as a patch. What is not patch is comment to git, so
// that the output can be applied as it is.
func writeDiff(w io.Writer, s cmdutil.Style, one view.Plan) {
	for _, g := range one.Groups() {
		fmt.Fprintf(w, "%s\n", s.Bold(fmt.Sprintf("# %s: %s", g.Name(), g.Why)))
		for _, c := range g.Changes {
			writePatch(w, s, c, one.Before[c.Path])
		}
		fmt.Fprintln(w)
	}
}

// print prints what diff and tree have in common: the environment, the changes,
// the problems, and a summary.
func print(w io.Writer, p *view.Plans, changes func(io.Writer, cmdutil.Style, view.Plan)) error {
	var out bytes.Buffer
	s := cmdutil.NewStyle(w)
	for i, one := range p.Environments {
		if i > 0 {
			fmt.Fprintln(&out)
		}
		fmt.Fprintf(&out, "%s\n", s.Bold("# Environment "+one.Title()))
		if len(one.Changes)+len(one.Problems) > 0 {
			fmt.Fprintln(&out)
		}
		changes(&out, s, one)
		for _, problem := range one.Problems {
			writeProblem(&out, s, problem)
		}
		summary := one.Summary()
		fmt.Fprintf(&out, "%s\n", sentence(summary.String()))
		for _, r := range one.Rollouts() {
			fmt.Fprintf(&out, "%s\n", r)
		}
		if summary.Held {
			removed, of, _ := publish.Removals(one.Plan, one.Before)
			fmt.Fprintf(&out, "%s\n", s.Warn(fmt.Sprintf("This removes %d of %d assignments: the pull request will be a draft until a user takes the label %s off.", removed, of, forge.LabelMassDelete)))
		}
	}
	if others := p.Others(); len(others) > 0 {
		fmt.Fprintf(&out, "\n%s\n\n", s.Bold("# Environment objects"))
		for _, problem := range others {
			writeProblem(&out, s, problem)
		}
	}
	_, err := io.WriteString(w, redact.Text(out.String()))
	return err
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// writeProblem prints a problem as compilers do, with the hint below.
func writeProblem(w io.Writer, s cmdutil.Style, p plan.Problem) {
	severity := s.Warn(string(p.Severity))
	if p.Severity == model.Error {
		severity = s.Bad(string(p.Severity))
	}
	where := p.Position.String()
	if p.Position.Column > 0 {
		where = fmt.Sprintf("%s:%d", where, p.Position.Column)
	}
	about := ""
	if p.Target != "" {
		about = p.ClusterType + "/" + p.Target + ": "
	}
	fmt.Fprintf(w, "%s: %s: %s%s\n", where, severity, about, p.Message)
	if p.Hint != "" {
		fmt.Fprintf(w, "    %s\n", s.Faint(p.Hint))
	}
}

func writePatch(w io.Writer, s cmdutil.Style, c plan.Change, before []byte) {
	header := true
	for line := range strings.Lines(view.Patch(c, before)) {
		text, end := strings.TrimSuffix(line, "\n"), "\n"
		switch {
		case strings.HasPrefix(line, "@@"):
			header = false
			text = s.Paint("36", text)
		case header:
			text = s.Bold(text)
		case line[0] == '+':
			text = s.Good(text)
		case line[0] == '-':
			text = s.Bad(text)
		}
		fmt.Fprint(w, text, end)
	}
}

// writeTree writes what the GitOps branch will hold.
func writeTree(w io.Writer, s cmdutil.Style, one view.Plan) {
	if len(one.Changes)+len(one.Problems) == 0 {
		fmt.Fprintln(w)
	}
	writeNodes(w, s, one.Tree(), 0)
	fmt.Fprintln(w)
}

func paint(m view.Mark, s cmdutil.Style, text string) string {
	switch m {
	case view.Added:
		return s.Good(text)
	case view.Modified, view.Held:
		return s.Warn(text)
	case view.Removed:
		return s.Bad(text)
	}
	return text
}

func writeNodes(w io.Writer, s cmdutil.Style, parent *view.Node, depth int) {
	for _, name := range slices.Sorted(maps.Keys(parent.Children)) {
		n := parent.Children[name]
		if n.Children != nil || n.Note != "" {
			name += "/"
		}
		line := paint(n.Mark, s, fmt.Sprintf("%s%c %s", strings.Repeat("  ", depth), n.Mark, name))
		if n.Note != "" {
			line += s.Faint("  (" + n.Note + ")")
		}
		fmt.Fprintln(w, line)
		writeNodes(w, s, n, depth+1)
	}
}
