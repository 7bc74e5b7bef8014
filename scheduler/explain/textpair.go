package explain

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
)

// maxValueLines bounds how much of one value a text shows.
const maxValueLines = 12

func (t *text) pair(p *Pair) {
	switch {
	case !p.Assigned:
		t.section("The rest is what it would get there if a policy assigned it.")
	case len(t.e.Target.Twins) > 0:
		t.section("The rest is what it would get there if it had its name alone.")
	}
	t.problems("Problems it would have", p.Problems)
	t.config(p)
	t.labelled("ConfigMaps", p.ConfigMaps)
	t.schemas(p)
	t.templates(p.Templates)
	t.files(p.Files)
}

func (t *text) config(p *Pair) {
	matching := 0
	for _, c := range p.ConfigMaps {
		if c.Matches {
			matching++
		}
	}
	t.section("Configuration: %s from %d of %s", clause.Count(len(p.Config), "value"), matching, clause.Count(len(p.ConfigMaps), "ConfigMap"))
	for _, v := range p.Config {
		t.value(2, v.Key+" = ", v.Value)
		t.sources(v)
	}
}

// value writes a value behind a lead, one of several lines below it.
func (t *text) value(indent int, lead, value string) {
	lines := strings.Split(strings.TrimSuffix(value, "\n"), "\n")
	if len(lines) == 1 {
		t.line(indent, indent, cut(lead+lines[0], width-indent))
		return
	}
	if lead = strings.TrimRight(lead, " "); lead != "" {
		t.line(indent, indent, lead)
		indent += 2
	}
	for i, line := range lines {
		if i == maxValueLines {
			t.line(indent, indent, "| and "+clause.Count(len(lines)-i, "more line"))
			return
		}
		t.line(indent, indent, cut("| "+line, width-indent))
	}
}

// cut shortens a line and says so.
func cut(line string, limit int) string {
	line = visible(line)
	n := utf8.RuneCountInString(line)
	if n <= limit {
		return line
	}
	note := "… (" + clause.Count(n, "character") + ")"
	return string([]rune(line)[:limit-utf8.RuneCountInString(note)]) + note
}

// sources writes where a value comes from, the last source first, and what it
// has taken away.
func (t *text) sources(v Value) {
	words := map[Role]string{Decides: "from  ", Merged: "with  ", Repeated: "like  ", Overridden: "over  "}
	var names []string
	for _, s := range v.Sources {
		names = append(names, s.ConfigMap)
	}
	w := column(names)
	for _, s := range slices.Backward(v.Sources) {
		t.line(6, 12, words[s.Role]+pad(s.ConfigMap, w)+t.at(s.Place))
		if s.Role == Overridden {
			t.value(12, "", s.Value)
		}
	}
	for _, part := range slices.Backward(v.Parts) {
		t.line(6, 12, words[Overridden]+pad(part.ConfigMap, w)+t.at(part.Place))
		t.value(12, part.Path+" = ", part.Value)
	}
}

// labelled writes which objects match by their labels, and the first label of
// each other that does not fit.
func (t *text) labelled(title string, all []Labelled) {
	if len(all) == 0 {
		return
	}
	t.section("%s", title)
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
	}
	w := column(names)
	for _, l := range all {
		if fail := failing(l.Clauses); len(fail) > 0 {
			t.firstMiss("  no   "+pad(l.Name, w), fail[0].Place, fail[0].Miss)
			continue
		}
		wants := make([]string, len(l.Clauses))
		for i, clause := range l.Clauses {
			wants[i] = clause.Text
		}
		if len(wants) == 0 {
			wants = []string{"everywhere"}
		}
		t.line(2, detail+w, "yes  "+pad(l.Name, w)+strings.Join(wants, ", "))
		if len(l.Ignored) > 0 {
			t.line(detail, detail+2, "does not count: "+strings.Join(l.Ignored, ", "))
		}
		for _, key := range l.Keys {
			t.firstMiss("       no key "+key.Field+"  ", key.Place, &key.Miss)
		}
	}
}

// firstMiss writes a miss, and both of its places only if they look like a
// mistake: most ConfigMaps are meant for other pairs.
func (t *text) firstMiss(lead string, wanted Position, m *Miss) {
	short := *m
	if short.Nearest == "" {
		short.Found, short.Add = nil, nil
	}
	t.miss(lead, wanted, &short)
}

func (t *text) schemas(p *Pair) {
	if len(p.Schemas) == 0 {
		t.section("Schemas: none applies")
	} else {
		t.section("Schemas")
	}
	var names []string
	for _, s := range p.Schemas {
		names = append(names, s.Of)
	}
	w := column(names)
	for _, s := range p.Schemas {
		verdict := "holds  "
		if len(s.Findings) > 0 {
			verdict = "fails  "
		}
		t.line(2, detail, verdict+pad(s.Of, w)+t.at(s.Place))
		for _, finding := range s.Findings {
			t.message(detail, detail+2, finding)
		}
	}
	t.labelled("Schemas that do not apply", p.OtherSchemas)
}

func (t *text) templates(all []Template) {
	t.section("Templates")
	var files, names []string
	for _, u := range all {
		files, names = append(files, u.File), append(names, u.Name)
	}
	wf, wn := column(files), column(names)
	for _, u := range all {
		if u.Place != nil {
			t.line(2, 4+wf, pad(u.File, wf)+pad(u.Name, wn)+t.at(*u.Place))
			continue
		}
		t.line(2, 4+wf, pad(u.File, wf)+pad(u.Name, wn)+"is not there; named at "+t.at(u.NamedBy))
	}
}

func (t *text) files(all []File) {
	if len(all) == 0 {
		t.section("Files: none")
		return
	}
	t.section("Files in %s", t.at(t.e.GitOps))
	for _, f := range all {
		t.line(2, 10, pad(f.Action, len("modify"))+f.Path)
	}
}
