package publish

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// marker is the comment at the end of a text of the scheduler's by which the
// text is recognised. A browser does not show it:
//
//	<!-- kalypso:plan sha256=4a1f... environment=dev -->
//
// The digest says which plan or finding the text was written for. A user
// who closes a pull request or an issue leaves the digest in it, and so has
// answered to that plan or finding; the scheduler takes the digest out when
// it closes something itself.
type marker struct {
	kind        string
	sha256      string
	environment string
	clusterType string
	target      string
	base        string // the commit that the pull request's branch was made on
	hold        hold
	removals    string // what the hold is about
	owner       string // the control plane that the plan is of
	kept        string // branches with commits of others, comma-separated
	source      string // what was planned, comma-separated, see sources
}

const (
	planMarker    = "plan"
	problemMarker = "problem"
)

// fields lists what a marker holds, in the order it is written.
func (m *marker) fields() []field {
	return []field{
		{"sha256", &m.sha256},
		{"environment", &m.environment},
		{"cluster-type", &m.clusterType},
		{"target", &m.target},
		{"base", &m.base},
		{"hold", (*string)(&m.hold)},
		{"removals", &m.removals},
		{"control-plane", &m.owner},
		{"kept", &m.kept},
		{"source", &m.source},
	}
}

type field struct {
	name  string
	value *string
}

func (m marker) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- kalypso:%s", m.kind)
	for _, f := range m.fields() {
		if *f.value != "" {
			fmt.Fprintf(&b, " %s=%s", f.name, strings.ReplaceAll(url.QueryEscape(*f.value), "--", "-%2D"))
		}
	}
	b.WriteString(" -->\n")
	return b.String()
}

var markers = regexp.MustCompile(`(?m)^<!-- kalypso:([a-z]+)((?: [a-z0-9-]+=[^ \r\n]*)*) -->\r?$`)

// findMarker returns the last marker of a kind in a text, zero when there is
// none. Nothing else that the scheduler writes can look like one, see plain.
func findMarker(text, kind string) marker {
	m := marker{}
	for _, match := range markers.FindAllStringSubmatch(text, -1) {
		if match[1] != kind {
			continue
		}
		m = marker{kind: kind}
		values := map[string]string{}
		for pair := range strings.FieldsSeq(match[2]) {
			name, value, _ := strings.Cut(pair, "=")
			if value, err := url.QueryUnescape(value); err == nil {
				values[name] = value
			}
		}
		for _, f := range m.fields() {
			*f.value = values[f.name]
		}
	}
	return m
}

// replaceIn returns a text with m in place of all markers of its kind.
func (m marker) replaceIn(text string) string {
	text = markers.ReplaceAllStringFunc(text, func(found string) string {
		if markers.FindStringSubmatch(found)[1] == m.kind {
			return ""
		}
		return found
	})
	return strings.TrimRight(text, "\r\n") + "\n\n" + m.String()
}
