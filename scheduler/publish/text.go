package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// The sizes of the lists of a text, in bytes. Together with the rest of the text
// they stay below the 65,536 characters that GitHub takes;
// Gitea takes more.
const (
	maxTable     = 20_000
	maxKeys      = 6_000
	maxReasons   = 14_000
	maxOther     = 4_000
	maxProblems  = 14_000
	maxCell      = 4_000 // one cell of the table
	maxMessage   = 1_000 // one message, in characters
	commitLength = 40
)

// words makes the texts for one forge.
type words struct {
	link   func(model.Position) (url string, ok bool)
	commit func(cloneURL, commit string) (url string, ok bool)
}

func newWords(f forge.Forge) words {
	if l, ok := f.(Linker); ok {
		return words{link: l.FileURL, commit: l.CommitURL}
	}
	return words{
		link:   func(model.Position) (string, bool) { return "", false },
		commit: func(string, string) (string, bool) { return "", false },
	}
}

// position is the text of a position, as a link where the forge can show it.
func (w words) position(at model.Position) string {
	url, ok := w.link(at)
	return linked(markdown.Code(at.String()), url, ok)
}

// commitOf is a commit of a repository, as a link where the forge can show it.
func (w words) commitOf(cloneURL, commit string) string {
	url, ok := w.commit(cloneURL, commit)
	return linked(markdown.Code(clip(commit, 2*commitLength)), url, ok && len(commit) <= 2*commitLength)
}

func linked(text, url string, ok bool) string {
	if !ok {
		return text
	}
	return "[" + text + "](" + linkable.Replace(markdown.Line(url)) + ")"
}

// linkable keeps a URL from ending a link early.
var linkable = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "|", "%7C")

// body describes a plan to the user who decides about it. The marker is not
// part of it.
func (w words) body(p *plan.Plan, s summary, h hold, kept string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The platform model asks for these changes in environment %s.\n", markdown.Code(p.Environment))
	writeHold(&b, h, s)
	writeKept(&b, kept)
	if s.promotion {
		from := ""
		if s.promotedFrom != "" {
			from = fmt.Sprintf(" (so far %s)", w.commitOf(p.BaseRepo, s.promotedFrom))
		}
		fmt.Fprintf(&b, "\nPromotes commit %s%s.\n", w.commitOf(p.BaseRepo, s.promotedTo), from)
	}
	if len(s.namespaces) > 0 {
		b.WriteString("\n**These namespaces go, with all that is in them**, volumes too:\n\n")
		writeList(&b, maxOther, "namespaces", s.namespaces, func(at pair) string {
			return fmt.Sprintf("- %s on clusters of type %s\n", markdown.Code(at.target), markdown.Code(at.clusterType))
		})
	}
	writeTable(&b, s)
	w.writeKeys(&b, s)
	w.writeReasons(&b, p, s)
	if len(s.other) > 0 {
		b.WriteString("\n### Other files\n\n")
		writeList(&b, maxOther, "files", s.other, func(c plan.Change) string { return fmt.Sprintf("- %s: %s\n", c.Action, markdown.Code(c.Path)) })
	}
	if len(p.Problems) > 0 {
		b.WriteString("\n### Open problems\n\nWhat these concern stays as it is on the branch.\n\n")
		writeList(&b, maxProblems, "problems", p.Problems, w.problemLine)
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
		fmt.Fprintf(b, "\nT%s; a user has released it.\n", share[1:])
	}
}

