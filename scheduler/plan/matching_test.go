package plan

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func policy(t testing.TB, name, spec string) model.SchedulingPolicy {
	t.Helper()
	var p model.SchedulingPolicy
	p.Name = name
	var raw struct {
		Workspace string
		Target    selectorText
		Cluster   selectorText
	}
	fromYAML(t, spec, &raw)
	p.Spec.DeploymentTargetSelector.Workspace = raw.Workspace
	p.Spec.DeploymentTargetSelector.LabelSelector = raw.Target.selector()
	p.Spec.ClusterTypeSelector.LabelSelector = raw.Cluster.selector()
	return p
}

func clusterTypeOf(t testing.TB, name, labels string) model.ClusterType {
	t.Helper()
	var c model.ClusterType
	c.Name = name
	fromYAML(t, labels, &c.Labels)
	return c
}

func targetOf(t testing.TB, name, workspace, labels string) *target {
	t.Helper()
	d := &target{Target: Target{Name: name, Workload: strings.Split(name, "-")[0], Workspace: workspace, Labels: map[string]string{}}}
	fromYAML(t, labels, &d.Labels)
	d.Labels["workload"], d.Labels["workspace"] = d.Workload, workspace
	return d
}

// fleet is the hello-world workshop's.
func fleet(t testing.TB) ([]model.ClusterType, []*target) {
	return []model.ClusterType{
			clusterTypeOf(t, "command-center", "{region: east-us, restricted: 'true'}"),
			clusterTypeOf(t, "drone", "{region: east-us, restricted: 'true', edge: 'true'}"),
			clusterTypeOf(t, "large", "{region: west-us, size: large}"),
			clusterTypeOf(t, "small", "{region: west-us, size: small}"),
		}, []*target{
			targetOf(t, "app-functional", "kaizen", "{purpose: functional-test, edge: 'true'}"),
			targetOf(t, "app-performance", "kaizen", "{purpose: performance-test, edge: 'false'}"),
			targetOf(t, "svc-test", "platform", "{purpose: functional-test}"),
		}
}

func describe(pairs []pair) []string {
	all := []string{}
	for _, p := range pairs {
		all = append(all, p.clusterType.Name+"/"+p.target.Name+" by "+strings.Join(p.policies, ","))
	}
	return all
}

// assign returns all pairs that the policies select.
func assign(objects []model.SchedulingPolicy, clusterTypes []model.ClusterType, targets []*target) []pair {
	byName := func(a, b *target) int { return strings.Compare(a.Name, b.Name) }
	chosen := selectTargets(context.Background(), readPolicies("dev", objects), slices.SortedFunc(slices.Values(targets), byName), nil)
	var all []pair
	for _, c := range slices.SortedFunc(slices.Values(clusterTypes), func(a, b model.ClusterType) int { return strings.Compare(a.Name, b.Name) }) {
		all = append(all, chosen.pairs(&c, chosen.policies.admitting(&c))...)
	}
	return all
}

