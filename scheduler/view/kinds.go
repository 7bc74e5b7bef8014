package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Kind is something that get can list.
type Kind struct {
	Name         string   // plural
	others       []string // singular first, then short and long names
	columns      []string // beside the name
	Environments bool     // lists environments instead of what is in them
	Rows         func(*model.Environment) []row
	Planned      func(Plan) []row // instead of rows, for what only a plan knows
}

// Kinds are all kinds, in the order in which help lists them.
func Kinds() []*Kind {
	return []*Kind{
		{Name: "environments", others: []string{"environment", "env"}, columns: []string{"REPOSITORY", "BRANCH", "PATH"}, Environments: true},
		{Name: "clustertypes", others: []string{"clustertype", "ct"}, columns: []string{"RECONCILER", "NAMESPACE", "CONFIG", "TARGETS"}, Planned: clusterTypeRows},
		{Name: "workloads", others: []string{"workload", "wl"}, columns: []string{"WORKSPACE", "TARGETS"}, Rows: workloadRows},
		{Name: "registrations", others: []string{"registration", "wr", "workloadregistrations", "workloadregistration"}, columns: []string{"WORKSPACE", "REPOSITORY", "BRANCH", "PATH"}, Rows: registrationRows},
		{Name: "targets", others: []string{"target", "dt", "deploymenttargets", "deploymenttarget"}, columns: []string{"WORKLOAD", "WORKSPACE", "CLUSTER TYPES"}, Planned: targetRows},
		{Name: "policies", others: []string{"policy", "sp", "schedulingpolicies", "schedulingpolicy"}, columns: []string{"WORKSPACE", "TARGETS", "CLUSTER TYPES", "ASSIGNMENTS"}, Planned: policyRows},
		{Name: "assignments", others: []string{"assignment", "as"}, columns: []string{"CLUSTER TYPE", "TARGET", "POLICIES", "CONFIG", "PROBLEMS"}, Planned: assignmentRows},
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
