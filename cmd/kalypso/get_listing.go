package main

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

// listing is what get has found.
type listing struct {
	kind         *kind
	environments []string // those looked at
	rows         []row
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

// named keeps the objects of a name. None is an error, as with kubectl:
// scripts ask whether an object is there.
func (l *listing) named(name string) (*listing, error) {
	kept := &listing{kind: l.kind, environments: l.environments}
	var names []string
	for _, r := range l.rows {
		if r.name == name {
			kept.rows = append(kept.rows, r)
		}
		names = append(names, r.name)
	}
	if len(kept.rows) > 0 {
		return kept, nil
	}
	e := &source.Error{Message: fmt.Sprintf("there is no %s %s%s", l.kind.others[0], name, l.where())}
	slices.Sort(names)
	names = slices.Compact(names)
	if near := model.Nearest(name, names); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else if n := len(names); n > 0 && n <= maxNames {
		e.Hint = "there is " + strings.Join(names, ", ")
	}
	return nil, e
}

// where says where was looked.
func (l *listing) where() string {
	switch len(l.environments) {
	case 0:
		return ""
	case 1:
		return " in environment " + l.environments[0]
	}
	return " in environments " + strings.Join(l.environments, ", ")
}

func (l *listing) documents() []any {
	list := []any{}
	for _, r := range l.rows {
		list = append(list, r.document)
	}
	return list
}

// table prints the rows. The environment is a column where there are several.
func (l *listing) table(w io.Writer, wide bool) error {
	if len(l.rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(environment, name string, cells []string, labels, position string) {
		var all []string
		if len(l.environments) > 1 {
			all = append(all, environment)
		}
		if l.kind.columns[0] != "CLUSTER TYPE" { // an assignment's name is its first two columns
			all = append(all, name)
		}
		all = append(all, cells...)
		if wide {
			all = append(all, labels, position)
		}
		fmt.Fprintln(t, strings.Join(all, "\t"))
	}
	line("ENVIRONMENT", "NAME", l.kind.columns, "LABELS", "POSITION")
	for _, r := range l.rows {
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
