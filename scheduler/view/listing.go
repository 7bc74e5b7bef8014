package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// Kind is something that get can list.
type Kind struct {
	Name         string   // plural
	others       []string // singular first, then short and long names
	columns      []string // beside the name
	Environments bool     // lists environments instead of what is in them
	Planned      bool     // Rows needs a plan, else only the model
	Clusters     bool     // lists what is on clusters, see ClusterRows
	Hub          bool     // a hub knows it, and no file says it
	Rows         func(Plan) []Row
	ofPlacements func([]placement.Placement, time.Time) []Row
	wide         []string // columns of the wide table, in place of labels and position
}

// Kinds are all kinds, in the order in which help lists them.
func Kinds() []*Kind {
	return []*Kind{
		{Name: "environments", others: []string{"environment", "env"}, columns: []string{"REPOSITORY", "BRANCH", "PATH"}, Environments: true},
		{Name: "clustertypes", others: []string{"clustertype", "ct"}, columns: []string{"RECONCILER", "NAMESPACE", "CONFIG", "TARGETS"}, Planned: true, Rows: clusterTypeRows},
		{Name: "workloads", others: []string{"workload", "wl"}, columns: []string{"WORKSPACE", "TARGETS"}, Rows: workloadRows},
		{Name: "registrations", others: []string{"registration", "wr", "workloadregistrations", "workloadregistration"}, columns: []string{"WORKSPACE", "REPOSITORY", "BRANCH", "PATH"}, Rows: registrationRows},
		{Name: "targets", others: []string{"target", "dt", "deploymenttargets", "deploymenttarget"}, columns: []string{"WORKLOAD", "WORKSPACE", "CLUSTER TYPES"}, Planned: true, Rows: targetRows},
		{Name: "policies", others: []string{"policy", "sp", "schedulingpolicies", "schedulingpolicy"}, columns: []string{"WORKSPACE", "TARGETS", "CLUSTER TYPES", "ASSIGNMENTS"}, Planned: true, Rows: policyRows},
		{Name: "assignments", others: []string{"assignment", "as"}, columns: []string{"CLUSTER TYPE", "TARGET", "POLICIES", "CONFIG", "PROBLEMS"}, Planned: true, Rows: assignmentRows},
		{Name: "placements", others: []string{"placement", "pl"}, columns: []string{"CLUSTER", "CLUSTER TYPE", "TARGET", "DESIRED", "ACTUAL", "STATE", "SINCE", "REASON"}, Clusters: true, ofPlacements: placementRows},
		{Name: "drift", others: []string{"drift group", "dr"}, columns: []string{"STATE", "SINCE", "CLUSTERS", "PLACEMENTS", "REASON"}, wide: []string{"ON", "TARGETS"}, Clusters: true, ofPlacements: driftRows},
		{Name: "changes", others: []string{"change", "chg"}, columns: []string{"ENVIRONMENT", "KIND", "STATE", "REACHED", "AGE", "AUTHOR", "TITLE"}, wide: []string{"REASON", "URL"}, Hub: true},
		{Name: "rollouts", others: []string{"rollout", "ro"}, columns: []string{"CLUSTER TYPE", "WAVES", "MAX FAILURES"}, Rows: rolloutRows},
		{Name: "configs", others: []string{"config", "cm", "configmaps", "configmap"}, columns: []string{"FOR", "KEYS"}, Rows: configRows},
		{Name: "schemas", others: []string{"schema", "cs", "configschemas", "configschema"}, columns: []string{"FOR"}, Rows: schemaRows},
		{Name: "templates", others: []string{"template", "tpl"}, columns: []string{"TYPE", "CONTENT"}, Rows: templateRows},
	}
}

func KindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

func KindsHelp() string {
	var lines []string
	for _, k := range Kinds() {
		lines = append(lines, fmt.Sprintf("  %-14s %s", k.Name, strings.Join(k.others[1:], ", ")))
	}
	return strings.Join(lines, "\n")
}

// FindKind returns the kind of any of its names.
func FindKind(name string) (*Kind, error) {
	asked := strings.ToLower(name)
	var all []string
	for _, k := range Kinds() {
		if k.Name == asked || slices.Contains(k.others, asked) {
			return k, nil
		}
		all = append(append(all, k.Name), k.others...)
	}
	message := fmt.Sprintf("there is no kind %q", name)
	if near := model.Nearest(asked, all); near != "" {
		message += fmt.Sprintf(", did you mean %s?", near)
	}
	return nil, usage.New(message + "\nThere is " + strings.Join(KindNames(), ", ") + ".")
}

// Listing is what get has found.
type Listing struct {
	Kind         *Kind
	Environments []string // those looked at
	Rows         []Row
}

// Row is one object, as a line of a table and as a document for scripts.
type Row struct {
	Environment string
	Name        string
	Cells       []string // the kind's columns
	Labels      map[string]string
	Position    model.Position
	Wide        []string // of a kind that has these in place of labels and position
	Document    any      // for json and yaml
}

// maxNames is how many names an error lists that none of them was given.
const maxNames = 20

// Named keeps the objects of a name. None is an error, as with kubectl:
// scripts ask whether an object is there.
func (l *Listing) Named(name string) (*Listing, error) {
	kept := &Listing{Kind: l.Kind, Environments: l.Environments}
	var names []string
	for _, r := range l.Rows {
		if r.Name == name {
			kept.Rows = append(kept.Rows, r)
		}
		names = append(names, r.Name)
	}
	if len(kept.Rows) > 0 {
		return kept, nil
	}
	e := &source.Error{Message: fmt.Sprintf("there is no %s %s%s", l.Kind.others[0], name, l.Where())}
	slices.Sort(names)
	names = slices.Compact(names)
	if n := len(names); n > 0 && n <= maxNames {
		e.Hint = "there is " + strings.Join(names, ", ")
	}
	e.Hint = model.Suggest(name, names, e.Hint)
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
		list = append(list, r.Document)
	}
	return list
}

// Table prints the rows. The environment is a column where there are several.
func (l *Listing) Table(w io.Writer, wide bool) error {
	if len(l.Rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(environment, name string, cells []string, more ...string) {
		var all []string
		if len(l.Environments) > 1 {
			all = append(all, environment)
		}
		if l.Kind.columns[0] != "CLUSTER TYPE" && !l.Kind.Clusters { // the names of these are among the columns
			all = append(all, name)
		}
		all = append(all, cells...)
		if wide {
			all = append(all, more...)
		}
		fmt.Fprintln(t, strings.Join(all, "\t"))
	}
	if l.Kind.wide != nil {
		line("ENVIRONMENT", "NAME", l.Kind.columns, l.Kind.wide...)
	} else {
		line("ENVIRONMENT", "NAME", l.Kind.columns, "LABELS", "POSITION")
	}
	for _, r := range l.Rows {
		if r.Wide != nil {
			line(r.Environment, r.Name, r.Cells, r.Wide...)
		} else {
			line(r.Environment, r.Name, r.Cells, labelText(r.Labels), r.Position.String())
		}
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