func TestAssign(t *testing.T) {
	everything := []string{
		"command-center/app-functional by p", "command-center/app-performance by p", "command-center/svc-test by p",
		"drone/app-functional by p", "drone/app-performance by p", "drone/svc-test by p",
		"large/app-functional by p", "large/app-performance by p", "large/svc-test by p",
		"small/app-functional by p", "small/app-performance by p", "small/svc-test by p",
	}
	tests := []struct {
		name string
		spec string
		want []string
	}{
		{"everything", "{}", everything},
		{"empty selectors", "{target: {labels: {}}, cluster: {expressions: []}}", everything},
		{"tutorial, functional", "{workspace: kaizen, target: {labels: {purpose: functional-test, edge: 'true'}}, cluster: {labels: {restricted: 'true', edge: 'true'}}}",
			[]string{"drone/app-functional by p"}},
		{"tutorial, performance", "{workspace: kaizen, target: {labels: {purpose: performance-test, edge: 'false'}}, cluster: {labels: {size: large}}}",
			[]string{"large/app-performance by p"}},
		{"workspace alone", "{workspace: platform, cluster: {labels: {size: small}}}", []string{"small/svc-test by p"}},
		{"unknown workspace", "{workspace: nobody}", nil},
		{"by workload", "{target: {labels: {workload: svc}}, cluster: {labels: {size: small}}}", []string{"small/svc-test by p"}},
		{"by workspace's label", "{target: {labels: {workspace: platform}}, cluster: {labels: {size: small}}}", []string{"small/svc-test by p"}},
		{"In", "{target: {labels: {workload: svc}}, cluster: {expressions: [{key: size, operator: In, values: [small, large]}]}}",
			[]string{"large/svc-test by p", "small/svc-test by p"}},
		{"NotIn holds where the label is missing", "{target: {labels: {workload: svc}}, cluster: {expressions: [{key: size, operator: NotIn, values: [small]}]}}",
			[]string{"command-center/svc-test by p", "drone/svc-test by p", "large/svc-test by p"}},
		{"Exists", "{target: {labels: {workload: svc}}, cluster: {expressions: [{key: edge, operator: Exists}]}}", []string{"drone/svc-test by p"}},
		{"DoesNotExist", "{target: {labels: {workload: svc}}, cluster: {expressions: [{key: region, operator: DoesNotExist}]}}", nil},
		{"labels and expressions", "{target: {labels: {workload: svc}}, cluster: {labels: {restricted: 'true'}, expressions: [{key: edge, operator: DoesNotExist}]}}",
			[]string{"command-center/svc-test by p"}},
		{"unknown operator selects nothing", "{cluster: {expressions: [{key: edge, operator: Is}]}}", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clusterTypes, targets := fleet(t)
			if test.want == nil {
				test.want = []string{}
			}
			got := describe(assign([]model.SchedulingPolicy{policy(t, "p", test.spec)}, clusterTypes, targets))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("no policy", func(t *testing.T) {
		clusterTypes, targets := fleet(t)
		if got := assign(nil, clusterTypes, targets); len(got) > 0 {
			t.Errorf("pairs: %v", describe(got))
		}
	})
}

// TestAssignUnion proves that policies that select the same pair make one
// assignment, in whatever order anything comes.
func TestAssignUnion(t *testing.T) {
	policies := []model.SchedulingPolicy{
		policy(t, "b", "{target: {labels: {workload: svc}}, cluster: {labels: {region: west-us}}}"),
		policy(t, "a", "{cluster: {labels: {size: small}}}"),
		policy(t, "c", "{target: {labels: {workload: svc}}, cluster: {labels: {size: small}}}"),
	}
	want := []string{
		"large/svc-test by b",
		"small/app-functional by a",
		"small/app-performance by a",
		"small/svc-test by a,b,c",
	}
	clusterTypes, targets := fleet(t)
	permutations(3, func(order []int) {
		permutations(4, func(order4 []int) {
			got := describe(assign(pick(policies, order), pick(clusterTypes, order4), pick(targets, order)))
			if !slices.Equal(want, got) {
				t.Fatalf("order %v %v: %v", order, order4, got)
			}
		})
	})
}

func TestTargetsOf(t *testing.T) {
	workload := func(name, labels, targets string) model.Workload {
		var w model.Workload
		w.Name = name
		w.Registration.Spec.Workspace = "team"
		w.Position = model.Position{File: name + ".yaml", Line: 1}
		fromYAML(t, labels, &w.Labels)
		fromYAML(t, targets, &w.Spec.DeploymentTargets)
		return w
	}
	env := &model.Environment{Name: "dev", Workloads: []model.Workload{
		workload("shop", "{type: application, size: of-workload, workload: lie}",
			"[{name: test, environment: dev, labels: {purpose: test, size: of-target, workspace: lie}}, {name: uat, environment: qa}]"),
		workload("a-b", "{}", "[{name: c, environment: dev}]"),
		workload("a", "{}", "[{name: b-c, environment: dev}, {name: b, environment: dev}]"),
	}}
	targets := targetsOf(env)
	var got []string
	for _, d := range targets {
		got = append(got, d.Name)
	}
	if diff := cmp.Diff([]string{"a-b", "a-b-c", "a-b-c", "shop-test"}, got); diff != "" {
		t.Fatalf("targets (-want +got):\n%s", diff)
	}
	want := map[string]string{"purpose": "test", "type": "application", "size": "of-workload", "workload": "shop", "workspace": "team"}
	if diff := cmp.Diff(want, targets[3].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(targets[0].duplicates) != 0 || len(targets[1].duplicates) != 1 || targets[1].duplicates[0].File != "a-b.yaml" || targets[2].duplicates[0].File != "a.yaml" {
		t.Errorf("duplicates: %v %v %v", targets[0].duplicates, targets[1].duplicates, targets[2].duplicates)
	}
}

func TestWhichSchemas(t *testing.T) {
	object := func(name, labels string) model.ConfigSchema {
		var s model.ConfigSchema
		s.Name, s.Spec.Schema = name, name
		fromYAML(t, labels, &s.Labels)
		return s
	}
	env := &model.Environment{ConfigSchemas: []model.ConfigSchema{
		object("all", "{}"), object("east", "{region: east-us}"), object("west", "{region: west-us}"),
	}}
	clusterTypes, targets := fleet(t)
	c := newConfigurations(env, func() int64 { return 0 })
	v := c.index
	var got []string
	for _, s := range c.of(pair{clusterType: &clusterTypes[1], target: targets[0]}, v.ofClusterType(&clusterTypes[1]), v.ofTarget(targets[0])).schemas {
		got = append(got, s.text)
	}
	if diff := cmp.Diff([]string{"all", "east"}, got); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
}

// selectorText is a short way to write a label selector in a test.
type selectorText struct {
	Labels      map[string]string
	Expressions []struct {
		Key      string
		Operator metav1.LabelSelectorOperator
		Values   []string
	}
}

func (s selectorText) selector() metav1.LabelSelector {
	selector := metav1.LabelSelector{MatchLabels: s.Labels}
	for _, e := range s.Expressions {
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: e.Key, Operator: e.Operator, Values: e.Values})
	}
	return selector
}

func TestPairMatches(t *testing.T) {
	p := pairWith("drone", map[string]string{"region": "east", "shared": "cluster", "empty": ""}, Target{
		Name: "shop-test", Workload: "shop", Labels: map[string]string{"purpose": "test", "shared": "target", "workload": "shop"},
	})
	tests := []struct {
		labels string
		want   bool
	}{
		{"{}", true},
		{"{platform-config: 'true'}", true},
		{"{region: east}", true},
		{"{region: west}", false},
		{"{purpose: test}", true},
		{"{region: east, purpose: test}", true},
		{"{region: east, purpose: prod}", false},
		{"{shared: cluster}", true},
		{"{shared: target}", true},
		{"{shared: other}", false},
		{"{unknown: ''}", true},
		{"{empty: ''}", true},
		{"{cluster-type: drone}", true},
		{"{cluster-type: large}", false},
		{"{deployment-target: shop-test}", true},
		{"{deployment-target: test}", false},
		{"{workload: shop}", true},
		{"{workload: other}", false},
		{"{kustomize.toolkit.fluxcd.io/name: any}", true},
		{"{app.kubernetes.io/name: any, k8s.io/x: any, region: east}", true},
		{"{notkubernetes.io/name: any}", false},
		{"{kubernetes.io: any}", false},
		{"{team/region: east}", false},
	}
	for _, test := range tests {
		var labels map[string]string
		fromYAML(t, test.labels, &labels)
		if got := p.matches(labels); got != test.want {
			t.Errorf("%s: %v, want %v", test.labels, got, test.want)
		}
	}
}

func FuzzSelector(f *testing.F) {
	f.Add("region", "In", "west", "region", "west")
	f.Add("", "", "", "", "")
	f.Add("a/b/c", "Exists", "x", "a", "\x00")
	f.Fuzz(func(t *testing.T, key, operator, value, label, labelValue string) {
		s := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOperator(operator), Values: []string{value}},
		}}
		if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
			return
		}
		matched := Selector{Labels: s}.Selects(&expression.Object{Labels: map[string]string{label: labelValue}})
		if operator == "In" && matched != (key == label && value == labelValue) {
			t.Errorf("%q In %q matched %v on %q=%q", key, value, matched, label, labelValue)
		}
		if operator == "NotIn" && matched == (key == label && value == labelValue) {
			t.Errorf("%q NotIn %q matched %v on %q=%q", key, value, matched, label, labelValue)
		}
	})
}

