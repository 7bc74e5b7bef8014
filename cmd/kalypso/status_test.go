package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1400 * time.Millisecond: "1s", 50 * time.Second: "50s",
		time.Minute: "1m", 70 * time.Second: "1m10s", 7*time.Minute + 20*time.Second: "7m20s", 20 * time.Minute: "20m",
		time.Hour: "1h0m", 90 * time.Minute: "1h30m", 26*time.Hour + 20*time.Minute: "26h20m",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestStatusTable(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &sandbox.Status{
		Running: true, Home: "/h", Workshop: "w", Since: now.Add(-time.Hour), ForgeURL: "http://localhost:2",
		Scheduler: json.RawMessage(`{"environments":[{"name":"dev","state":"synced","targets":1,"assignments":2,"problems":[]}]}`),
		Components: []sandbox.Component{
			{Status: supervisor.Status{Name: "unpack", State: supervisor.Ready, Since: now.Add(-time.Hour)}},
			{Status: supervisor.Status{Name: "gitea", State: supervisor.Ready, Since: now.Add(-5 * time.Second), PID: 77, Restarts: 2, LastFailure: "ended by itself"}, MemoryBytes: 200 << 20, URL: "http://localhost:2"},
			{Status: supervisor.Status{Name: "etcd", State: supervisor.Failed, Since: now.Add(-time.Minute), Restarts: 4, Reason: "disk full", LastFailure: "disk full", LogTail: []string{"no space"}}},
		},
	}
	var b bytes.Buffer
	if err := printStatus(&b, style{}, s, now); err != nil {
		t.Fatal(err)
	}
	want := `Sandbox /h, workshop w: not ready, up for 1h0m

COMPONENT  STATE   SINCE     PID  MEMORY   RESTARTS  URL
unpack     ready   1h0m ago  -    -        -         -
gitea      ready   5s ago    77   200 MiB  2         http://localhost:2
etcd       failed  1m ago    -    -        4         -

gitea: started again 2 times; the last time because: ended by itself

etcd: disk full
  | no space

Forge  http://localhost:2/kalypso

Environment dev: synced, 1 deployment target, 2 assignments
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestStatusAsJSONHasAllOfTheTable(t *testing.T) {
	d := runningSandbox(t)
	d.change(func(c *sandbox.Component) { c.LastFailure, c.Restarts = "ended by itself", 1 })
	code, out, talk := call(t, "status", "-o", "json")
	var s struct{ Components []map[string]any }
	if err := json.Unmarshal([]byte(out), &s); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, talk)
	}
	gitea := s.Components[1]
	for name, want := range map[string]any{
		"name": "gitea", "state": "ready", "pid": 77.0, "restarts": 1.0, "memoryBytes": float64(200 << 20),
		"url": "http://localhost:2", "lastFailure": "ended by itself",
	} {
		if gitea[name] != want {
			t.Errorf("%s is %v, want %v", name, gitea[name], want)
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(gitea["since"])); err != nil {
		t.Error(err)
	}
}

func TestStatusWatch(t *testing.T) {
	d := runningSandbox(t)
	out, talk, interrupt := background(t, "status", "--watch")
	out.await(t, "basic-inference: ready", 1)
	d.change(func(c *sandbox.Component) { c.State, c.Reason, c.PID = supervisor.Starting, "port closed", 0 })
	out.await(t, "gitea: port closed", 1)
	d.change(func(c *sandbox.Component) { c.State, c.Reason, c.PID = supervisor.Ready, "", 78 })
	out.await(t, "basic-inference: ready", 2)
	if code := interrupt(); code != exitInterrupted || talk.String() != "" {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	// a block with the time for each change and no more
	if blocks := strings.Count("\n"+out.String(), "\n--- "); blocks != 3 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d blocks, want 3:\n%s", blocks, out)
	}
}

func TestStatusWatchAsJSON(t *testing.T) {
	d := runningSandbox(t)
	out, _, interrupt := background(t, "status", "-w", "-o", "json")
	out.await(t, "\n", 1)
	d.change(func(c *sandbox.Component) { c.State = supervisor.Stopping })
	out.await(t, "\n", 2)
	interrupt()
	var states []string
	for line := range strings.Lines(out.String()) {
		var s sandbox.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		states = append(states, string(s.Components[1].State))
	}
	if !slices.Equal(states, []string{"ready", "stopping"}) {
		t.Errorf("states %q", states)
	}
}

func TestStatusWatchOfASandboxThatIsDeleted(t *testing.T) {
	d := runningSandbox(t)
	if err := os.Remove(filepath.Join(d.home, "daemon.sock")); err != nil {
		t.Fatal(err)
	}
	out, talk, interrupt := background(t, "status", "--watch")
	out.await(t, "is down", 1)
	if err := os.Remove(filepath.Join(d.home, "sandbox.json")); err != nil {
		t.Fatal(err)
	}
	talk.await(t, "there is no sandbox", 1)
	interrupt()
	if strings.Count(out.String(), "is down") != 1 {
		t.Errorf("says twice that nothing has changed:\n%s", out)
	}
}

func TestStatusMistakes(t *testing.T) {
	for _, args := range [][]string{{"status", "--watch", "-o", "xml"}, {"status", "--watch", "gitea"}, {"status", "--watch=perhaps"}} {
		if code, out, talk := call(t, args...); code != exitUsage || out != "" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, talk)
		}
	}
	if code, _, talk := call(t, "status", "--watch"); code != exitFailure || !strings.Contains(talk, "run `kalypso up`") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

// TestStatusOnATerminal draws on one with few rows.
func TestStatusOnATerminal(t *testing.T) {
	var b bytes.Buffer
	rows := 6
	s := statusScreen{w: &b, style: style{terminal: true}, now: func() time.Time { return time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC) }, rows: func() int { return rows }}
	status := &sandbox.Status{Running: true, Home: "/h", Workshop: "w"}
	for i := range 9 {
		status.Components = append(status.Components, sandbox.Component{Status: supervisor.Status{Name: fmt.Sprint("c", i), State: supervisor.Ready}})
	}
	if err := s.show(status); err != nil {
		t.Fatal(err)
	}
	first := b.String()
	if !strings.HasPrefix(first, screenClear+screenHome) || !strings.HasSuffix(first, screenRest+wrapOn) {
		t.Errorf("%q", first)
	}
	lines := strings.Split(strings.TrimSuffix(first, screenRest+wrapOn), "\n")
	if len(lines) != rows || !strings.Contains(lines[0], "12:00:00") || !strings.Contains(lines[rows-2], "more lines") {
		t.Errorf("%d lines on %d rows: %q", len(lines), rows, lines)
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasSuffix(line, lineRest) {
			t.Errorf("what was there before shows behind %q", line)
		}
	}
	b.Reset()
	rows = 0 // not known
	if err := s.show(status); err != nil {
		t.Fatal(err)
	}
	if again := b.String(); strings.Contains(again, screenClear) || !strings.HasPrefix(again, screenHome) || !strings.Contains(again, "c8") {
		t.Errorf("the second time: %q", again)
	}
}
