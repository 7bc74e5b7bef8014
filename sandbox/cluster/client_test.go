package cluster

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDecode(t *testing.T) {
	objects, err := Decode([]byte("---\nkind: A\nmetadata: {name: a}\n---\n# nothing\n---\nkind: B\n"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.GetKind())
	}
	if !slices.Equal(kinds, []string{"A", "B"}) {
		t.Errorf("kinds %q", kinds)
	}
	if _, err := Decode([]byte("kind: [")); err == nil {
		t.Error("a broken document was taken")
	}
}

func TestFailedChecks(t *testing.T) {
	body := "[+]ping ok\n[-]informer-sync failed: reason withheld\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n"
	want := []string{"informer-sync", "poststarthook/rbac/bootstrap-roles"}
	if got := failedChecks([]byte(body)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestForeign(t *testing.T) {
	by := func(managers ...string) *unstructured.Unstructured {
		var fields []any
		for _, m := range managers {
			fields = append(fields, map[string]any{"manager": m})
		}
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": fields}}}
	}
	for _, c := range []struct {
		o    *unstructured.Unstructured
		want bool
	}{{by(), false}, {by("helm"), true}, {by("helm", "kalypso"), false}, {by("kalypso"), false}} {
		if Foreign(c.o) != c.want {
			t.Errorf("%v: %v", c.o, !c.want)
		}
	}
}

func TestCondition(t *testing.T) {
	object := func(status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": "K", "metadata": map[string]any{"name": "n"},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Other", "status": "True"},
				map[string]any{"type": "Ready", "status": status, "reason": "NoDisk", "message": "disk is full"},
			}},
		}}
	}
	if err := Condition(object("True"), "Ready"); err != nil {
		t.Error(err)
	}
	err := Condition(object("False"), "Ready")
	if err == nil || !strings.Contains(err.Error(), "NoDisk: disk is full") {
		t.Errorf("error %v does not have the reason", err)
	}
	if err := Condition(object("True"), "Missing"); err == nil {
		t.Error("a condition that is not there is not true")
	}
}
