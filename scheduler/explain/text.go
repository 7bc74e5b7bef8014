package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
)

// maxErrors bounds how many errors of the environment a text lists.
const maxErrors = 10

// Text is the explanation for users: what comes of the target first, then
// why. It is made for a terminal of 100 columns. Places in the environment's
// own branch are written without repository and branch. JSON has some things
// that the text leaves out: all clauses of every cluster type above all.
func (e *Explanation) Text() string {
	t := &text{e: e}
	t.summary()
	leftOut := "Left out of " + e.Environment + " because of errors"
	if len(e.Assigned) == 0 { // it may be what would assign the target
		t.errors(leftOut, e.LeftOut)
	}
	t.nearest()
	t.problems("Problems", e.Problems)
	t.objects()
	t.policies()
	if e.Pair != nil {
		t.pair(e.Pair)
	}
	if len(e.Assigned) > 0 {
		t.errors(leftOut, e.LeftOut)
	}
	return t.String()
}

type text struct {
	page
	e *Explanation
}

// at writes a place: file:line:column, after repository@branch: where that is
// not the environment's own.
func (t *text) at(p Position) string {
	own := p.Repo == t.e.ControlPlane.Repo && p.Branch == t.e.ControlPlane.Branch
	if own && p.File != "" {
		p.Repo, p.Branch = "", ""
	}
	s := p.String()
	if p.Column > 0 {
		s += ":" + number(p.Column)
	}
	return s
}

func (t *text) summary() {
	e := t.e
	switch {
	case e.ClusterType != nil && len(e.Assigned) > 0:
		t.section("%s is assigned to %s in %s by %s.", e.Target.Name, e.ClusterType.Name, e.Environment, and(e.Assigned[0].Policies))
	case e.ClusterType != nil:
		t.section("%s is not assigned to %s in %s.", e.Target.Name, e.ClusterType.Name, e.Environment)
	case len(e.Assigned) > 0:
		t.section("%s is assigned to %d of %s in %s.", e.Target.Name, len(e.Assigned), clause.Count(e.ClusterTypes, "cluster type"), e.Environment)
		t.WriteByte('\n')
		var names []string
		for _, a := range e.Assigned {
			names = append(names, a.ClusterType)
		}
		w := column(names)
		for _, a := range e.Assigned {
			t.line(2, 4+w, pad(a.ClusterType, w)+"by "+and(a.Policies))
		}
	default:
		t.section("%s is assigned to no cluster type in %s.", e.Target.Name, e.Environment)
	}
	if len(e.Assigned) == 0 {
		t.nothing()
	}
	for _, twin := range e.Target.Twins {
		t.line(0, 0, fmt.Sprintf("Another target has its name, at %s; until one is renamed neither gets anything.", t.at(twin)))
	}
}

// nothing says what an environment lacks in which nothing can be assigned.
func (t *text) nothing() {
	if len(t.e.Policies) == 0 {
		t.line(0, 0, "There is no SchedulingPolicy in "+t.e.Environment+".")
	}
	if t.e.ClusterTypes == 0 {
		t.line(0, 0, "There is no ClusterType in "+t.e.Environment+".")
	}
}

func (t *text) nearest() {
	n := t.e.Nearest
	if n == nil {
		return
	}
	t.section("Nearest miss: policy %s on cluster type %s, %s", n.Policy, n.ClusterType, fails(len(n.Fails)))
	for _, clause := range n.Fails {
		t.miss("  fails  ", clause.Place, clause.Miss)
	}
}

// detail is the column of what explains a line that begins with a verdict.
const detail = 9

// miss writes why a clause fails: the reason after a lead, what was likely
// meant, and both places.
func (t *text) miss(lead string, wanted Position, m *Miss) {
	if utf8.RuneCountInString(lead) > width/2 {
		t.line(0, detail, strings.TrimRight(lead, " "))
		t.line(detail, detail+2, m.Reason)
	} else {
		t.line(0, max(detail, utf8.RuneCountInString(lead))+2, lead+m.Reason)
	}
	if m.Hint != "" {
		t.line(detail, detail+2, m.Hint)
	}
	t.line(detail, detail, "wanted at  "+t.at(wanted))
	switch {
	case m.Found != nil:
		t.line(detail, detail, "found at   "+t.at(*m.Found))
	case m.Add != nil:
		t.line(detail, detail, "add it at  "+t.at(*m.Add))
	}
}

// objects says what is explained, and by which labels it can be selected.
func (t *text) objects() {
	target := t.e.Target
	t.section("Target")
	t.line(2, 13, "workload   "+target.Workload)
	t.line(2, 13, "workspace  "+target.Workspace)
	t.line(2, 13, "labels     "+labelList(target.Labels))
	t.line(2, 13, "place      "+t.at(target.Place))
	if c := t.e.ClusterType; c != nil {
		t.section("Cluster type %s", c.Name)
		t.line(2, 13, "labels     "+labelList(c.Labels))
		t.line(2, 13, "place      "+t.at(c.Place))
	}
}

