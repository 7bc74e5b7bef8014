package publish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// The rooms that the lists of a text may fill, in bytes. Together with what
// stands around them they stay below the 65,536 characters that GitHub takes;
// Gitea takes more.
const (
	roomTable    = 26_000
	roomReasons  = 14_000
	roomOther    = 4_000
	roomProblems = 14_000
	roomCell     = 4_000 // one cell of the table
	maxMessage   = 1_000 // one message, in characters
	commitLength = 40
)

// words makes the texts for one forge.
type words struct {
	link func(model.Position) (url string, ok bool)
}

func newWords(f forge.Forge) words {
	if l, ok := f.(Linker); ok {
		return words{link: l.FileURL}
	}
	return words{link: func(model.Position) (string, bool) { return "", false }}
}

// place words a position, as a link where the forge can show it.
func (w words) place(at model.Position) string {
	url, ok := w.link(at)
	if !ok {
		return code(at.String())
	}
	return "[" + code(at.String()) + "](" + linkable.Replace(plain(url)) + ")"
}

// linkable keeps a URL from ending a link early.
var linkable = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20")

// body words a plan for the person who decides about it. The marker is not
// part of it.
func (w words) body(p *plan.Plan, s summary, h hold) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The platform model asks for these changes in environment **%s**.\n", plain(p.Environment))
	writeHold(&b, h, s)
	if s.promotion {
		from := ""
		if s.promotedFrom != "" {
			from = fmt.Sprintf(" (so far %s)", code(clip(s.promotedFrom, 2*commitLength)))
		}
		fmt.Fprintf(&b, "\nPromotes commit %s%s.\n", code(clip(s.promotedTo, 2*commitLength)), from)
	}
	writeTable(&b, s)
	writeReasons(&b, p, s)
	if len(s.other) > 0 {
		b.WriteString("\n### Other files\n\n")
		writeList(&b, roomOther, "files", s.other, func(c plan.Change) string { return fmt.Sprintf("- %s: %s\n", c.Action, code(c.Path)) })
	}
	if len(p.Problems) > 0 {
		b.WriteString("\n### Open problems\n\nWhat these concern stays as it is on the branch.\n\n")
		writeList(&b, roomProblems, "problems", p.Problems, w.problemLine)
	}
	b.WriteString("\n")
	return b.String()
}

func writeHold(b *strings.Builder, h hold, s summary) {
	share := fmt.Sprintf("this removes %d of %d assignments", len(s.removed), s.existing)
	switch h {
	case holdOn:
		fmt.Fprintf(b, "\n> **Held:** %s. Take the label `%s` off to release it.\n", share, forge.LabelMassDelete)
	case holdReleased:
		fmt.Fprintf(b, "\nT%s; a person has released it.\n", share[1:])
	}
}

// writeTable writes what happens per cluster type.
func writeTable(b *strings.Builder, s summary) {
	columns := [3]map[string][]string{{}, {}, {}}
	for i, list := range [][]pair{s.added, s.changed, s.removed} {
		for _, p := range list {
			columns[i][p.clusterType] = append(columns[i][p.clusterType], cell(p.target))
		}
	}
	for _, f := range s.foldersAdded {
		columns[0][f] = append([]string{"(cluster type)"}, columns[0][f]...)
	}
	for _, f := range s.foldersRemoved {
		columns[2][f] = append([]string{"(cluster type)"}, columns[2][f]...)
	}
	var types []string
	for _, column := range columns {
		for t := range column {
			types = append(types, t)
		}
	}
	if len(types) == 0 {
		return
	}
	slices.Sort(types)
	b.WriteString("\n| Cluster type | Added | Changed | Removed |\n| --- | --- | --- | --- |\n")
	writeList(b, roomTable, "cluster types", slices.Compact(types), func(t string) string {
		row := "| " + cell(t) + " |"
		for _, column := range columns {
			row += " " + names(column[t]) + " |"
		}
		return row + "\n"
	})
}

// names words the content of a cell.
func names(list []string) string {
	var b strings.Builder
	for i, name := range list {
		if b.Len()+len(name) > roomCell {
			fmt.Fprintf(&b, "<br>and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString("<br>")
		}
		b.WriteString(name)
	}
	return b.String()
}

// writeReasons writes why: which policies select an assignment, or that none
// does any more.
func writeReasons(b *strings.Builder, p *plan.Plan, s summary) {
	policies := map[pair][]string{}
	for _, a := range p.Assignments {
		policies[pair{a.ClusterType, a.Target}] = a.Policies
	}
	targets := map[string]bool{}
	for _, t := range p.Targets {
		targets[t.Name] = true
	}
	touched := slices.SortedFunc(slices.Values(slices.Concat(s.added, s.changed, s.removed)), comparePairs)
	if len(touched) == 0 {
		return
	}
	b.WriteString("\n### Why\n\n| Deployment target | Cluster type | Reason |\n| --- | --- | --- |\n")
	writeList(b, roomReasons, "assignments", touched, func(at pair) string {
		return fmt.Sprintf("| %s | %s | %s |\n", cell(at.target), cell(at.clusterType), reason(policies[at], targets[at.target]))
	})
}

// reason words why an assignment is as the plan has it: the policies that
// select it, or what is gone.
func reason(policies []string, isTarget bool) string {
	switch {
	case len(policies) == 1:
		return "policy " + clip(cell(policies[0]), maxMessage)
	case len(policies) > 1:
		return "policies " + clip(cell(strings.Join(policies, ", ")), maxMessage)
	case !isTarget:
		return "no workload has this deployment target in this environment any more"
	}
	return "no policy selects it any more"
}

func (w words) problemLine(p plan.Problem) string {
	var b strings.Builder
	b.WriteString("- ")
	if p.Severity == model.Warning {
		b.WriteString("warning: ")
	}
	if p.Target != "" {
		fmt.Fprintf(&b, "%s on %s: ", code(p.Target), code(p.ClusterType))
	}
	b.WriteString(message(p.Message))
	if p.Position != (model.Position{}) {
		fmt.Fprintf(&b, " (%s)", w.place(p.Position))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, ". %s", message(p.Hint))
	}
	b.WriteString("\n")
	return b.String()
}
