package plan

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type policies struct {
	environment string
	objects     []model.SchedulingPolicy
	rules       []rule
}

// rule is a policy's selectors. One that cannot be read, which the model reports,
// selects nothing.
type rule struct {
	names               []string // the policy's name alone, for most assignments have one policy
	workspace           string   // "" for any
	target, clusterType condition
}

// condition is what a selector asks of labels, and then by its expression.
type condition struct {
	labels     labels.Selector
	expression *expression.Expression // nil for none
}

func readPolicies(environment string, objects []model.SchedulingPolicy) *policies {
	p := &policies{environment: environment, objects: objects, rules: make([]rule, len(objects))}
	for i, object := range objects {
		target, err1 := TargetSelector(object).condition()
		clusterType, err2 := ClusterTypeSelector(object).condition()
		if err1 != nil || err2 != nil {
			target, clusterType = condition{labels: labels.Nothing()}, condition{labels: labels.Nothing()}
		}
		p.rules[i] = rule{names: []string{object.Name}, workspace: object.Spec.DeploymentTargetSelector.Workspace, target: target, clusterType: clusterType}
	}
	return p
}

// same says whether these are the policies of an environment still.
func (p *policies) same(objects []model.SchedulingPolicy) bool {
	return p != nil && slices.EqualFunc(p.objects, objects, model.SchedulingPolicy.Same)
}

// selecting returns the numbers of the policies that select a target.
func (p *policies) selecting(t *target) []int32 {
	var selecting []int32
	for i := range p.rules {
		r := &p.rules[i]
		if (r.workspace == "" || r.workspace == t.Workspace) && r.target.labels.Matches(labels.Set(t.Labels)) &&
			(r.target.expression == nil || r.target.expression.Holds(TargetObject(p.environment, &t.Target))) {
			selecting = append(selecting, int32(i))
		}
	}
	return selecting
}

// admitting returns the numbers of the policies that select a cluster type.
func (p *policies) admitting(clusterType *model.ClusterType) []int32 {
	var admitting []int32
	for i := range p.rules {
		r := &p.rules[i].clusterType
		if r.labels.Matches(labels.Set(clusterType.Labels)) && (r.expression == nil || r.expression.Holds(ClusterTypeObject(p.environment, clusterType))) {
			admitting = append(admitting, int32(i))
		}
	}
	return admitting
}

// pair is one assignment before anything is made for it.
type pair struct {
	clusterType *model.ClusterType
	target      *target
	policies    []string
}

// selection is which policies select which targets.
type selection struct {
	policies *policies
	targets  []*target
	chosen   [][]int32 // by policy: the numbers of its targets, in order
	changed  []bool    // by policy: whether these are others than before
}

// selectTargets matches all policies with all targets, except for pairs of them that
// were matched before. When ctx ends the selection is not complete.
func selectTargets(ctx context.Context, p *policies, targets []*target, before *selection) *selection {
	s := &selection{policies: p, targets: targets, chosen: make([][]int32, len(p.rules)), changed: make([]bool, len(p.rules))}
	inParallel(len(targets), func(i int) {
		if t := targets[i]; t.asked != p && ctx.Err() == nil {
			t.asked, t.selecting = p, p.selecting(t)
		}
	})
	for i, t := range targets {
		for _, n := range t.selecting {
			s.chosen[n] = append(s.chosen[n], int32(i))
		}
	}
	for n := range s.changed {
		s.changed[n] = before == nil || before.policies != p || !slices.EqualFunc(s.chosen[n], before.chosen[n], func(a, b int32) bool {
			return targets[a] == before.targets[b]
		})
	}
	return s
}

// pairs returns the assignments on a cluster type that some policies admit,
// sorted by target. A pair that several policies select is one pair that names
// all of them. Targets that share a name share a pair.
func (s *selection) pairs(clusterType *model.ClusterType, admitting []int32) []pair {
	type choice struct{ target, policy int32 }
	var choices []choice
	for _, n := range admitting {
		for _, t := range s.chosen[n] {
			choices = append(choices, choice{t, n})
		}
	}
	if len(admitting) > 1 {
		slices.SortFunc(choices, func(a, b choice) int {
			return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.policy, b.policy))
		})
	}
	var pairs []pair
	for _, c := range choices {
		t, names := s.targets[c.target], s.policies.rules[c.policy].names
		last := len(pairs) - 1
		if last < 0 || pairs[last].target.Name != t.Name {
			pairs = append(pairs, pair{clusterType: clusterType, target: t, policies: names})
			continue
		}
		if p := &pairs[last]; !slices.Contains(p.policies, names[0]) {
			p.policies = slices.Sorted(slices.Values(slices.Concat(p.policies, names)))
		}
	}
	return pairs
}

// The label keys that name a pair's parts instead of describing them.
const (
	ClusterTypeLabel      = "cluster-type"
	DeploymentTargetLabel = "deployment-target"
	WorkloadLabel         = "workload"
	WorkspaceLabel        = "workspace"
)

// configLabel marks the ConfigMaps of the platform.
const configLabel = "platform-config"

// isNameLabel says whether a label's value is the name of the pair's cluster
// type, deployment target or workload.
func isNameLabel(key string) bool {
	return key == ClusterTypeLabel || key == DeploymentTargetLabel || key == WorkloadLabel
}

