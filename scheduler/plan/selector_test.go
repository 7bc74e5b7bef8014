package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

func TestSubjectMatches(t *testing.T) {
	s := subject{
		clusterType:       "drone",
		clusterTypeLabels: map[string]string{"region": "east", "shared": "cluster", "empty": ""},
		target:            "shop-test",
		workload:          "shop",
		targetLabels:      map[string]string{"purpose": "test", "shared": "target", "workload": "shop"},
	}
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
		if got := s.matches(labels); got != test.want {
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
		selects, ok := selector(s)
		if !ok {
			return
		}
		matched := selects(map[string]string{label: labelValue})
		if operator == "In" && matched != (key == label && value == labelValue) {
			t.Errorf("%q In %q matched %v on %q=%q", key, value, matched, label, labelValue)
		}
		if operator == "NotIn" && matched == (key == label && value == labelValue) {
			t.Errorf("%q NotIn %q matched %v on %q=%q", key, value, matched, label, labelValue)
		}
	})
}
