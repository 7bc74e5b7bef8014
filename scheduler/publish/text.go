package publish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// maxRows bounds every list of a text, so that the text stays within what
// forges accept.
const maxRows = 60

// title words a plan in one line.
func title(environment string, s summary) string {
	var parts []string
	part := func(one, preposition, many string, list []pair) {
		switch len(list) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("%s %s %s %s", one, list[0].target, preposition, list[0].clusterType))
		default:
			parts = append(parts, fmt.Sprintf("%s %d assignments", many, len(list)))
		}
	}
	part("assign", "to", "add", s.added)
	part("update", "on", "update", s.changed)
	part("remove", "from", "remove", s.removed)
	if s.promotion {
		parts = append(parts, "promote "+short(s.promotedTo))
	}
	if len(parts) == 0 {
		parts = foldersTitle(s)
	}
	return fmt.Sprintf("Kalypso: %s: %s", environment, plain(strings.Join(parts, ", ")))
}

func foldersTitle(s summary) []string {
	var parts []string
	part := func(verb string, list []string) {
		switch len(list) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("%s cluster type %s", verb, list[0]))
		default:
			parts = append(parts, fmt.Sprintf("%s %d cluster types", verb, len(list)))
		}
	}
	part("add", s.foldersAdded)
	part("remove", s.foldersRemoved)
	if len(parts) == 0 {
		parts = []string{fmt.Sprintf("change %d files", len(s.other))}
	}
	return parts
}

func short(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}

// body words a plan for the person who decides about it. The marker is not
// part of it.
func body(p *plan.Plan, s summary, h hold) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The platform model asks for these changes in environment **%s**.\n", plain(p.Environment))
	writeHold(&b, h, s)
	if s.promotion {
		from := ""
		if s.promotedFrom != "" {
			from = fmt.Sprintf(" (so far %s)", code(s.promotedFrom))
		}
		fmt.Fprintf(&b, "\nPromotes commit %s%s.\n", code(s.promotedTo), from)
	}
	writeTable(&b, s)
	writeReasons(&b, p, s)
	if len(s.other) > 0 {
		b.WriteString("\n### Other files\n\n")
		writeList(&b, s.other, func(c plan.Change) string { return fmt.Sprintf("- %s: %s\n", c.Action, code(c.Path)) })
	}
	if len(p.Problems) > 0 {
		b.WriteString("\n### Open problems\n\nWhat these concern stays as it is on the branch.\n\n")
		writeList(&b, p.Problems, problemLine)
	}
	b.WriteString("\n")
	return b.String()
}

func writeHold(b *strings.Builder, h hold, s summary) {
	switch h {
	case holdOn:
		fmt.Fprintf(b, "\n> **Held:** this removes %d assignments, more than half of all. Take the label `mass-delete` off to release it.\n", len(s.removed))
	case holdReleased:
		fmt.Fprintf(b, "\nThis removes %d assignments, more than half of all; a person has released it.\n", len(s.removed))
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
	writeList(b, slices.Compact(types), func(t string) string {
		row := "| " + cell(t) + " |"
		for _, column := range columns {
			names := column[t]
			if more := len(names) - maxRows; more > 0 {
				names = append(names[:maxRows:maxRows], fmt.Sprintf("and %d more", more))
			}
			row += " " + strings.Join(names, "<br>") + " |"
		}
		return row + "\n"
	})
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
	writeList(b, touched, func(pr pair) string {
		reason := "no policy selects it any more"
		if names := policies[pr]; len(names) > 0 {
			reason = "policy " + cell(strings.Join(names, ", "))
			if len(names) > 1 {
				reason = "policies " + cell(strings.Join(names, ", "))
			}
		} else if !targets[pr.target] {
			reason = "no workload has this deployment target in this environment any more"
		}
		return fmt.Sprintf("| %s | %s | %s |\n", cell(pr.target), cell(pr.clusterType), reason)
	})
}

func problemLine(p plan.Problem) string {
	var b strings.Builder
	b.WriteString("- ")
	if p.Severity == model.Warning {
		b.WriteString("warning: ")
	}
	if p.Target != "" {
		fmt.Fprintf(&b, "%s on %s: ", code(p.Target), code(p.ClusterType))
	}
	fmt.Fprintf(&b, "%s (%s)", plain(p.Message), code(p.Position.String()))
	if p.Hint != "" {
		fmt.Fprintf(&b, ". %s", plain(p.Hint))
	}
	b.WriteString("\n")
	return b.String()
}

func writeList[T any](b *strings.Builder, list []T, line func(T) string) {
	for i, item := range list {
		if i == maxRows {
			fmt.Fprintf(b, "\nand %d more.\n", len(list)-maxRows)
			return
		}
		b.WriteString(line(item))
	}
}

var flatten = strings.NewReplacer("\r", " ", "\n", " ", "<!--", "&lt;!--", "-->", "--&gt;")

// plain makes one line of a text from the platform model, and keeps it from
// passing for a marker.
func plain(s string) string { return strings.TrimSpace(flatten.Replace(s)) }

// cell is plain text for a table.
func cell(s string) string { return strings.ReplaceAll(plain(s), "|", `\|`) }

// code is plain text shown as it is.
func code(s string) string { return "`" + strings.ReplaceAll(plain(s), "`", "'") + "`" }
