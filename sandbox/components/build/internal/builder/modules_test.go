package builder

import (
	"slices"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/modules"
)

func TestAccepted(t *testing.T) {
	if _, err := parseAccepted(acceptedFile); err != nil {
		t.Error(err)
	}
	accepted, err := parseAccepted("# why\n\n* stdlib * the toolchain\nkube example.com/a GO-1,GO-2 never called\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		component, module string
		reports, left     []string
	}{
		{"flux", "stdlib", []string{"GO-9"}, nil},
		{"kube", "example.com/a", []string{"GO-1", "GO-3"}, []string{"GO-3"}},
		{"kube", "example.com/a", []string{"GO-2"}, nil},
		{"flux", "example.com/a", []string{"GO-1"}, []string{"GO-1"}},
		{"kube", "example.com/b", []string{"GO-1"}, []string{"GO-1"}},
	} {
		left, _ := accepted.without(tt.component, modules.Vulnerability{Module: tt.module, IDs: tt.reports})
		if !slices.Equal(left, tt.left) {
			t.Errorf("%s in %s: %q are left, want %q", tt.module, tt.component, left, tt.left)
		}
	}
	if _, err := parseAccepted("kube example.com/a GO-1\n"); err == nil {
		t.Error("a line without a reason is taken")
	}
}
