package main

import (
	"strings"
	"testing"
)

func TestKinds(t *testing.T) {
	taken := map[string]string{}
	for _, k := range kinds() {
		for _, name := range append([]string{k.name}, k.others...) {
			if taken[name] != "" {
				t.Errorf("%s stands for %s and %s", name, taken[name], k.name)
			}
			taken[name] = k.name
			for _, spelled := range []string{name, strings.ToUpper(name)} {
				if got, err := findKind(spelled); err != nil || got.name != k.name {
					t.Errorf("%s: %v, %v", spelled, got, err)
				}
			}
		}
		if _, help, _ := call(t, "get", "--help"); !strings.Contains(help, "\n  "+k.name+" ") {
			t.Errorf("help does not name %s", k.name)
		}
	}
	for name, near := range map[string]string{"environmnts": "environments", "asignment": "assignment", "deploymenttargts": "deploymenttargets"} {
		if _, err := findKind(name); err == nil || !strings.Contains(err.Error(), "did you mean "+near+"?") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, out, _ := call(t, "__complete", "get", ""); code != exitOK || !strings.Contains(out, "clustertypes\n") {
		t.Errorf("completion: exit code %d, %q", code, out)
	}
}

// TestGetWithoutGit lists a folder as it is.
func TestGetWithoutGit(t *testing.T) {
	worldHome(t)
	dir := t.TempDir()
	worldWrite(t, dir+"/c.yaml", []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: small}\nspec: {reconciler: r, namespaceService: n}\n"))
	code, out, talk := call(t, "get", "ct", "--control-plane", dir)
	if code != exitUsage || out != "" || !strings.Contains(talk, dir+" has no Environment objects: name the branch that has them with --branch, or with --environment the environment that it is") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	code, out, _ = call(t, "get", "ct", "--control-plane", dir, "-e", "dev")
	if want := "NAME    RECONCILER   NAMESPACE   CONFIG      TARGETS\nsmall   r            n           configmap   0\n"; code != exitOK || out != want {
		t.Errorf("exit code %d, %q, want %q", code, out, want)
	}
}
