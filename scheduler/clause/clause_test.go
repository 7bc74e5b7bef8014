package clause

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/expression"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func selector() plan.Selector {
	return plan.Selector{
		Of: expression.OfClusterTypes,
		Labels: metav1.LabelSelector{
			MatchLabels: map[string]string{"size": "large", "edge": "true"},
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "region", Operator: metav1.LabelSelectorOpIn, Values: []string{"east", "west"}},
				{Key: "owner", Operator: metav1.LabelSelectorOpExists},
				{Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist},
				{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}},
			},
		},
		CEL: `labels["edge"] == "true" && (size(labels) < 9 || clusterType.name == "x")`,
	}
}

func TestClausesAsUsersWriteThem(t *testing.T) {
	var got []string
	for _, c := range Of(selector()) {
		got = append(got, strings.TrimPrefix(strings.Join(c.Path, "/"), "spec/clusterTypeSelector/")+" "+c.String())
	}
	want := []string{
		"labelSelector/matchLabels/edge edge: true",
		"labelSelector/matchLabels/size size: large",
		"labelSelector/matchExpressions/0 region in (east, west)",
		"labelSelector/matchExpressions/1 any owner",
		"labelSelector/matchExpressions/2 no old",
		"labelSelector/matchExpressions/3 zone not in (a)",
		"cel labels[\"edge\"] == \"true\"",
		"cel size(labels) < 9 || clusterType.name == \"x\"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clauses (-want +got):\n%s", diff)
	}
	if empty := Of(plan.Selector{Of: expression.OfTargets}); len(empty) > 0 {
		t.Errorf("an empty selector has clauses: %v", empty)
	}
}

func TestUnmet(t *testing.T) {
	for _, c := range []struct {
		labels map[string]string
		want   []string
	}{
		{map[string]string{"size": "large", "edge": "true", "region": "west", "owner": ""}, nil},
		{map[string]string{"size": "small", "edge": "true", "region": "north", "owner": "x", "old": "y", "zone": "a"},
			[]string{"size: large", "region in (east, west)", "no old", "zone not in (a)"}},
		{nil, []string{"edge: true", "size: large", "region in (east, west)", "any owner", `labels["edge"] == "true"`}},
	} {
		var got []string
		for _, clause := range Unmet(selector(), &expression.Object{Labels: c.labels}) {
			got = append(got, clause.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.labels, diff)
		}
	}
}

func TestNear(t *testing.T) {
	sets := []map[string]string{{"size": "large", "region": "east"}, {"size": "small"}}
	for _, c := range []struct {
		key, value string
		sets       []map[string]string
		want       string
	}{
		{"size", "larg", sets, "did you mean large?"},
		{"size", "huge", sets, "values of size are large, small"},
		{"siz", "large", sets, "did you mean size?"},
		{"colour", "red", sets, "labels are region, size"},
		{"size", "large", sets, "values of size are large, small"}, // it is right, and still does not fit
		{"size", "large", nil, ""},
		{"a", "b", []map[string]string{{}}, ""},
	} {
		if got := Near(c.key, []string{c.value}, c.sets); got != c.want {
			t.Errorf("%s: %s gives %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	for names, want := range map[string]string{
		"a":               "a",
		"a b c d e f":     "a, b, c, d, e, f",
		"a b c d e f g":   "a, b, c, d, e, f, g", // no shorter with "and 1 more"
		"a b c d e f g h": "a, b, c, d, e, f and 2 more",
	} {
		if got := List(strings.Fields(names)); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}
