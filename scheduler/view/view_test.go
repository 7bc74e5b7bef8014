package view

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

func TestPatch(t *testing.T) {
	for name, c := range map[string]struct {
		change plan.Change
		before string
		want   string
	}{
		"added":    {plan.Change{Path: "a/b", Action: plan.Add, Content: []byte("x\n")}, "", "diff --git a/a/b b/a/b\nnew file mode 100644\n--- /dev/null\n+++ b/a/b\n@@ -0,0 +1,1 @@\n+x\n"},
		"removed":  {plan.Change{Path: "a", Action: plan.Remove}, "x\n", "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"},
		"changed":  {plan.Change{Path: "a", Action: plan.Modify, Content: []byte("1\ny\n3\n")}, "1\nx\n3\n", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-x\n+y\n 3\n"},
		"no end":   {plan.Change{Path: "a", Action: plan.Modify, Content: []byte("y")}, "x", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"},
		"empty":    {plan.Change{Path: "a", Action: plan.Add, Content: []byte{}}, "", "diff --git a/a b/a\nnew file mode 100644\n"},
		"a space":  {plan.Change{Path: "a b", Action: plan.Modify, Content: []byte("y\n")}, "x\n", "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1,1 +1,1 @@\n-x\n+y\n"},
		"a quote":  {plan.Change{Path: `a"b`, Action: plan.Modify, Content: []byte("y\n")}, "x\n", "diff --git \"a/a\\\"b\" \"b/a\\\"b\"\n--- \"a/a\\\"b\"\n+++ \"b/a\\\"b\"\n@@ -1,1 +1,1 @@\n-x\n+y\n"},
		"a hyphen": {plan.Change{Path: "a", Action: plan.Modify, Content: []byte("++ y\n")}, "-- x\n", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n--- x\n+++ y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Patch(c.change, []byte(c.before))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("patch (-want +got):\n%s", diff)
			}
			dir := t.TempDir()
			gitkit.Run(t, dir, "init", "-q")
			file := filepath.Join(dir, c.change.Path)
			if c.change.Action != plan.Add {
				write(t, file, []byte(c.before))
			}
			patch := filepath.Join(t.TempDir(), "patch")
			write(t, patch, []byte("# a remark\n"+got+"\n# another\n"))
			gitkit.Run(t, dir, "apply", patch)
			content, err := os.ReadFile(file)
			if removed := errors.Is(err, os.ErrNotExist); removed != (c.change.Action == plan.Remove) || !bytes.Equal(content, c.change.Content) {
				t.Errorf("git makes %q, %v", content, err)
			}
		})
	}
}

func TestSummaries(t *testing.T) {
	for want, s := range map[string]Summary{
		"no changes":             {},
		"no changes; 2 problems": {Problems: 2},
		"3 files to add, 1 to change in 2 assignments; 1 problem": {Add: 3, Modify: 1, Assignments: 2, Problems: 1},
		"1 file to change, 2 to remove in 1 assignment":           {Modify: 1, Remove: 2, Assignments: 1},
		"1 file to remove": {Remove: 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestGroups is about whose files are whose below a folder of the branch.
func TestGroups(t *testing.T) {
	p := Plan{
		Model: &model.Environment{ClusterTypes: []model.ClusterType{{}}},
		Plan: &plan.Plan{
			GitOps:      model.Reference{Path: "./clusters/"},
			Targets:     []plan.Target{{Name: "kept"}, {Name: "unassigned"}},
			Assignments: []plan.Assignment{{ClusterType: "small", Target: "kept", Policies: []string{"a", "b"}}},
			Changes: []plan.Change{
				{Path: "clusters/.github/tracking/Promoted_Commit_Id"}, {Path: "clusters/gone/README.md"}, {Path: "clusters/gone/x/namespace.yaml"},
				{Path: "clusters/small/README.md"}, {Path: "clusters/small/kept/namespace.yaml"}, {Path: "clusters/small/kept/reconciler.yaml"},
				{Path: "clusters/small/removed/namespace.yaml"}, {Path: "clusters/small/unassigned/namespace.yaml"},
			},
		},
	}
	p.Model.ClusterTypes[0].Name = "small"
	var got []string
	for _, g := range p.Groups() {
		got = append(got, fmt.Sprintf("%s: %s (%d)", g.Name(), g.Why, len(g.Changes)))
	}
	want := []string{
		"clusters/.github/tracking/Promoted_Commit_Id: the commit of the base repository that is promoted to the environment (1)",
		"gone: there is no such cluster type any more (1)",
		"gone/x: there is no such cluster type any more (1)",
		"small: the folder of a cluster type (1)",
		"small/kept: assigned by policies a, b (2)",
		"small/removed: there is no such deployment target any more (1)",
		"small/unassigned: no policy assigns it any more (1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if s := p.Summary(); s.Assignments != 4 {
		t.Errorf("summary %+v", s)
	}
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
