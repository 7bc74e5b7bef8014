package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

func TestPortsAreFreeAndDifferent(t *testing.T) {
	w, err := findWorkshop(DefaultWorkshop)
	if err != nil {
		t.Fatal(err)
	}
	names := w.listeners()
	ports, err := choosePorts(names)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]string{}
	for _, name := range names {
		port := ports[name]
		if port < firstPort || port > lastPort {
			t.Errorf("%s: port %d", name, port)
		}
		if seen[port] != "" {
			t.Errorf("%s and %s share port %d", name, seen[port], port)
		}
		seen[port] = name
		if err := checkPort(name, port); err != nil {
			t.Error(err)
		}
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	err = checkPort("gitea", port)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)) || !strings.Contains(err.Error(), "gitea") {
		t.Error(err)
	}
}

func TestStateIsMadeOnceAndKept(t *testing.T) {
	h := Home(t.TempDir())
	first, err := h.ensureState("basic-inference", Choice{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.ensureState("basic-inference", Choice{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(first)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Errorf("changed:\n%s\n%s", a, b)
	}
	info, err := os.Stat(h.stateFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the passwords' file: %v, %v", info.Mode(), err)
	}
	other, err := Home(t.TempDir()).ensureState("basic-inference", Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if other.Admin.Password == first.Admin.Password || other.WebhookSecret == first.WebhookSecret || other.ID == first.ID {
		t.Error("two sandboxes share a secret")
	}
}

func TestBrokenStateSaysWhatToDo(t *testing.T) {
	h := Home(t.TempDir())
	if err := os.WriteFile(h.stateFile(), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := h.LoadState()
	if err == nil || !strings.Contains(err.Error(), h.stateFile()) || !strings.Contains(err.Error(), "down --delete --forget") {
		t.Error(err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); err == nil || !h.Exists() {
		t.Errorf("deleted, whatever clusters it has: %v", err)
	}
	var note string
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true, Forget: true, Note: func(n string) { note = n }}); err != nil || h.Exists() {
		t.Errorf("not deleted: %v", err)
	}
	if !strings.Contains(note, h.stateFile()) {
		t.Errorf("note %q", note)
	}
}

// An engine may be gone for good, and its clusters with it.
func TestAnEngineThatIsGoneCanBeForgotten(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\necho nobody there >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for _, name := range []string{"KIND_EXPERIMENTAL_PROVIDER", "DOCKER_HOST"} {
		t.Setenv(name, "") // to be as before, whatever engine the sandbox makes this process use
	}
	h := Home(filepath.Join(t.TempDir(), "home"))
	s, err := h.ensureState("hello-world", Choice{})
	if err != nil {
		t.Fatal(err)
	}
	s.Provider, s.Engine = ProviderKind, &kind.Engine{Program: "docker"}
	if err := h.saveState(s); err != nil {
		t.Fatal(err)
	}
	_, err = Down(t.Context(), DownOptions{Home: h, Delete: true})
	var away *kind.AwayError
	if !errors.As(err, &away) || !strings.Contains(err.Error(), "nobody there") || !strings.Contains(err.Error(), "--forget") || !h.Exists() {
		t.Errorf("without its engine: %v", err)
	}
	var note string
	_, err = Down(t.Context(), DownOptions{Home: h, Delete: true, Forget: true, Note: func(n string) { note = n }})
	if err != nil || h.Exists() {
		t.Errorf("not forgotten: %v", err)
	}
	for _, want := range []string{"nobody there", "docker rm --force --volumes kalypso-" + s.ID + "-drone-control-plane kalypso-" + s.ID + "-large-control-plane"} {
		if !strings.Contains(note, want) {
			t.Errorf("note %q without %q", note, want)
		}
	}
}

func TestAFolderWithOtherThingsIsRefusedAndKept(t *testing.T) {
	h := Home(t.TempDir())
	mine := h.Path("thesis.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var usage *UsageError
	if _, err := h.ensureState("basic-inference", Choice{}); !errors.As(err, &usage) {
		t.Errorf("made a sandbox there: %v", err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); !errors.As(err, &usage) {
		t.Errorf("deleted there: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

func TestDeleteRemovesOursAndNothingElse(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	if _, err := h.ensureState("basic-inference", Choice{}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range ours {
		if filepath.Ext(dir) == "" && dir != "kubeconfig" {
			if err := os.MkdirAll(h.Path(dir, "deep"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine := h.Path("notes")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(string(h))
	if err != nil || len(left) != 1 || left[0].Name() != "notes" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ensureState("basic-inference", Choice{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(h)); err == nil {
		t.Error("the folder is still there")
	}
	if did, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); did || err != nil {
		t.Errorf("nothing to delete: %v, %v", did, err)
	}
}

func TestLongHomeIsRefusedAtOnce(t *testing.T) {
	t.Setenv("KALYPSO_HOME", "/"+strings.Repeat("x", maxSocketPath))
	if _, err := FindHome(); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
}

func TestUnknownChoicesNameTheKnown(t *testing.T) {
	h := Home(t.TempDir())
	for want, o := range map[string]Options{
		"basic-inference":     {Workshop: "nope"},
		"embedded, kind":      {Choice: Choice{Provider: "nope"}},
		"give --provider kin": {Choice: Choice{Image: "kindest/node"}},
	} {
		o.Home = h
		var usage *UsageError
		if err := o.check(); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", o, err, want)
		}
	}
}

func TestSandboxKeepsItsClusters(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := h.ensureState("hello-world", Choice{}); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"":                         {Workshop: "hello-world", Choice: Choice{Provider: ProviderEmbedded}},
		"the workshop hello-world": {Workshop: "basic-inference"},
		"embedded clusters":        {Choice: Choice{Provider: ProviderKind}},
	} {
		o.Home = h
		var usage *UsageError
		if err := o.check(); errors.As(err, &usage) != (want != "") || want != "" && !strings.Contains(err.Error(), "holds "+want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

func TestOneDaemonAtATime(t *testing.T) {
	h := Home(t.TempDir())
	f, err := h.lock()
	if err != nil {
		t.Fatal(err)
	}
	if !h.locked() {
		t.Error("not locked")
	}
	if _, err := h.lock(); !errors.Is(err, errLocked) {
		t.Errorf("second lock: %v", err)
	}
	f.Close()
	if h.locked() {
		t.Error("still locked")
	}
}

// TestControlDoor drives a daemon's door over a real socket.
func TestControlDoor(t *testing.T) {
	h := Home(t.TempDir())
	gate := make(chan struct{})
	s, err := supervisor.New(slog.New(slog.NewTextHandler(io.Discard, nil)),
		supervisor.Unit{Name: "a", Deadline: time.Minute, Component: supervisor.Task{Run: func(ctx context.Context) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}},
		supervisor.Unit{Name: "b", Needs: []string{"a"}, Deadline: time.Minute, Component: supervisor.Task{Run: func(context.Context) error { return nil }}},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	r, err := newRuns(func() (*supervisor.Supervisor, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- r.run(ctx) }()

	d := openDoor(h)
	if _, err := d.status(t.Context()); !errors.Is(err, errNoDaemon) {
		t.Errorf("nobody there: %v", err)
	}
	l, err := listenPrivately(h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(h.Socket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info.Mode(), err)
	}
	c := &control{runs: r, stop: stop, status: func(context.Context) Status { return Status{Workshop: "w", Ready: ready(s.Status())} }}
	server := &http.Server{Handler: c.handler()}
	go server.Serve(l)
	defer server.Close()

	var seen []string
	err = d.follow(t.Context(), func(all []supervisor.Status) bool {
		line := string(all[0].State) + " " + string(all[1].State)
		if len(seen) == 0 {
			close(gate)
		}
		seen = append(seen, line)
		return !ready(all)
	})
	if err != nil || seen[len(seen)-1] != "ready ready" {
		t.Errorf("followed %q, %v", seen, err)
	}
	status, err := d.status(t.Context())
	if err != nil || status.Workshop != "w" || !status.Ready {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := d.post(t.Context(), pathRepair); err != nil {
		t.Error(err)
	}
	if err := d.post(t.Context(), pathStop); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestWorldFitsTogether checks what no compiler does: that the units' needs
// are met, that each has a deadline, and that the fixtures name every
// repository and environment that the workshop uses.
func TestWorldFitsTogether(t *testing.T) {
	for _, w := range workshops {
		h := Home(t.TempDir())
		s, err := h.ensureState(w.name, Choice{})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		units := newWorld(h, s, w, log).units()
		if _, err := supervisor.New(log, units...); err != nil {
			t.Error(err)
		}
		for _, u := range units {
			if u.Deadline == 0 || u.Title == "" {
				t.Errorf("unit %s has no deadline or no title", u.Name)
			}
		}
		content, err := fixtures.Load(w.name, s.OrgURL())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := content.Repository(w.controlPlane); !ok {
			t.Errorf("no repository %s", w.controlPlane)
		}
		for _, c := range w.clusters {
			for _, sub := range c.follows {
				r, ok := content.Repository(sub.repository)
				if !ok {
					t.Errorf("no repository %s", sub.repository)
				}
				if _, ok := r.Branch(sub.branch); !ok {
					t.Errorf("no branch %s of %s", sub.branch, sub.repository)
				}
			}
		}
	}
}

func TestSchedulerConfigIsTaken(t *testing.T) {
	h := Home(t.TempDir())
	s, err := h.ensureState("basic-inference", Choice{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := newWorld(h, s, workshops[0], slog.Default()).schedulerConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.ParseConfig("config.yaml", b)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != s.address("scheduler") || c.PromoteTo != "" || c.ControlPlane.Repo != s.OrgURL()+"/kalypso-control-plane" {
		t.Errorf("%+v", c)
	}
}

func TestChildrenGetNoProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy:1")
	t.Setenv("KUBECONFIG", "/mine")
	t.Setenv("GIT_DIR", "/mine")
	for _, kv := range childEnvironment("/h") {
		name, _, _ := strings.Cut(kv, "=")
		if name == "HTTPS_PROXY" || name == "KUBECONFIG" || name == "GIT_DIR" {
			t.Errorf("%s reaches the children", name)
		}
	}
}
