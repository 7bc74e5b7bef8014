package policytest

import (
	"fmt"
	"reflect"

	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/validate/clause"
	"go.yaml.in/yaml/v3"
)

// config checks one value of the composed configuration.
func (r *run) config(want Config) {
	c := r.clusterType(want.ClusterType, want.Position)
	if c == nil {
		return
	}
	assignment, on := r.placed[want.ClusterType]
	if !on {
		r.fail(want.Position, r.explain(r.env, r.target, *c), "%s is not on %s, so it has no %s there", r.test.target(), want.ClusterType, want.Key)
		return
	}
	var keys []string
	for _, got := range assignment.Config {
		keys = append(keys, got.Key)
		if got.Key != want.Key {
			continue
		}
		switch from := fmt.Sprintf("it comes from ConfigMap %s (%s)", got.Source.ConfigMap, got.Source.Position); {
		case want.Absent:
			r.fail(want.Position, from, "%s is %q on %s, and should not be set", want.Key, got.Value, want.ClusterType)
		case !equal(want, got):
			r.fail(want.Position, from, "%s is %q on %s, not %q", want.Key, got.Value, want.ClusterType, want.Value)
		}
		return
	}
	if !want.Absent {
		r.fail(want.Position, clause.Suggest([]string{want.Key}, "keys are", keys), "%s is not set on %s", want.Key, want.ClusterType)
	}
}

// equal compares texts as they are, and maps and lists by what they hold.
func equal(want Config, got plan.ConfigValue) bool {
	if !want.Structured {
		return want.Value == got.Value
	}
	var a, b any
	if yaml.Unmarshal([]byte(want.Value), &a) != nil || yaml.Unmarshal([]byte(got.Value), &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}
