package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestRestart(t *testing.T) {
	d := runningSandbox(t)
	d.restarts = func(d *fakeDaemon, component string) (int, string) {
		if component != "gitea" {
			return http.StatusConflict, "no"
		}
		d.change(func(c *sandbox.Component) { c.State, c.PID = supervisor.Stopping, 0 })
		go func() {
			d.change(func(c *sandbox.Component) { c.State, c.Reason = supervisor.Starting, "port closed" })
			d.change(func(c *sandbox.Component) { c.State, c.PID, c.Reason = supervisor.Ready, 78, "" })
		}()
		return http.StatusAccepted, ""
	}
	code, out, talk := call(t, "restart", "gitea")
	if code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "gitea is ready again (0.") || !strings.Contains(talk, "process 78") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
}

func TestRestartMistakes(t *testing.T) {
	d := runningSandbox(t)
	d.restarts = func(d *fakeDaemon, component string) (int, string) {
		switch component {
		case "gitea":
			d.change(func(c *sandbox.Component) {
				c.State, c.Reason, c.LogTail, c.Log = supervisor.Failed, "port 2 is taken", []string{"last words"}, "/h/gitea.log"
			})
			return http.StatusAccepted, ""
		case "unpack-kube":
			return http.StatusConflict, "unpack-kube has not been started yet: it waits for etcd, which is starting"
		}
		return http.StatusNotFound, "404 page not found"
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"restart"}, cmdutil.ExitUsage, []string{"usage: kalypso restart COMPONENT"}},
		{[]string{"restart", "gitee"}, cmdutil.ExitUsage, []string{"did you mean gitea?", "Choose one of unpack-kube, gitea"}},
		{[]string{"restart", "daemon"}, cmdutil.ExitUsage, []string{"`kalypso down`"}},
		{[]string{"restart", "gitea"}, cmdutil.ExitFailure, []string{"gitea failed", "port 2 is taken", "Last lines of /h/gitea.log:\n  | last words"}},
		{[]string{"restart", "unpack-kube"}, cmdutil.ExitFailure, []string{"it waits for etcd"}},
		{[]string{"restart", "gitea", "--timeout", "soon"}, cmdutil.ExitUsage, []string{`--timeout "soon": give a time`}},
	} {
		code, out, talk := call(t, c.args...)
		if code != c.code || out != "" {
			t.Errorf("%v: exit code %d, want %d; %q", c.args, code, c.code, out)
		}
		for _, says := range c.says {
			if strings.Count(talk, says) != 1 {
				t.Errorf("%v says %q, want once %q", c.args, talk, says)
			}
		}
	}
}

func TestRestartThatTakesTooLong(t *testing.T) {
	d := runningSandbox(t)
	d.restarts = func(d *fakeDaemon, _ string) (int, string) {
		d.change(func(c *sandbox.Component) { c.State, c.Reason = supervisor.Starting, "still migrating" })
		return http.StatusAccepted, ""
	}
	code, _, talk := call(t, "restart", "gitea", "--timeout", "200ms")
	if code == cmdutil.ExitOK || !strings.Contains(talk, "gitea is not ready after 0s: still migrating") || !strings.Contains(talk, "It goes on starting") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	_, talking, interrupt := background(t, "restart", "gitea")
	d.change(func(c *sandbox.Component) { c.Reason = "still" })
	if code := interrupt(); code != cmdutil.ExitInterrupted {
		t.Errorf("interrupted: exit code %d, says %q", code, talking)
	}
}

func TestRestartOfASandboxThatIsDown(t *testing.T) {
	logHome(t)
	if code, _, talk := call(t, "restart", "gitea"); code != cmdutil.ExitFailure || !strings.Contains(talk, "`kalypso up`") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
}
