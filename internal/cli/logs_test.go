package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// logHome makes a sandbox that is down, with logs.
func logHome(t *testing.T) (dir string) {
	t.Helper()
	withoutSandbox(t)
	home := os.Getenv("KALYPSO_HOME")
	writeFile(t, filepath.Join(home, "sandbox.json"), []byte(stateFile))
	dir = filepath.Join(home, "logs")
	writeFile(t, filepath.Join(dir, "scheduler.log.1"), []byte("2025/03/01 10:00:00 of old\n"))
	var b strings.Builder
	for _, ago := range []time.Duration{3 * time.Hour, 20 * time.Minute, time.Minute} {
		fmt.Fprintf(&b, "time=%s level=INFO msg=%q\n", time.Now().Add(-ago).UTC().Format(time.RFC3339Nano), ago.String()+" ago")
	}
	writeFile(t, filepath.Join(dir, "scheduler.log"), []byte(b.String()))
	writeFile(t, filepath.Join(dir, "daemon.log"), []byte("up\n"))
	return dir
}

func TestCollectLogs(t *testing.T) {
	logHome(t)
	inner := filepath.Join(os.Getenv("KALYPSO_HOME"), "clusters", "arc-cluster")
	writeFile(t, filepath.Join(inner, "pki", "admin.kubeconfig"), nil)
	writeFile(t, filepath.Join(inner, "node", "logs", "kubelet.log"), []byte("hello\n"))
	dir := filepath.Join(t.TempDir(), "new")
	if code, out, talk := call(t, "logs", "--collect", dir); code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "Collected the logs in "+dir) {
		t.Fatalf("exit code %d, %q, %q", code, out, talk)
	}
	for file, want := range map[string]string{"daemon.log": "up\n", "arc-cluster/node/kubelet.log": "hello\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file))); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	for _, args := range [][]string{{"logs", "--collect", dir}, {"logs", "--collect", dir + "2", "gitea"}, {"logs", "--collect", dir + "2", "-n", "1"}} {
		if code, _, talk := call(t, args...); code != cmdutil.ExitUsage {
			t.Errorf("%q: exit code %d, %q", args, code, talk)
		}
	}
}

func TestLogs(t *testing.T) {
	logHome(t)
	for _, c := range []struct {
		args []string
		has  []string
		not  []string
	}{
		{[]string{"logs", "scheduler"}, []string{"of old\n", "3h0m0s ago", "1m0s ago"}, nil},
		{[]string{"logs", "scheduler", "-n", "2"}, []string{"20m0s ago", "1m0s ago"}, []string{"3h0m0s"}},
		{[]string{"logs", "scheduler", "-n", "4"}, []string{"of old", "1m0s ago"}, nil},
		{[]string{"logs", "scheduler", "-n", "0"}, nil, []string{"level"}},
		{[]string{"logs", "scheduler", "--since", "10m"}, []string{"1m0s ago"}, []string{"20m0s", "3h0m0s", "of old"}},
		{[]string{"logs", "scheduler", "--since=1h", "--lines=1"}, []string{"1m0s ago"}, []string{"20m0s"}},
		{[]string{"logs", "daemon"}, []string{"up\n"}, nil},
	} {
		code, out, talk := call(t, c.args...)
		if code != cmdutil.ExitOK || talk != "" {
			t.Errorf("%v: exit code %d, %q", c.args, code, talk)
		}
		for _, has := range c.has {
			if !strings.Contains(out, has) {
				t.Errorf("%v lacks %q:\n%s", c.args, has, out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(out, not) {
				t.Errorf("%v has %q:\n%s", c.args, not, out)
			}
		}
	}
}

func TestLogsMistakes(t *testing.T) {
	logHome(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"logs", "schedular"}, cmdutil.ExitUsage, "did you mean scheduler?"},
		{[]string{"logs", "xyz"}, cmdutil.ExitUsage, "Choose one of arc-cluster, daemon, etcd, flux-arc-cluster, gitea, hub, node-arc-cluster, runner, scheduler"},
		{[]string{"logs", "repositories"}, cmdutil.ExitUsage, "`kalypso status`"},
		{[]string{"logs", "gitea"}, cmdutil.ExitFailure, "gitea has not run yet"},
		{[]string{"logs", "scheduler", "-n", "-1"}, cmdutil.ExitUsage, "--lines -1"},
		{[]string{"logs", "scheduler", "-n", "many"}, cmdutil.ExitUsage, `--lines "many": give a whole number`},
		{[]string{"logs", "scheduler", "--since", "-5m"}, cmdutil.ExitUsage, "--since -5m0s"},
		{[]string{"logs", "scheduler", "--since", "yesterday"}, cmdutil.ExitUsage, `--since "yesterday": give a time`},
		{[]string{"logs", "scheduler", "daemon"}, cmdutil.ExitUsage, "usage: kalypso logs COMPONENT"},
	} {
		code, out, talk := call(t, c.args...)
		if code != c.code || out != "" || strings.Count(talk, c.says) != 1 {
			t.Errorf("%v: exit code %d, want %d; %q; says %q, want once %q", c.args, code, c.code, out, talk, c.says)
		}
	}
}

func TestLogsFollowUntilInterrupted(t *testing.T) {
	dir := logHome(t)
	out, talk, interrupt := background(t, "logs", "scheduler", "-f", "-n", "1")
	out.await(t, "1m0s ago", 1)
	path := filepath.Join(dir, "scheduler.log")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, []byte("anew\n"))
	out.await(t, "anew\n", 1)
	if code := interrupt(); code != cmdutil.ExitInterrupted || talk.String() != "" {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	if strings.Contains(out.String(), "20m0s") {
		t.Errorf("shows more than was asked for:\n%s", out)
	}
}
