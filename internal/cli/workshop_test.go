package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/workshop"
)

// TestNewWorkshopIsInOrder makes a workshop, checks it, packs it, and checks what
// was packed.
func TestNewWorkshopIsInOrder(t *testing.T) {
	t.Setenv("KALYPSO_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	if code, _, talk := call(t, "workshop", "new", "my-kata"); code != 0 || !strings.Contains(talk, "kalypso up --workshop ./my-kata") {
		t.Fatalf("exit code %d, %s", code, talk)
	}
	if code, out, talk := call(t, "workshop", "validate", "./my-kata"); code != 0 || strings.Contains(out, "error") {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	if code, _, talk := call(t, "workshop", "pack", "my-kata"); code != 0 {
		t.Fatalf("exit code %d, %s", code, talk)
	}
	code, out, talk := call(t, "workshop", "show", "my-kata.tar.gz", "-o", "json")
	var shown struct {
		Name      string
		Scenarios []struct{ Steps []any }
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v, %s", code, err, talk)
	}
	if shown.Name != "my-kata" || len(shown.Scenarios) != 1 || len(shown.Scenarios[0].Steps) != 3 {
		t.Errorf("%+v", shown)
	}
	// nothing is overwritten, and nothing is left of what cannot be
	if code, _, _ := call(t, "workshop", "new", "my-kata"); code != cmdutil.ExitUsage {
		t.Errorf("a second one: exit code %d", code)
	}
	if code, _, _ := call(t, "workshop", "new", "My_Kata"); code != cmdutil.ExitUsage {
		t.Errorf("a bad name: exit code %d", code)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 2 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// TestValidateWorkshop finds what is wrong where it is.
func TestValidateWorkshop(t *testing.T) {
	t.Setenv("KALYPSO_HOME", t.TempDir())
	for name, test := range map[string]struct {
		file, old, new string
		code           int
		says           string // FILE:LINE
	}{
		"schema":      {"workshop.yaml", "reconciler: flux", "reconciler: fluxx", cmdutil.ExitUsage, "workshop.yaml:24: "},
		"followed":    {"workshop.yaml", "branch: dev, path: edge", "branch: dev, path: egde", 1, "workshop.yaml:26: "},
		"environment": {"repositories/control-plane/main/.environments/dev.yaml", "kind: Environment", "kind: Nothing", 1, "workshop.yaml:8: "},
		"model":       {"repositories/control-plane/dev/cluster-types/edge.yaml", "reconciler: flux", "reconciler: [flux]", 1, "edge.yaml:8"},
		"command":     {"scenarios/first-deployment.txtar", "pr merge\n", "pr mrege\n", 1, "first-deployment.txtar:28: "},
		"check":       {"scenarios/first-deployment.txtar", "pr merged\n", "pr merge\n", 1, "first-deployment.txtar:30: "},
		"without":     {"scenarios/first-deployment.txtar", "check\npr merged\n", "", 1, "first-deployment.txtar:22: "},
		"unused":      {"scenarios/first-deployment.txtar", "has-fields config.yaml greeting.yaml", "has-fields config.yaml", 1, "first-deployment.txtar:61: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kata")
			if code, _, talk := call(t, "workshop", "new", dir); code != 0 {
				t.Fatal(talk)
			}
			file := filepath.Join(dir, filepath.FromSlash(test.file))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), test.old, test.new, 1)
			if changed == string(text) {
				t.Fatalf("%s has no %q", file, test.old)
			}
			if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, talk := call(t, "workshop", "validate", dir)
			if code != test.code || !strings.Contains(out+talk, test.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, test.code, test.says, out, talk)
			}
		})
	}
}

func TestWorkshopSchema(t *testing.T) {
	code, out, _ := call(t, "workshop", "schema")
	if code != 0 || out != string(workshop.Schema) || !json.Valid([]byte(out)) {
		t.Errorf("exit code %d, %s", code, out)
	}
}
