package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// kind is something that get can list.
type kind struct {
	name         string   // plural
	others       []string // singular first, then short and long names
	columns      []string // beside the name
	environments bool     // lists environments instead of what is in them
	rows         func(*model.Environment) []row
	planned      func(planned) []row // instead of rows, for what only a plan knows
}

// kinds are all kinds, in the order in which help lists them.
func kinds() []*kind {
	return []*kind{
		{name: "environments", others: []string{"environment", "env"}, columns: []string{"REPOSITORY", "BRANCH", "PATH"}, environments: true},
		{name: "clustertypes", others: []string{"clustertype", "ct"}, columns: []string{"RECONCILER", "NAMESPACE", "CONFIG", "TARGETS"}, planned: clusterTypeRows},
		{name: "workloads", others: []string{"workload", "wl"}, columns: []string{"WORKSPACE", "TARGETS"}, rows: workloadRows},
		{name: "registrations", others: []string{"registration", "wr", "workloadregistrations", "workloadregistration"}, columns: []string{"WORKSPACE", "REPOSITORY", "BRANCH", "PATH"}, rows: registrationRows},
		{name: "targets", others: []string{"target", "dt", "deploymenttargets", "deploymenttarget"}, columns: []string{"WORKLOAD", "WORKSPACE", "CLUSTER TYPES"}, planned: targetRows},
		{name: "policies", others: []string{"policy", "sp", "schedulingpolicies", "schedulingpolicy"}, columns: []string{"WORKSPACE", "TARGETS", "CLUSTER TYPES", "ASSIGNMENTS"}, planned: policyRows},
		{name: "assignments", others: []string{"assignment", "as"}, columns: []string{"CLUSTER TYPE", "TARGET", "POLICIES", "CONFIG", "PROBLEMS"}, planned: assignmentRows},
		{name: "configs", others: []string{"config", "cm", "configmaps", "configmap"}, columns: []string{"FOR", "KEYS"}, rows: configRows},
		{name: "schemas", others: []string{"schema", "cs", "configschemas", "configschema"}, columns: []string{"FOR"}, rows: schemaRows},
		{name: "templates", others: []string{"template", "tpl"}, columns: []string{"TYPE", "CONTENT"}, rows: templateRows},
	}
}

func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

func kindsHelp() string {
	var lines []string
	for _, k := range kinds() {
		lines = append(lines, fmt.Sprintf("  %-14s %s", k.name, strings.Join(k.others[1:], ", ")))
	}
	return strings.Join(lines, "\n")
}

// findKind returns the kind of any of its names.
func findKind(name string) (*kind, error) {
	asked := strings.ToLower(name)
	var all []string
	for _, k := range kinds() {
		if k.name == asked || slices.Contains(k.others, asked) {
			return k, nil
		}
		all = append(append(all, k.name), k.others...)
	}
	message := fmt.Sprintf("there is no kind %q", name)
	if near := model.Nearest(asked, all); near != "" {
		message += fmt.Sprintf(", did you mean %s?", near)
	}
	return nil, &sandbox.UsageError{Message: message + "\nThere is " + strings.Join(kindNames(), ", ") + "."}
}
