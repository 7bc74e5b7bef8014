package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

func TestEdit(t *testing.T) {
	withoutSandbox(t)
	root := t.TempDir()
	writeWorkshop(t, root, "http://127.0.0.1:1")
	dir := filepath.Join(root, "kalypso-control-plane")
	gitkit.Run(t, dir, "checkout", "-q", "dev")
	file := filepath.Join(dir, "cluster-types", "dev.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(args ...string) (int, string, string) {
		t.Helper()
		return call(t, append(append([]string{"edit"}, args...), "--control-plane", dir)...)
	}

	code, out, talk := edit("set-label", "clustertype/dev", "gpu=true", "size=small")
	if now, err := os.ReadFile(file); code != cmdutil.ExitOK || err != nil || string(now) != string(before) {
		t.Fatalf("exit code %d, %v: %s", code, err, talk)
	}
	apply := exec.Command("git", "apply")
	apply.Dir, apply.Stdin = dir, strings.NewReader(out)
	if said, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s of\n%s", err, said, out)
	}
	if now, err := os.ReadFile(file); err != nil || !strings.Contains(string(now), `gpu: "true"`) || !strings.Contains(string(now), "size: small") {
		t.Errorf("%v: %s", err, now)
	}
	if code, out, _ := edit("set-label", "ct/dev", "gpu=true"); code != cmdutil.ExitOK || out != "" {
		t.Errorf("a label that is so: exit code %d: %s", code, out)
	}
	if code, _, talk := edit("remove-label", "clustertypes/dev", "gpu", "size", "--write"); code != cmdutil.ExitOK {
		t.Errorf("exit code %d: %s", code, talk)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
		t.Errorf("%v: %s", err, now)
	}

	selector := filepath.Join(root, "selector.yaml")
	writeFile(t, selector, []byte("labelSelector: {matchLabels: {gpu: \"true\"}}\n"))
	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		{cmdutil.ExitUsage, "KEY=VALUE", []string{"set-label", "clustertype/dev", "gpu"}},
		{cmdutil.ExitUsage, "KIND/NAME", []string{"set-label", "dev", "gpu=true"}},
		{cmdutil.ExitUsage, "did you mean clustertype", []string{"set-label", "clustertyp/dev", "gpu=true"}},
		{cmdutil.ExitUsage, "assignments", []string{"delete", "assignment/dev"}},
		{cmdutil.ExitFailure, "did you mean dev?", []string{"set-label", "clustertype/devv", "gpu=true"}},
		{cmdutil.ExitFailure, "dev.yaml:", []string{"remove-label", "clustertype/dev", "gpu"}},
		{cmdutil.ExitFailure, "deploymentTargetSelector", []string{"set-selector", "policy/x", "selector", "-f", selector}},
		{cmdutil.ExitFailure, "none.yaml", []string{"put", "-f", filepath.Join(root, "none.yaml")}},
	} {
		if code, out, talk := edit(test.args...); code != test.code || !strings.Contains(talk, test.says) || out != "" {
			t.Errorf("%v: exit code %d: %s%s", test.args, code, out, talk)
		}
	}

	gitkit.Run(t, dir, "checkout", "-q", "main")
	object := filepath.Join(root, "large.yaml")
	writeFile(t, object, []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: huge\nspec:\n  reconciler: argocd\n  namespaceService: default\n"))
	if code, _, talk := edit("put", "-f", object, "-e", "dev", "--write"); code != cmdutil.ExitFailure || !strings.Contains(talk, "branch dev") {
		t.Errorf("another branch is checked out: exit code %d: %s", code, talk)
	}
	gitkit.Run(t, dir, "checkout", "-q", "dev")
	if code, _, talk := edit("put", "-f", object, "-e", "dev", "--write"); code != cmdutil.ExitOK {
		t.Errorf("exit code %d: %s", code, talk)
	}
	if _, err := os.Stat(filepath.Join(dir, "cluster-types", "huge.yaml")); err != nil {
		t.Error(err)
	}
}
