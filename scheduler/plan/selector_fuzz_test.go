package plan

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		expression := func(key, op, values string) metav1.LabelSelectorRequirement {
			r := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOperator(op)}
			if values != "" {
				r.Values = strings.Split(values, ",")
			}
			return r
		}
		s := metav1.LabelSelector{
			MatchLabels:      labelsOf(matchLabels),
			MatchExpressions: []metav1.LabelSelectorRequirement{expression(key1, op1, values1), expression(key2, op2, values2)},
		}
		selects, ok := selector(s)
		if !ok {
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
		if got := selects(object); got != want {
			t.Errorf("%+v selects %v: %v, want %v", s, object, got, want)
		}
	})
}