// matches says whether all labels of a configuration object match a pair. No
// labels match everything.
func (p pair) matches(labels map[string]string) bool {
	for key, value := range labels {
		if !IgnoredLabel(key) && !p.matchesLabel(key, value) {
			return false
		}
	}
	return true
}

func (p pair) matchesLabel(key, value string) bool {
	switch key {
	case ClusterTypeLabel:
		return value == p.clusterType.Name
	case DeploymentTargetLabel:
		return value == p.target.Name
	case WorkloadLabel:
		return value == p.target.Workload
	}
	// A label that is not there counts as one with an empty value.
	return value == p.clusterType.Labels[key] || value == p.target.Labels[key]
}

// IgnoredLabel says whether a label of a ConfigMap or ConfigSchema does not
// count when the object is matched with a pair: the platform's own mark, and
// those of Kubernetes and Flux, whose controllers put theirs on any object.
func IgnoredLabel(key string) bool {
	if key == configLabel {
		return true
	}
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	for _, domain := range []string{"kubernetes.io", "k8s.io", "fluxcd.io"} {
		if prefix == domain || strings.HasSuffix(prefix, "."+domain) {
			return true
		}
	}
	return false
}

// What follows is for packages that explain a plan: the single decisions that New
// makes of many, so that an explanation cannot differ from the plan.

// Selector is a policy's selector of deployment targets or of cluster types, but for
// the workspace. All that it has must hold.
type Selector struct {
	Of     expression.Selector
	Labels metav1.LabelSelector
	CEL    string // "" for none
}

// TargetSelector is a policy's selector of deployment targets.
func TargetSelector(p model.SchedulingPolicy) Selector {
	s := p.Spec.DeploymentTargetSelector
	return Selector{Of: expression.OfTargets, Labels: s.LabelSelector, CEL: s.CEL}
}

// ClusterTypeSelector is a policy's selector of cluster types.
func ClusterTypeSelector(p model.SchedulingPolicy) Selector {
	s := p.Spec.ClusterTypeSelector
	return Selector{Of: expression.OfClusterTypes, Labels: s.LabelSelector, CEL: s.CEL}
}

// IsEmpty says whether the selector selects every object.
func (s Selector) IsEmpty() bool {
	return len(s.Labels.MatchLabels) == 0 && len(s.Labels.MatchExpressions) == 0 && s.CEL == ""
}

// Selects says whether a selector selects an object. One that cannot be read selects
// nothing.
func (s Selector) Selects(o *expression.Object) bool {
	c, err := s.condition()
	return err == nil && c.labels.Matches(labels.Set(o.Labels)) && (c.expression == nil || c.expression.Holds(o))
}

func (s Selector) condition() (c condition, err error) {
	if c.labels, err = metav1.LabelSelectorAsSelector(&s.Labels); err != nil || s.CEL == "" {
		return c, err
	}
	c.expression, err = expression.Compile(s.Of, s.CEL)
	return c, err
}

// TargetObject is what selectors see of a deployment target.
func TargetObject(environment string, t *Target) *expression.Object {
	return &expression.Object{
		Name: t.Name, Labels: t.Labels, Workload: t.Workload, WorkloadLabels: t.WorkloadLabels, Workspace: t.Workspace,
		Environment: environment,
	}
}

// ClusterTypeObject is what selectors see of a cluster type.
func ClusterTypeObject(environment string, c *model.ClusterType) *expression.Object {
	return &expression.Object{Name: c.Name, Labels: c.Labels, Environment: environment}
}

// Fits says whether one label of a ConfigMap or ConfigSchema fits a pair. The
// object counts for the pair when all its labels fit, except for those that
// [IgnoredLabel] names.
func Fits(c model.ClusterType, t Target, key, value string) bool {
	return pair{clusterType: &c, target: &target{Target: t}}.matchesLabel(key, value)
}

// IsStructured says whether a configuration value is a map or a list, which is
// merged with others rather than replaced.
func IsStructured(value string) bool {
	return configvalue.IsStructured(configvalue.Parse(value))
}

// IsAppConfig says whether the keys of a ConfigMap carry labels of their own.
// Such ConfigMaps are merged after all others.
func IsAppConfig(config model.PlatformConfig) bool {
	return strings.HasPrefix(config.Name, model.AppConfigPrefix)
}

// IsOrdinary says whether the keys of a ConfigMap apply as they are. Those of
// one that [IsAppConfig] names may do so, too.
func IsOrdinary(config model.PlatformConfig) bool {
	return !IsAppConfig(config) || config.Labels[configLabel] == "true"
}

// AppConfigKey takes a key of the form label.value.label.value.key apart. It
// returns false when the key is of another form, and then gives no value.
// Every label of it must fit, even those that [IgnoredLabel] names. Of a label
// that it has twice the last value counts.
func AppConfigKey(field string) (labels [][2]string, key string, ok bool) {
	words, key, ok := model.SplitAppConfigKey(field)
	for i := 0; i+1 < len(words); i += 2 {
		labels = slices.DeleteFunc(labels, func(l [2]string) bool { return l[0] == words[i] })
		labels = append(labels, [2]string{words[i], words[i+1]})
	}
	return labels, key, ok
}