func (t *text) problems(title string, problems []Problem) {
	if len(problems) == 0 {
		return
	}
	t.section("%s", title)
	for _, p := range problems {
		message := p.Message
		if p.ClusterType != "" && t.e.ClusterType == nil {
			message = "on " + p.ClusterType + ": " + message
		}
		t.message(2, detail+2, pad(p.Severity, len("error"))+message)
		if p.Hint != "" {
			t.message(detail, detail+2, p.Hint)
		}
		t.line(detail, detail, "at  "+t.at(p.Place))
	}
}

// errors writes problems that may be many.
func (t *text) errors(title string, all []Problem) {
	t.problems(title, all[:min(len(all), maxErrors)])
	if rest := len(all) - maxErrors; rest > 0 {
		t.line(2, 2, fmt.Sprintf("and %d more", rest))
	}
}

func labelList(labels map[string]string) string {
	if len(labels) == 0 {
		return "none"
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+shown(labels[key]))
	}
	return strings.Join(all, ", ")
}

func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// maxPolicies bounds how many policies a text takes apart that do not assign
// what it is about. Of the others it has the first clause that fails.
const maxPolicies = 10

func (t *text) policies() {
	full := 0
	var rest []Policy
	var names []string
	for _, p := range t.e.Policies {
		// One that selects the target alone is always worth a look, unless the
		// question is about one of many cluster types that it does not select.
		if p.rank() == 2 || p.rank() == 1 && t.e.ClusterType != nil {
			if full++; full > maxPolicies {
				rest, names = append(rest, p), append(names, p.Name)
				continue
			}
		}
		t.policy(p)
	}
	if len(rest) == 0 {
		return
	}
	t.section("Other policies that do not assign it (%d)", len(rest))
	w := column(names)
	for _, p := range rest {
		clauses := p.Clauses
		if p.SelectsTarget {
			clauses = p.ClusterTypes[0].Clauses
		}
		first := failing(clauses)[0]
		t.firstMiss("  no   "+pad(p.Name, w), first.Place, first.Miss)
	}
}

func (t *text) policy(p Policy) {
	selected := p.selected()
	switch c := t.e.ClusterType; {
	case c != nil && p.SelectsTarget && selected > 0:
		t.section("Policy %s selects the target and %s", p.Name, c.Name)
	case c != nil && p.SelectsTarget:
		t.section("Policy %s selects the target, but not %s", p.Name, c.Name)
	case c != nil && selected > 0:
		t.section("Policy %s selects %s, but not the target", p.Name, c.Name)
	case c != nil:
		t.section("Policy %s selects neither the target nor %s", p.Name, c.Name)
	case p.SelectsTarget:
		t.section("Policy %s selects the target and %d of %s", p.Name, selected, clause.Count(t.e.ClusterTypes, "cluster type"))
	default:
		t.section("Policy %s does not select the target", p.Name)
	}
	t.line(2, 2, "at     "+t.at(p.Place))
	t.clauses("target", p.Clauses)
	switch {
	case t.e.ClusterType != nil:
		t.clauses("cluster type", p.ClusterTypes[0].Clauses)
	case p.SelectsTarget && len(p.ClusterTypes) > 0:
		t.WriteByte('\n')
		t.verdicts(p.ClusterTypes)
	}
}

// clauses writes what a policy wants of an object. The word for the object is
// needed only where the text speaks of two.
func (t *text) clauses(object string, clauses []Clause) {
	if len(clauses) == 0 {
		t.line(2, detail, "holds  any "+object)
	}
	of := ""
	if t.e.ClusterType != nil {
		of = object + ": "
	}
	for _, clause := range clauses {
		if clause.Holds {
			holds := "holds  " + of + clause.Text
			if has := hasOf(subject{word: object}, clause.Values); has != "" {
				holds += ", " + has
			}
			t.line(2, detail, holds)
			continue
		}
		t.miss("  fails  ", clause.Place, clause.Miss)
	}
}

// verdicts lists cluster types, each that is not selected with the first
// clause that fails.
func (t *text) verdicts(verdicts []Verdict) {
	var names []string
	for _, v := range verdicts {
		names = append(names, v.ClusterType)
	}
	w := column(names)
	hint := "" // one that all share is said once
	for _, v := range verdicts {
		if v.Selected {
			t.line(2, 2, "yes  "+v.ClusterType)
			continue
		}
		fail := failing(v.Clauses)
		first := *fail[0].Miss
		switch more := len(fail) - 1; more {
		case 0:
		case 1:
			first.Reason += "; 1 more fails"
		default:
			first.Reason += "; " + number(more) + " more fail"
		}
		if first.Hint == hint {
			first.Hint = ""
		} else {
			hint = first.Hint
		}
		t.miss("  no   "+pad(v.ClusterType, w), fail[0].Place, &first)
	}
}
