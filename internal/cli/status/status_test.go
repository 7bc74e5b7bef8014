package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
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
		Scheduler: json.RawMessage(`{}`),
		Environments: []sandbox.Environment{
			{Name: "dev", State: "synced", Revision: "0123456789", Targets: 1, Assignments: 2},
			{Name: "stage", State: "proposed", Targets: 1, PullRequest: &controller.PullRequestStatus{Number: 3, State: "open"}},
		},
		PullRequests: []sandbox.PullRequest{{Repository: "gitops", Number: 3, Title: "Kalypso: stage: a title that is longer than a line", URL: "http://localhost:2/kalypso/gitops/pulls/3"}},
		Problems: []sandbox.Problem{
			{Component: "etcd", Reason: "disk full"}, {Environment: "dev", Reason: "a.yaml:3: no such field"}, {Cluster: "drone", Object: "Pod ns/p", Reason: "no image"},
		},
		Components: []sandbox.Component{
			{Status: supervisor.Status{Name: "unpack", OneShot: true, State: supervisor.Ready, Since: now.Add(-time.Hour)}},
			{Status: supervisor.Status{Name: "gitea", State: supervisor.Ready, Since: now.Add(-5 * time.Second), PID: 77, Restarts: 2, LastFailure: "ended by itself"}, MemoryBytes: 200 << 20, URL: "http://localhost:2"},
			{Status: supervisor.Status{Name: "etcd", State: supervisor.Failed, Since: now.Add(-time.Minute), Restarts: 4, Reason: "disk full", LastFailure: "disk full", LogTail: []string{"no space"}}},
			{Status: supervisor.Status{Name: "large", State: supervisor.Stopped, Held: true, Since: now.Add(-time.Minute), Reason: "stopped by a user"}},
		},
	}
	var b bytes.Buffer
	if err := printStatus(&b, cmdutil.Style{}, s, now, false); err != nil {
		t.Fatal(err)
	}
	want := `Sandbox /h, workshop w: not ready, up for 1h0m
Forge   http://localhost:2/kalypso

ENVIRONMENT  STATE     REVISION  TARGETS  ASSIGNMENTS  PULL REQUEST
dev          synced    0123456   1        2            -
stage        proposed  -         1        0            #3

Pull requests that wait
  http://localhost:2/kalypso/gitops/pulls/3  Kalypso: stage: a title that is...

Problems
  etcd: disk full
    | no space
  dev: a.yaml:3: no such field
  drone Pod ns/p: no image

COMPONENT  STATE    SINCE   PID  MEMORY   RESTARTS  URL
gitea      ready    5s ago  77   200 MiB  2         http://localhost:2
etcd       failed   1m ago  -    -        4         -
large      stopped  1m ago  -    -        -         -

gitea: started again 2 times; the last time because: ended by itself

large: stopped by a user
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestStatusOnATerminal draws on one with few rows.
func TestStatusOnATerminal(t *testing.T) {
	var b bytes.Buffer
	rows := 6
	s := statusScreen{w: &b, style: cmdutil.Style{Terminal: true}, now: func() time.Time { return time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC) }, rows: func() int { return rows }}
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

func TestReportsAttachedClusters(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &sandbox.Status{
		Running: true, Home: "/h", Workshop: "w", Since: now, Existing: []sandbox.ExistingCluster{
			{Name: "drone", Context: "edge", Files: []string{"/a", "/b"}, Pods: "its nodes cannot pull"},
			{Name: "large", Context: "big", Files: []string{"/a"}, Theirs: "argocd", Pods: "its nodes cannot pull"},
		},
		Components: []sandbox.Component{
			{Status: supervisor.Status{Name: "flux-drone", State: supervisor.Ready, Since: now}},
			{Status: supervisor.Status{Name: "argocd-large", State: supervisor.Ready, Since: now}},
		},
	}
	var b bytes.Buffer
	if err := printStatus(&b, cmdutil.Style{}, s, now, false); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"\nCluster drone is yours: context edge of /a and /b; Flux runs beside it, on this machine.\n  Pods of the sample applications do not start there: its nodes cannot pull.\n",
		"\nCluster large is yours: context big of /a; its own Argo CD in namespace argocd follows git.\n",
	} {
		if !strings.Contains(b.String(), says) {
			t.Errorf("does not say %q:\n%s", says, b.String())
		}
	}
}

// TestVirtualClustersAreALine has a line for each group, and says of none of them
// twice what is wrong.
func TestVirtualClustersAreALine(t *testing.T) {
	failing := virtual.Group{First: "store-001", Last: "store-200", Type: "large", Count: 200, Ready: 190, Failed: 6, Offline: 4, Reason: "it broke"}
	s := &sandbox.Status{
		Running: true, Home: "/h", Workshop: "w", Scheduler: json.RawMessage(`{}`),
		Virtual:  []virtual.Group{{First: "edge", Last: "edge", Count: 1, Ready: 1}, failing},
		Problems: []sandbox.Problem{{Cluster: failing.Name(), Reason: failing.String()}, {Cluster: "drone", Reason: "no image"}},
	}
	var b bytes.Buffer
	if err := printStatus(&b, cmdutil.Style{}, s, time.Now(), false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nvirtual cluster edge: 1 ready\n", "\n200 virtual clusters store-001..store-200: 190 ready, 6 failed, 4 offline: it broke\n", "\n  drone: no image\n"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is not in it once:\n%s", want, b.String())
		}
	}
	if strings.Count(b.String(), "it broke") != 1 {
		t.Errorf("%s", b.String())
	}
}
