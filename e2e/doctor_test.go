//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// TestDoctor looks after a sandbox as a user does: before there is one, while
// it runs, and when it is down.
func TestDoctor(t *testing.T) {
	m := newMachine(t)
	m.tutorial = "basic-inference"
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"BeforeTheFirstUp", doctorBefore},
		{"Running", doctorRunning},
		{"Restart", restartGitea},
		{"Logs", readLogs},
		{"Open", openForge},
		{"Down", doctorDown},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			m.t = t
			part.run(t, m)
		})
		m.t = t
		if !ok && part.name == "Running" {
			t.Fatal("no sandbox to look after")
		}
	}
}

// examine runs doctor; code is the exit code that it must have.
func (m *machine) examine(code int) doctor.Report {
	m.t.Helper()
	out, err := m.try("doctor", "-o", "json")
	if out.code != code {
		m.t.Fatalf("exit code %d, want %d: %v\n%s", out.code, code, err, out.all())
	}
	m.t.Logf("doctor: %.2f s", out.took.Seconds())
	var r doctor.Report
	m.decode(out.stdout, &r)
	return r
}

func finding(t *testing.T, r doctor.Report, check string) doctor.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("doctor does not look at %s", check)
	return doctor.Finding{}
}

func doctorBefore(t *testing.T, m *machine) {
	r := m.examine(0)
	if r.Running || len(r.Findings) != len(doctor.All()) {
		t.Errorf("%+v", r)
	}
	for _, check := range []string{"payload", "git", "home", "ports", "daemon"} {
		if f := finding(t, r, check); f.Severity != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	if _, err := os.Stat(m.home); err == nil {
		t.Error("looking has made the home")
	}
	t.Logf("\n%s", m.run("doctor").stdout)

	// without git nothing starts, and doctor and up say the same
	path := m.env
	defer func() { m.env = path }()
	m.env = append(append([]string{}, path...), "PATH="+m.dir)
	f := finding(t, m.examine(5), "git")
	out, _ := m.try("up")
	if f.Severity != doctor.Fatal || out.code != 5 || !strings.Contains(out.stderr, f.Found) || !strings.Contains(out.stderr, f.Fix) {
		t.Errorf("%+v; up has exit code %d and says %q", f, out.code, out.stderr)
	}
	if _, err := os.Stat(m.home); err == nil {
		t.Error("up has made the home of what cannot start")
	}
}

func doctorRunning(t *testing.T, m *machine) {
	m.up()
	r := m.examine(0)
	if !r.Running {
		t.Error("does not see that the sandbox runs")
	}
	if f := finding(t, r, "ports"); f.Severity != doctor.OK || !strings.Contains(f.Found, "all by this sandbox") {
		t.Errorf("%+v", f)
	}
	if f := finding(t, r, "daemon"); f.Severity != doctor.OK || !strings.Contains(f.Found, fmt.Sprintf("process %d,", m.status().PID)) {
		t.Errorf("%+v", f)
	}
	if f := finding(t, r, "memory"); !strings.Contains(f.Found, "beside the sandbox's") {
		t.Errorf("%+v", f)
	}
}

func restartGitea(t *testing.T, m *machine) {
	m.settle()
	before, pids, heads := m.component("gitea"), m.pids(), m.heads()
	out := m.run("restart", "gitea")
	t.Logf("restart: %.2f s: %s", out.took.Seconds(), strings.TrimSpace(out.stderr))
	after := m.component("gitea")
	if after.State != supervisor.Ready || after.PID == before.PID || !after.Since.After(before.Since) || after.Restarts != 0 {
		t.Errorf("gitea was %+v and is %+v", before, after)
	}
	if after.URL != m.credentials().URL {
		t.Errorf("at %s, want %s", after.URL, m.credentials().URL)
	}
	for name, pid := range m.pids() {
		if name != "gitea" && pid != pids[name] {
			t.Errorf("%s was process %d and is %d", name, pids[name], pid)
		}
	}
	m.settle()
	if got := m.heads(); fmt.Sprint(got) != fmt.Sprint(heads) {
		t.Errorf("commits have changed: %v, before %v", got, heads)
	}
	// what needs it has found it again
	m.forge(http.MethodPatch, "repos/kalypso/"+m.repositories()[0].Name, `{"description": "after the restart"}`)
	commit := m.push("kalypso-control-plane", "dev", map[string]string{"README.md": "after the restart\n"})
	waitFor(t, "the scheduler's answer to a push", 20*time.Second, func() error {
		for _, e := range m.scheduler().Environments {
			if e.Name == "dev" && e.Commit == commit {
				return nil
			}
		}
		return fmt.Errorf("environments %+v", m.scheduler().Environments)
	})
	if out, _ := m.try("restart", "gite"); out.code != 2 || !strings.Contains(out.stderr, "did you mean gitea?") {
		t.Errorf("exit code %d, says %q", out.code, out.stderr)
	}
	m.run("restart", "repositories")
}

// component is one of the sandbox's as status has it.
func (m *machine) component(name string) sandbox.Component {
	m.t.Helper()
	for _, c := range m.status().Components {
		if c.Name == name {
			return c
		}
	}
	m.t.Fatalf("no component %s", name)
	return sandbox.Component{}
}

func readLogs(t *testing.T, m *machine) {
	for _, name := range []string{"gitea", "etcd", "arc-cluster", "flux-arc-cluster", "scheduler", "daemon"} {
		all := m.run("logs", name).stdout
		if lines := strings.Count(all, "\n"); lines == 0 {
			t.Errorf("the log of %s is empty", name)
			continue
		}
		last := m.run("logs", name, "-n", "1").stdout
		if strings.Count(last, "\n") != 1 || name != "arc-cluster" && !strings.HasSuffix(all, last) {
			t.Errorf("the last line of %s: %q", name, last)
		}
		// every log's times are understood: all of it is of the last hour
		if since := m.run("logs", name, "--since", "1h").stdout; !strings.Contains(since, last) && name != "arc-cluster" {
			t.Errorf("the log of %s since an hour ago lacks %q", name, last)
		}
	}
	if all := m.run("logs", "gitea").stdout; strings.Count(all, "Git version: ") != 2 {
		t.Errorf("the log does not go on over the restart:\n%s", all)
	}
	if out, _ := m.try("logs", "gite"); out.code != 2 || !strings.Contains(out.stderr, "did you mean gitea?") {
		t.Errorf("exit code %d, says %q", out.code, out.stderr)
	}
}

func openForge(t *testing.T, m *machine) {
	url := m.credentials().OrgURL
	if out := m.run("open", "gitea", "--print"); out.stdout != url+"\n" {
		t.Errorf("prints %q", out.stdout)
	}
	out := m.run("open", "gitea", "kalypso-control-plane", "--print")
	page, err := http.Get(strings.TrimSpace(out.stdout))
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%s answers %s", out.stdout, page.Status)
	}
	if out, _ := m.try("open", "gitea", "kalypso-controlplane"); out.code != 2 || !strings.Contains(out.stderr, "did you mean kalypso-control-plane?") {
		t.Errorf("exit code %d, says %q", out.code, out.stderr)
	}
}

func doctorDown(t *testing.T, m *machine) {
	m.run("down")
	r := m.examine(0)
	if f := finding(t, r, "ports"); r.Running || f.Severity != doctor.OK || !strings.HasSuffix(f.Found, "are free") {
		t.Errorf("running %v, %+v", r.Running, f)
	}
	if f := finding(t, r, "daemon"); f.Severity != doctor.OK {
		t.Errorf("%+v", f)
	}
	if out, _ := m.try("restart", "gitea"); out.code != 1 || !strings.Contains(out.stderr, "`kalypso up`") {
		t.Errorf("exit code %d, says %q", out.code, out.stderr)
	}
}