// writeTable writes what happens per cluster type.
func writeTable(b *strings.Builder, s summary) {
	columns := [3]map[string][]string{{}, {}, {}}
	for i, list := range [][]pair{s.added, s.changed, s.removed} {
		for _, p := range list {
			columns[i][p.clusterType] = append(columns[i][p.clusterType], markdown.Cell(p.target))
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
	writeList(b, maxTable, "cluster types", slices.Compact(types), func(t string) string {
		row := "| " + markdown.Cell(t) + " |"
		for _, column := range columns {
			row += " " + names(column[t], maxCell) + " |"
		}
		return row + "\n"
	})
}

// names is the content of a cell, of at most limit bytes.
func names(list []string, limit int) string {
	var b strings.Builder
	for i, name := range list {
		if b.Len()+len(name) > limit {
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
func (w words) writeReasons(b *strings.Builder, p *plan.Plan, s summary) {
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
	writeList(b, maxReasons, "assignments", touched, func(at pair) string {
		return fmt.Sprintf("| %s | %s | %s |\n", markdown.Cell(at.target), markdown.Cell(at.clusterType), w.reason(p, policies[at], targets[at.target]))
	})
}

// reason is why an assignment is as the plan has it: the policies that
// select it, or what is gone.
func (w words) reason(p *plan.Plan, policies []string, isTarget bool) string {
	cells := make([]string, len(policies))
	for i, policy := range policies {
		at := p.Policies[policy]
		url, ok := w.link(at)
		cells[i] = linked(markdown.Cell(clip(policy, maxMessage/4)), url, ok && at.File != "")
	}
	switch {
	case len(policies) == 1:
		return "policy " + cells[0]
	case len(policies) > 1:
		return "policies " + names(cells, maxMessage)
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
		fmt.Fprintf(&b, "%s on %s: ", markdown.Code(p.Target), markdown.Code(p.ClusterType))
	}
	b.WriteString(message(p.Message))
	if p.Position != (model.Position{}) {
		fmt.Fprintf(&b, " (%s)", w.position(p.Position))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, ". %s", message(p.Hint))
	}
	b.WriteString("\n")
	return b.String()
}

// issueTitle is the title of the issue about an assignment, or about the model.
func issueTitle(environment string, p pair) string {
	if p == wholeModel {
		return fitTitle(markdown.Title(fmt.Sprintf("Can't use all of the platform model in %s environment", environment)))
	}
	return fitTitle(markdown.Title(fmt.Sprintf("Can't generate manifests for deployment target %s in cluster type %s in %s environment",
		p.target, p.clusterType, environment)))
}

var issueTitles = regexp.MustCompile(`^Can't generate manifests for deployment target (\S+) in cluster type (\S+) in (\S+) environment$`)

// pairInTitle is what issueTitle was made of.
func pairInTitle(title string) (environment string, p pair, ok bool) {
	m := issueTitles.FindStringSubmatch(title)
	if m == nil {
		return "", pair{}, false
	}
	return m[3], pair{clusterType: m[2], target: m[1]}, true
}

// findingsDigest identifies what is wrong. Where it stands does not count: a
// line that moves is no news to a user who has closed the issue.
func findingsDigest(problems []plan.Problem) string {
	messages := unique(problems, func(p plan.Problem) string { return p.Message + "\x00" })
	slices.Sort(messages)
	sum := sha256.Sum256([]byte(strings.Join(messages, "")))
	return hex.EncodeToString(sum[:])
}

// The sizes of the lists of an issue, in bytes.
const (
	maxFindings  = 20_000
	maxPositions = 20_000
)

// issueBody describes what is wrong with an assignment, or with the model, and where
// to fix it.
func (w words) issueBody(at pair, problems []plan.Problem) string {
	var b strings.Builder
	if at == wholeModel {
		b.WriteString("What these concern is left out, and what there is of it stays as it is on the branch. All else goes on.\n\n")
		writeList(&b, maxFindings, "problems", problems, w.problemLine)
		return b.String()
	}
	same := func(s string) string { return s }
	section := func(heading string, isOfIt func(plan.Problem) bool) {
		lines := unique(problems, func(p plan.Problem) string {
			if !isOfIt(p) {
				return ""
			}
			return "- " + message(p.Message) + "\n"
		})
		if len(lines) == 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(heading + "\n\n")
		writeList(&b, maxFindings, "findings", lines, same)
	}
	isConfig := func(p plan.Problem) bool { return p.Reason == plan.InvalidConfig }
	section("Config data validation failed:", isConfig)
	section("Generating the manifests failed:", func(p plan.Problem) bool { return !isConfig(p) })
	positions := unique(problems, func(p plan.Problem) string {
		if p.Fix != (model.Position{}) {
			return fmt.Sprintf("- %s: %s (%s asks for it)\n", w.position(p.Fix), message(p.Hint), w.position(p.Position))
		}
		at := p.Position.String()
		switch {
		case at == "" && p.Hint == "":
			return ""
		case at == "":
			return "- " + message(p.Hint) + "\n"
		case p.Hint == "":
			return "- " + w.position(p.Position) + "\n"
		}
		return "- " + w.position(p.Position) + ": " + message(p.Hint) + "\n"
	})
	if len(positions) > 0 {
		b.WriteString("\nWhere to fix it:\n\n")
		writeList(&b, maxPositions, "places", positions, same)
	}
	return b.String()
}

// unique returns one line for each problem, without repetitions.
func unique(problems []plan.Problem, format func(plan.Problem) string) []string {
	var lines []string
	seen := map[string]bool{}
	for _, p := range problems {
		if line := format(p); line != "" && !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	return lines
}

// writeList writes lines of at most limit bytes, and how many more there are of
// what.
func writeList[T any](b *strings.Builder, limit int, what string, list []T, line func(T) string) {
	for i, item := range list {
		text := line(item)
		if limit -= len(text); limit < 0 {
			fmt.Fprintf(b, "\nand %d more %s.\n", len(list)-i, what)
			return
		}
		b.WriteString(text)
	}
}

// clip cuts a text to so many characters, and shows that it did.
func clip(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// message is a text of a bounded length.
func message(s string) string { return markdown.Text(clip(s, maxMessage)) }
