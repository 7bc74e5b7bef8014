package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/orbital"
)

func TestWorkshopFrom(t *testing.T) {
	withoutSandbox(t)
	dir := t.TempDir()
	args := []string{"workshop", "from", "--control-plane", filepath.Join(dir, "ground-control"), "--cluster-types", "archive", "--clusters", "relay-ship=2", "-o", "json"}
	for _, name := range orbital.Write(t, dir) {
		if name != "ground-control" {
			args = append(args, "--clone", filepath.Join(dir, name))
		}
	}
	t.Chdir(t.TempDir())
	code, out, talk := call(t, args...)
	if code != cmdutil.ExitOK || talk != "" {
		t.Fatalf("exit code %d: %s", code, talk)
	}
	var made struct {
		Folder       string
		Repositories []string
		Clusters     []struct{ Name, Type string }
		Outside      []struct {
			Kind     string
			Position struct{ File string }
		}
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || strings.Contains(out, ": null") {
		t.Fatalf("%v in\n%s", err, out)
	}
	if made.Folder != "ground-control-workshop" || !slices.Contains(made.Repositories, "mission-manifests") || len(made.Outside) == 0 {
		t.Errorf("made %+v", made)
	}
	var clusters []string
	for _, c := range made.Clusters {
		clusters = append(clusters, c.Name)
	}
	if !slices.Equal(clusters, []string{"archive", "relay-ship-1", "relay-ship-2"}) {
		t.Errorf("clusters %q", clusters)
	}
	if _, err := os.Stat(filepath.Join(made.Folder, "workshop.yaml")); err != nil {
		t.Error(err)
	}
	// again, and with mistakes
	for _, more := range [][]string{nil, {"--out", "x", "--clusters", "archive"}, {"--out", "x", "--name", "y"}, {"--out", "x", "--depth", "-1"}, {"--out", "x", "--node", "fast"}} {
		if code, _, talk := call(t, append(slices.Clone(args), more...)...); code != cmdutil.ExitUsage || talk == "" {
			t.Errorf("%q: exit code %d, %q", more, code, talk)
		}
	}
	if code, _, _ := call(t, "workshop", "from"); code != cmdutil.ExitUsage {
		t.Errorf("without a control plane: exit code %d", code)
	}
}

func TestWorkshopExportNeedsASandbox(t *testing.T) {
	withoutSandbox(t)
	if code, _, talk := call(t, "workshop", "export"); code != cmdutil.ExitUsage || !strings.Contains(talk, "--to") {
		t.Errorf("exit code %d: %s", code, talk)
	}
	if code, _, talk := call(t, "workshop", "export", "--to", filepath.Join(t.TempDir(), "patches")); code != cmdutil.ExitFailure || !strings.Contains(talk, "kalypso up") {
		t.Errorf("exit code %d: %s", code, talk)
	}
}
