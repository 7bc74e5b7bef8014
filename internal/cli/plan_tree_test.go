package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// TestPlanTreeKeeps breaks the model: what would be removed is shown as kept.
func TestPlanTreeKeeps(t *testing.T) {
	root := t.TempDir()
	cp := registered(t, root, "file://"+root)
	gitOps := filepath.Join(root, "gitops")
	const readme = "This folder contains deployment targets scheduled on the cluster type\n"
	for file, text := range map[string]string{
		"dev/README.md":          readme,
		"dev/old/namespace.yaml": "old\n",
		"dev/old/users.txt":      "mine\n",
		"gone/README.md":         readme,
		"gone/a/reconciler.yaml": "old\n",
	} {
		writeFile(t, filepath.Join(gitOps, file), []byte(text))
	}
	if err := os.Remove(filepath.Join(cp, "registration.yaml")); err != nil {
		t.Fatal(err)
	}
	plan := func() string {
		t.Helper()
		code, out, talk := call(t, "plan", "-e", "dev", "-o", "tree", "--control-plane", cp, "--gitops", gitOps)
		if code != cmdutil.ExitOK {
			t.Fatalf("exit code %d: %s", code, talk)
		}
		return out
	}
	const title = "# Environment dev -> kalypso-platform-gitops@dev\n\n"
	want := title + `~ dev/
    README.md
  - old/  (there is no such deployment target any more)
    - namespace.yaml
- gone/
  - README.md
  - a/  (there is no such cluster type any more)
    - reconciler.yaml

3 files to remove in 2 assignments.
`
	if diff := cmp.Diff(want, plan()); diff != "" {
		t.Errorf("complete (-want +got):\n%s", diff)
	}
	writeFile(t, filepath.Join(cp, "bad.yaml"), []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: bad}\nspec: {workspace: 7}\n"))
	want = title + `  dev/
    README.md
  ! old/  (not removed while the environment has errors)
      namespace.yaml
! gone/  (not removed while the environment has errors)
    README.md
  ! a/  (not removed while the environment has errors)
      reconciler.yaml

`
	if diff := cmp.Diff(want, plan()[:len(want)]); diff != "" {
		t.Errorf("with an error (-want +got):\n%s", diff)
	}
}
