package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/scenarios"
)

// A cluster that somebody has stopped is named, by whatever it is missed, and
// is not waited for.
func TestStopped(t *testing.T) {
	const (
		ready   = `{"running": true, "components": [{"name": "drone", "group": "drone", "state": "ready", "since": "2026-01-01T00:00:00Z"}]}`
		stopped = `{"running": true, "components": [
			{"name": "drone", "group": "drone", "state": "stopped", "held": true, "since": "2026-01-01T00:00:00Z"},
			{"name": "node-drone", "group": "drone", "state": "stopped", "held": true, "since": "2026-01-01T00:00:00Z"}]}`
		start = "cluster drone is stopped: `kalypso start drone` brings it back; "
		wait  = "eventually 30s kubectl --context drone get --filename wanted.yaml"
	)
	for name, test := range map[string]struct {
		status, script string
		reason         string // begins with it
	}{
		"waited for":        {stopped, wait, start + "kubectl: exit status 1: The connection"},
		"asked once":        {stopped, "kubectl --context drone get --filename wanted.yaml", start + "kubectl: exit status 1: The connection"},
		"missed indirectly": {stopped, "repo show kalypso-control-plane main nothing", start + "kalypso-control-plane has no file"},
		"all is well":       {ready, "repo show kalypso-control-plane main nothing", "kalypso-control-plane has no file"},
		"down":              {`{"running": false}`, "kubectl get --filename wanted.yaml", "the sandbox is down: `kalypso up` brings it back; kubectl"},
		"scheduler": {`{"running": true, "components": [{"name": "scheduler", "state": "stopped"}, {"name": "runner", "state": "failed"}]}`,
			"exists nothing", "runner has failed: `kalypso status` says why; scheduler is stopped: `kalypso start scheduler` brings it back; "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forgeWithoutScheduler(t)
			if err := os.WriteFile(filepath.Join(f.home, "status"), []byte(test.status), 0o600); err != nil {
				t.Fatal(err)
			}
			o := sectionOptions(f, "# x\n\nstep Try\nlook\n"+test.script+"\n-- wanted.yaml --\nkind: A\nmetadata: {name: x}\n")
			// without the repository the fake kubectl is refused
			if err := os.WriteFile(o.Access.Kubeconfig, []byte(filepath.Join(f.home, "nothing")), 0o600); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r, err := Run(t.Context(), o)
			var check *scenarios.CheckError
			if !errors.As(err, &check) || !strings.HasPrefix(check.Reason, test.reason) {
				t.Errorf("error %v, want %q", err, test.reason)
			}
			what, _, _ := strings.Cut(test.reason, ";")
			if !strings.Contains(r.Steps[0].Output, what) {
				t.Errorf("the output does not say so: %s", r.Steps[0].Output)
			}
			if time.Since(began) > 20*time.Second {
				t.Error("it was waited for")
			}
		})
	}
}
