package cli

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// TestGetWithoutGit lists a folder as it is.
func TestGetWithoutGit(t *testing.T) {
	withoutSandbox(t)
	dir := t.TempDir()
	writeFile(t, dir+"/c.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: small}\nspec: {reconciler: r, namespaceService: n}\n"))
	code, out, talk := call(t, "get", "ct", "--control-plane", dir)
	if code != cmdutil.ExitUsage || out != "" || !strings.Contains(talk, dir+" has no Environment objects: name the branch that has them with --branch, or with --environment the environment that it is") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	code, out, _ = call(t, "get", "ct", "--control-plane", dir, "-e", "dev")
	if want := "NAME    RECONCILER   NAMESPACE   CONFIG      TARGETS\nsmall   r            n           configmap   0\n"; code != cmdutil.ExitOK || out != want {
		t.Errorf("exit code %d, %q, want %q", code, out, want)
	}
}

func TestGetNamesItsKinds(t *testing.T) {
	_, help, _ := call(t, "get", "--help")
	_, completions, _ := call(t, "__complete", "get", "")
	for _, k := range view.Kinds() {
		if !strings.Contains(help, "\n  "+k.Name+" ") || !strings.Contains(completions, k.Name+"\n") {
			t.Errorf("help or completion does not name %s", k.Name)
		}
	}
}
