package sandbox

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

func TestRestart(t *testing.T) {
	h := Home(t.TempDir())
	gitea, etcd := &daemontest.Part{}, &daemontest.Part{}
	d := daemontest.Serve(t, h, etcd.Unit("etcd"), gitea.Unit("gitea", "etcd"))
	d.Settle(t)
	before := d.Status(t)[1]
	var seen []supervisor.State
	s, err := Restart(t.Context(), h, "gitea", time.Minute, func(s supervisor.Status) {
		if s.Name != "gitea" {
			t.Errorf("reported %s", s.Name)
		}
		seen = append(seen, s.State)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "gitea" || s.State != supervisor.Ready || !s.Since.After(before.Since) {
		t.Errorf("%+v, before %+v", s, before)
	}
	if gitea.Starts() != 2 || etcd.Starts() != 1 {
		t.Errorf("%d starts of gitea, %d of etcd", gitea.Starts(), etcd.Starts())
	}
	if len(seen) == 0 || seen[len(seen)-1] != supervisor.Ready {
		t.Errorf("progress %q", seen)
	}
}

func TestRestartSaysWhatIsWrong(t *testing.T) {
	h := Home(t.TempDir())
	d := daemontest.Serve(t, h, daemontest.Steady("etcd"),
		(&daemontest.Part{OnReady: func(start int) error { return map[bool]error{true: errors.New("still migrating")}[start > 1] }}).Unit("gitea"),
		(&daemontest.Part{OnInit: func(start int) error {
			return map[bool]error{true: &supervisor.PermanentError{Err: errors.New("port 3 is taken")}}[start > 1]
		}}).Unit("scheduler"),
	)
	d.Settle(t)
	var mistake *usage.Error
	for name, says := range map[string]string{
		"gite":   "did you mean gitea?",
		"xyz":    "etcd, gitea, scheduler",
		"daemon": "`kalypso down` and `kalypso up`",
	} {
		if _, err := Restart(t.Context(), h, name, time.Minute, nil); !errors.As(err, &mistake) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	var failed *FailedError
	if _, err := Restart(t.Context(), h, "scheduler", time.Minute, nil); !errors.As(err, &failed) || failed.Failed[0].Reason != "port 3 is taken" {
		t.Error(err)
	}
	var late *TimeoutError
	if _, err := Restart(t.Context(), h, "gitea", 300*time.Millisecond, nil); !errors.As(err, &late) || late.What != "gitea" || late.Reason != "still migrating" {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Restart(ctx, h, "gitea", time.Minute, nil); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestRestartOfAComponentThatWaits(t *testing.T) {
	h := Home(t.TempDir())
	never := &daemontest.Part{OnReady: func(int) error { return errors.New("not yet") }}
	daemontest.Serve(t, h, never.Unit("etcd"), new(daemontest.Part).Unit("arc-cluster", "etcd"))
	_, err := Restart(t.Context(), h, "arc-cluster", time.Minute, nil)
	if err == nil || !strings.Contains(err.Error(), "etcd, which is starting") {
		t.Error(err)
	}
}

func TestRestartWithoutADaemon(t *testing.T) {
	h := Home(t.TempDir())
	if _, err := Restart(t.Context(), h, "gitea", time.Minute, nil); !errors.Is(err, ErrNoSandbox) {
		t.Error(err)
	}
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Restart(t.Context(), h, "gitea", time.Minute, nil); !errors.Is(err, ErrDown) {
		t.Error(err)
	}
}

// TestRestartByAnOlderDaemon is about one that does not know the request.
func TestRestartByAnOlderDaemon(t *testing.T) {
	h := Home(t.TempDir())
	l, err := net.Listen("unix", h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"all":[{"name":"gitea","state":"ready"}]}` + "\n"))
	})
	server := &http.Server{Handler: mux}
	go server.Serve(l)
	defer server.Close()
	if _, err := Restart(t.Context(), h, "gitea", time.Minute, nil); err == nil || !strings.Contains(err.Error(), "older kalypso") {
		t.Error(err)
	}
}

func TestTimeoutError(t *testing.T) {
	for want, e := range map[string]*TimeoutError{
		"gitea is not ready after 1m0s: port closed": {"gitea", time.Minute, "port closed"},
		"gitea is not ready after 2s":                {"gitea", 1900 * time.Millisecond, ""},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
}

// awaitAll waits until all components are ready again.
func awaitAll(t *testing.T, h Home) error {
	t.Helper()
	_, err := awaitReady(t.Context(), daemon.NewClient(h), selection{})
	return err
}
