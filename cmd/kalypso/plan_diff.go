package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/rogpeppe/go-internal/diff"
)

// showDiff prints plans as patches. What is not patch is comment to git, so
// that the output can be applied as it is.
func (a *app) showDiff(p *plans) error {
	return a.showPlans(p, func(w io.Writer, s style, one planned) {
		for _, g := range one.groups() {
			fmt.Fprintf(w, "%s\n", s.bold(fmt.Sprintf("# %s: %s", g.name(), g.why)))
			for _, c := range g.changes {
				writePatch(w, s, c, one.before[c.Path])
			}
			fmt.Fprintln(w)
		}
	})
}

// showPlans prints what all forms for people have in common: which
// environment, the changes, then the problems, then how much it is.
func (a *app) showPlans(p *plans, changes func(io.Writer, style, planned)) error {
	var out bytes.Buffer
	s := newStyle(a.out)
	for i, one := range p.environments {
		if i > 0 {
			fmt.Fprintln(&out)
		}
		fmt.Fprintf(&out, "%s\n", s.bold("# Environment "+one.title()))
		if len(one.Changes)+len(one.Problems) > 0 {
			fmt.Fprintln(&out)
		}
		changes(&out, s, one)
		for _, problem := range one.Problems {
			writeProblem(&out, s, problem)
		}
		summary := one.summary()
		fmt.Fprintf(&out, "%s\n", sentence(summary.String()))
		if summary.Held {
			removed, of, _ := publish.Removals(one.Plan, one.before)
			fmt.Fprintf(&out, "%s\n", s.warn(fmt.Sprintf("This removes %d of %d assignments: the pull request will be a draft until a person takes the label %s off.", removed, of, forge.LabelMassDelete)))
		}
	}
	if others := p.others(); len(others) > 0 {
		fmt.Fprintf(&out, "\n%s\n\n", s.bold("# Environment objects"))
		for _, problem := range others {
			writeProblem(&out, s, problem)
		}
	}
	_, err := a.out.Write(out.Bytes())
	return err
}

// others are the problems of the Environment objects that no environment has
// shown: their branch often is its base repository too.
func (p *plans) others() []plan.Problem {
	shown := map[string]bool{}
	for _, one := range p.environments {
		for _, problem := range one.Problems {
			shown[problem.Position.String()+problem.Message] = true
		}
	}
	var all []plan.Problem
	for _, d := range p.problems {
		if !shown[d.Position.String()+d.Message] {
			all = append(all, plan.Problem{Severity: d.Severity, Position: d.Position, Message: d.Message, Hint: d.Hint})
		}
	}
	return all
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// title names an environment with the branch that its plan is for.
func (p planned) title() string {
	switch {
	case p.GitOps.Repo == "":
		return p.Environment
	case p.before == nil:
		return p.Environment + " -> " + p.GitOps.String() + ", which is not there yet"
	}
	return p.Environment + " -> " + p.GitOps.String()
}

// writeProblem prints a problem as compilers do, with the hint below.
func writeProblem(w io.Writer, s style, p plan.Problem) {
	severity := s.warn(string(p.Severity))
	if p.Severity == model.Error {
		severity = s.bad(string(p.Severity))
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
		fmt.Fprintf(w, "    %s\n", s.faint(p.Hint))
	}
}

// patch is a change as git writes it.
func patch(c plan.Change, before []byte) string {
	var out strings.Builder
	from, to := "a/"+c.Path, "b/"+c.Path
	fmt.Fprintf(&out, "diff --git %s %s\n", quoted(from), quoted(to))
	switch c.Action {
	case plan.Add:
		out.WriteString("new file mode 100644\n")
		from = "/dev/null"
	case plan.Remove:
		out.WriteString("deleted file mode 100644\n")
		to = "/dev/null"
	}
	_, hunks, ok := bytes.Cut(diff.Diff("a", before, "b", c.Content), []byte("+++ b\n"))
	if ok {
		fmt.Fprintf(&out, "--- %s\n+++ %s\n%s", marked(from), marked(to), hunks)
	}
	return out.String()
}

// quoted is a path as git spells it in a patch.
func quoted(file string) string {
	if strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return strconv.Quote(file)
	}
	return file
}

// marked ends a path with spaces so that no tool takes what follows it for a
// date.
func marked(file string) string {
	if strings.Contains(file, " ") {
		return quoted(file) + "\t"
	}
	return quoted(file)
}

func writePatch(w io.Writer, s style, c plan.Change, before []byte) {
	header := true
	for line := range strings.Lines(patch(c, before)) {
		text, end := strings.TrimSuffix(line, "\n"), "\n"
		switch {
		case strings.HasPrefix(line, "@@"):
			header = false
			text = s.paint("36", text)
		case header:
			text = s.bold(text)
		case line[0] == '+':
			text = s.good(text)
		case line[0] == '-':
			text = s.bad(text)
		}
		fmt.Fprint(w, text, end)
	}
}