// labelsOf reads "a=b,c=d".
func labelsOf(text string) map[string]string {
	labels := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if key, value, ok := strings.Cut(part, "="); ok {
			labels[key] = value
		}
	}
	return labels
}

// FuzzSelectorMeaning compares selectors with what the contract says of them, in
// words that do not know the library: every label there, every expression true.
func FuzzSelectorMeaning(f *testing.F) {
	f.Add("size=small", "size", "In", "small,large", "gpu", "DoesNotExist", "", "size=small,region=west")
	f.Add("", "size", "NotIn", "small", "size", "Exists", "", "size=")
	f.Add("a/b=c", "a/b", "In", "c", "x", "NotIn", "y,z", "a/b=c")
	f.Fuzz(func(t *testing.T, matchLabels, key1, op1, values1, key2, op2, values2, labels string) {
		requirement := func(key, op, values string) metav1.LabelSelectorRequirement {
			r := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(op)}
			if values != "" {
				r.Values = strings.Split(values, ",")
			}
			return r
		}
		s := metav1.LabelSelector{
			MatchLabels:      labelsOf(matchLabels),
			MatchExpressions: []metav1.LabelSelectorRequirement{requirement(key1, op1, values1), requirement(key2, op2, values2)},
		}
		if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
			return
		}
		object := labelsOf(labels)
		want := true
		for key, value := range s.MatchLabels {
			v, there := object[key]
			want = want && there && v == value
		}
		for _, e := range s.MatchExpressions {
			v, there := object[e.Key]
			switch e.Operator {
			case "In":
				want = want && there && slices.Contains(e.Values, v)
			case "NotIn":
				want = want && !(there && slices.Contains(e.Values, v))
			case "Exists":
				want = want && there
			case "DoesNotExist":
				want = want && !there
			default:
				t.Fatalf("operator %q can be used", e.Operator)
			}
		}
		if got := (Selector{Labels: s}).Selects(&expression.Object{Labels: object}); got != want {
			t.Errorf("%+v selects %v: %v, want %v", s, object, got, want)
		}
	})
}
