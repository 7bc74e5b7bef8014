// Package policytest runs what a platform team expects of its scheduling
// policies: tests that say on which cluster types a deployment target lands,
// and with which configuration.
//
// Tests lie beside what they test, in files named *.policytest.yaml:
//
//	tests:
//	  - name: functional tests run at the edge only
//	    target: hello-world-app-functional-test   # a deployment target that there is
//	    onlyOn: [drone]
//	    config:
//	      drone: {REGION: East US}
//	  - name: nothing else of the team gets onto the drones
//	    environment: dev
//	    target:                                   # one that need not exist
//	      workspace: kaizen-app-team
//	      labels: {purpose: load-test}
//	    notOn: [drone]
//
// They are no Kubernetes objects: they have no apiVersion and no kind. So that
// Flux does not try to apply them, .sourceignore must name *.policytest.yaml.
//
// [Load] reads a file, [Run] runs its tests. Where a target lands is asked of
// package plan: one that does not exist is planned as if it did.
package policytest

import (
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// IsFile reports whether a file holds policy tests, by its name.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".policytest.yaml") || strings.HasSuffix(name, ".policytest.yml")
}

// Test is one expectation.
type Test struct {
	Name        string
	Position    model.Position
	Environment Name   // that it is for; without text, every one that reads the file
	Target      Name   // an existing deployment target; without text, Hypothetical is meant
	On          []Name // cluster types that it lands on, among others
	NotOn       []Name // that it does not land on
	OnlyOn      []Name // all that it lands on, when OnlyOnAt is set
	// OnlyOnAt is where OnlyOn stands; without a line it does not. An empty
	// OnlyOn says that the target lands nowhere.
	OnlyOnAt model.Position
	Config   []Config

	Hypothetical HypotheticalTarget
}

// HypotheticalTarget describes a deployment target that need not exist.
type HypotheticalTarget struct {
	Workload  string
	Name      string // within the workload
	Workspace string
	Labels    map[string]string
}

// Name is a name in a test and where it stands.
type Name struct {
	Text     string
	Position model.Position
}

// Config is an expected value of the configuration that the target has on a
// cluster type.
type Config struct {
	ClusterType string
	Key         string
	Value       string // its text; YAML when Structured
	Structured  bool   // it is a map or a list
	Absent      bool   // the key must not be set
	Position    model.Position
}

// target is the deployment target for messages.
func (t Test) target() string {
	if t.Target.Text != "" {
		return t.Target.Text
	}
	return "the target"
}
