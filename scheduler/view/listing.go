package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// Listing is what get has found.
type Listing struct {
	Kind         *Kind
	Environments []string // those looked at
	Rows         []row
}

// row is one object.
type row struct {
	environment string
	name        string
	cells       []string // the kind's columns
	labels      map[string]string
	position    model.Position
	document    any // for json and yaml
}

// maxNames is how many names are listed to somebody who has named none of them.
const maxNames = 20

// Named keeps the objects of a name. None is an error, as with kubectl:
// scripts ask whether an object is there.
func (l *Listing) Named(name string) (*Listing, error) {
	kept := &Listing{Kind: l.Kind, Environments: l.Environments}
	var names []string
	for _, r := range l.Rows {
		if r.name == name {
			kept.Rows = append(kept.Rows, r)
		}
		names = append(names, r.name)
	}
	if len(kept.Rows) > 0 {
		return kept, nil
	}
	e := &source.Error{Message: fmt.Sprintf("there is no %s %s%s", l.Kind.others[0], name, l.Where())}
	slices.Sort(names)
	names = slices.Compact(names)
	if near := model.Nearest(name, names); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else if n := len(names); n > 0 && n <= maxNames {
		e.Hint = "there is " + strings.Join(names, ", ")
	}
	return nil, e
}

// Where says where was looked.
func (l *Listing) Where() string {
	switch len(l.Environments) {
	case 0:
		return ""
	case 1:
		return " in environment " + l.Environments[0]
	}
	return " in environments " + strings.Join(l.Environments, ", ")
}

func (l *Listing) Documents() []any {
	list := []any{}
	for _, r := range l.Rows {
		list = append(list, r.document)
	}
	return list
}

// Table prints the rows. The environment is a column where there are several.
func (l *Listing) Table(w io.Writer, wide bool) error {
	if len(l.Rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(environment, name string, cells []string, labels, position string) {
		var all []string
		if len(l.Environments) > 1 {
			all = append(all, environment)
		}
		if l.Kind.columns[0] != "CLUSTER TYPE" { // an assignment's name is its first two columns
			all = append(all, name)
		}
		all = append(all, cells...)
		if wide {
			all = append(all, labels, position)
		}
		fmt.Fprintln(t, strings.Join(all, "\t"))
	}
	line("ENVIRONMENT", "NAME", l.Kind.columns, "LABELS", "POSITION")
	for _, r := range l.Rows {
		line(r.environment, r.name, r.cells, labelText(r.labels), r.position.String())
	}
	return t.Flush()
}

// labelText is labels as kubectl prints them.
func labelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return orNone(strings.Join(all, ","))
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
