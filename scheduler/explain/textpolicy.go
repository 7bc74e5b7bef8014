package explain

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

// policy writes what a policy makes of the target and the cluster types.
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
		t.section("Policy %s selects the target and %d of %s", p.Name, selected, count(t.e.ClusterTypes, "cluster type"))
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
			t.line(2, detail, "holds  "+of+clause.Text)
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
