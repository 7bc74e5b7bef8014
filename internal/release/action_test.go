package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// runAction runs what action.yml runs to download a release, on a runner's folders.
func runAction(t *testing.T, r *Release) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				Shell, Run string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		t.Fatal(err)
	}
	step := action.Runs.Steps[0]
	for _, name := range []string{"VERSION", "SANDBOX", "USED_AT", "KALYPSO_RELEASES"} {
		if step.Env[name] == "" {
			t.Errorf("%s is not given", name)
		}
	}
	releases := serve(t, r, nil)
	for name, c := range map[string]struct {
		version, usedAt, sandbox string
		code                     int
	}{
		"a version":                   {version: testVersion, usedAt: "main"},
		"the version it is used at":   {usedAt: testVersion},
		"the latest, from a branch":   {usedAt: "main"},
		"the latest, whatever it is":  {version: "latest", usedAt: "v9.9.9"},
		"one that there is not":       {usedAt: "v9.9.9", code: 1},
		"a sandbox that is not there": {sandbox: "true", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			paths := filepath.Join(temp, "paths")
			code, out := script(t, temp, []string{
				"GITHUB_ACTION_PATH=" + root, "RUNNER_TEMP=" + temp, "GITHUB_PATH=" + paths,
				"VERSION=" + c.version, "USED_AT=" + c.usedAt, "SANDBOX=" + c.sandbox, "KALYPSO_RELEASES=" + releases,
			}, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run})
			if code != c.code {
				t.Fatalf("exit code %d, want %d\n%s", code, c.code, out)
			}
			added, err := os.ReadFile(paths)
			if (err == nil) != (code == 0) {
				t.Fatalf("the PATH has %q more, %v", added, err)
			}
			if code != 0 {
				return
			}
			if got := versionOf(t, filepath.Join(strings.TrimSpace(string(added)), "kalypso")); got != testVersion {
				t.Errorf("version %s", got)
			}
		})
	}
}
