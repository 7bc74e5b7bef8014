package gitops

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// definitions has one kind, whose names are accepted. It is established after
// a while, after a change, or never.
type definitions struct {
	dynamic.ResourceInterface
	after    time.Duration // 0: not by itself
	onChange bool
	began    time.Time
	patches  []string
}

func (d *definitions) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	status, reason := "False", "Installing"
	if d.onChange && len(d.patches) > 0 || d.after > 0 && time.Since(d.began) >= d.after {
		status, reason = "True", "InitialNamesAccepted"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "buckets"},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Established", "status": status, "reason": reason, "message": "the initial names have been accepted",
		}}},
	}}, nil
}

func (d *definitions) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	d.patches = append(d.patches, string(data))
	return nil, nil
}

func TestAKindThatIsBeingEstablishedIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definitions{after: nudgeAfter / 2, began: time.Now()}
		if err := established(t.Context(), d, "buckets"); err != nil || len(d.patches) > 0 {
			t.Errorf("%v, changed %q", err, d.patches)
		}
	})
}

func TestAKindThatIsStuckIsNudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definitions{onChange: true, began: time.Now()}
		if err := established(t.Context(), d, "buckets"); err != nil {
			t.Error(err)
		}
		if len(d.patches) != 1 || !strings.Contains(d.patches[0], "kalypso.dev/nudged") {
			t.Errorf("changed %q", d.patches)
		}
		if took := time.Since(d.began); took > 2*nudgeAfter {
			t.Errorf("took %s", took)
		}
	})
}

func TestAKindThatIsNeverEstablishedTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definitions{began: time.Now()}
		err := established(t.Context(), d, "buckets")
		if err == nil || !strings.Contains(err.Error(), "definition buckets") || !strings.Contains(err.Error(), "Installing") {
			t.Error(err)
		}
		// each change is another one, or the API server would not see it
		seen := map[string]bool{}
		for _, p := range d.patches {
			seen[p] = true
		}
		if len(d.patches) < 2 || len(seen) != len(d.patches) {
			t.Errorf("%d changes, %d different", len(d.patches), len(seen))
		}
	})
}
