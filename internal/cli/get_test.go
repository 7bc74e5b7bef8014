package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
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

// TestGetPlacementsOfClustersThatDoNotAnswer: they are Unknown, each with its reason, and
// no clusters at all are a mistake.
func TestGetPlacementsOfClustersThatDoNotAnswer(t *testing.T) {
	withoutSandbox(t)
	for _, variable := range []string{"KALYPSO_CI_KUBECONFIG", "KALYPSO_CI_FLEET", "KALYPSO_ARM_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID"} {
		t.Setenv(variable, "")
	}
	dir := t.TempDir()
	t.Setenv("AZURE_CONFIG_DIR", dir)
	writeFile(t, dir+"/plane/repo.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: 'file://"+dir+"/none', branch: dev, path: .}\n"))
	get := []string{"get", "placements", "--control-plane", dir + "/plane", "-e", "dev", "-o", "json"}
	if code, out, talk := call(t, get...); code != cmdutil.ExitUsage || out != "" || !strings.Contains(talk, "KALYPSO_CI_KUBECONFIG") {
		t.Errorf("no clusters: exit code %d, %q, %q", code, out, talk)
	}
	writeFile(t, dir+"/kubeconfig", []byte("apiVersion: v1\nkind: Config\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: edge, context: {cluster: c, user: u}}]\n"))
	t.Setenv("KALYPSO_CI_KUBECONFIG", dir+"/kubeconfig")
	code, out, talk := call(t, get...)
	var all []view.PlacementDocument
	if err := json.Unmarshal([]byte(out), &all); code != cmdutil.ExitOK || err != nil || len(all) != 1 {
		t.Fatalf("exit code %d, %v, %q, %q", code, err, out, talk)
	}
	if p := all[0]; p.Cluster != "edge" || p.State != placement.Unknown || !strings.Contains(p.Reason, "connection refused") || p.Target != "" {
		t.Errorf("%+v", p)
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
