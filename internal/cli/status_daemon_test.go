package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// fakeDaemon answers at the control socket of a home like a sandbox's. A test moves
// its components.
type fakeDaemon struct {
	home     string
	mu       sync.Mutex
	all      []sandbox.Component
	changed  chan struct{} // closed and made anew at each change
	restarts func(d *fakeDaemon, component string) (code int, message string)
}

const stateFile = `{"workshop": "basic-inference", "ports": {"gitea": 2, "etcd": 3}, "admin": {"user": "platform", "password": "hush"}}`

// runningSandbox makes a home with a sandbox that runs.
func runningSandbox(t *testing.T) *fakeDaemon {
	t.Helper()
	withoutSandbox(t)
	d := &fakeDaemon{home: os.Getenv("KALYPSO_HOME"), changed: make(chan struct{})}
	writeFile(t, filepath.Join(d.home, "sandbox.json"), []byte(stateFile))
	began := time.Now().Add(-90 * time.Second)
	d.all = []sandbox.Component{
		{Status: supervisor.Status{Name: "unpack-kube", Title: "unpack", OneShot: true, State: supervisor.Ready, Since: began}},
		{Status: supervisor.Status{Name: "gitea", Title: "git forge", State: supervisor.Ready, Since: began, PID: 77}, MemoryBytes: 200 << 20, URL: "http://localhost:2"},
	}
	l, err := net.Listen("unix", filepath.Join(d.home, "daemon.sock"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(d.status()) })
	mux.HandleFunc("GET /v1/events", d.events)
	mux.HandleFunc("POST /v1/restart", func(w http.ResponseWriter, r *http.Request) {
		code, message := d.restarts(d, r.URL.Query().Get("component"))
		if code >= http.StatusBadRequest {
			http.Error(w, message, code)
			return
		}
		w.WriteHeader(code)
	})
	server := &http.Server{Handler: mux}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return d
}

func (d *fakeDaemon) status() sandbox.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := sandbox.Status{
		Running: true, Ready: true, Home: d.home, Workshop: "basic-inference", Version: testVersion, PID: 7, Since: time.Now().Add(-time.Minute),
		ForgeURL: "http://localhost:2", User: "platform", Components: append([]sandbox.Component{}, d.all...),
	}
	for _, c := range d.all {
		s.Ready = s.Ready && c.State == supervisor.Ready
	}
	return s
}

func (d *fakeDaemon) events(w http.ResponseWriter, r *http.Request) {
	for {
		d.mu.Lock()
		changed := d.changed
		all := make([]supervisor.Status, len(d.all))
		for i, c := range d.all {
			all[i] = c.Status
		}
		d.mu.Unlock()
		if json.NewEncoder(w).Encode(map[string]any{"all": all}) != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// change changes the component gitea.
func (d *fakeDaemon) change(how func(*sandbox.Component)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	how(&d.all[1])
	d.all[1].Since = time.Now()
	close(d.changed)
	d.changed = make(chan struct{})
}

// paper is what a program prints that has not ended yet.
type paper struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// await waits until the paper says something so many times.
func (p *paper) await(t *testing.T, says string, times int) {
	t.Helper()
	for range 1000 {
		if strings.Count(p.String(), says) >= times {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("does not say %q %d times:\n%s", says, times, p.String())
}

// background runs kalypso until it is interrupted.
func background(t *testing.T, args ...string) (out, talk *paper, interrupt func() (code int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, talk = &paper{}, &paper{}
	ended := make(chan int, 1)
	go func() { ended <- Run(ctx, testVersion, args, strings.NewReader(""), out, talk) }()
	t.Cleanup(cancel)
	return out, talk, func() int {
		cancel()
		select {
		case code := <-ended:
			return code
		case <-time.After(10 * time.Second):
			t.Fatal("does not end")
			return 0
		}
	}
}
