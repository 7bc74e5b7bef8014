package cli

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
)

// oneDaemon answers at the control socket of a sandbox with one cluster: all
// that asks for something by the given handler, and with the given events.
func oneDaemon(t *testing.T, events string, post http.HandlerFunc) {
	t.Helper()
	withoutSandbox(t)
	home := os.Getenv("KALYPSO_HOME")
	writeFile(t, filepath.Join(home, "sandbox.json"), []byte(stateFile))
	l, err := net.Listen("unix", filepath.Join(home, "daemon.sock"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(events + "\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /v1/", post)
	server := &http.Server{Handler: mux}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }
}

const (
	heldEvents  = `{"all":[{"name":"arc-cluster","group":"arc-cluster","state":"stopped","held":true,"reason":"stopped"}]}`
	readyEvents = `{"all":[{"name":"arc-cluster","group":"arc-cluster","state":"ready","pid":7}]}`
	failEvents  = `{"all":[{"name":"arc-cluster","group":"arc-cluster","state":"failed","reason":"port 2 is taken","log":"/h/a.log","logTail":["last words"]}]}`
	lateEvents  = `{"all":[{"name":"arc-cluster","group":"arc-cluster","state":"starting","reason":"no leader"}]}`
)

func TestStopAndStart(t *testing.T) {
	for _, c := range []struct {
		name, events string
		post         http.HandlerFunc
		args         []string
		code         int
		says         []string
	}{
		{"stopped", heldEvents, answer(`{"changed":true,"running":true}`), []string{"stop", "arc-cluster"}, cmdutil.ExitOK,
			[]string{"arc-cluster is stopped (", "`kalypso start arc-cluster`"}},
		{"stopped before", heldEvents, answer(`{"running":true}`), []string{"stop", "arc-cluster"}, cmdutil.ExitOK,
			[]string{"stopped already", "`kalypso start arc-cluster`"}},
		{"started", readyEvents, answer(`{"changed":true,"running":true}`), []string{"start", "arc-cluster"}, cmdutil.ExitOK,
			[]string{"arc-cluster is ready again ("}},
		{"ran before", readyEvents, answer(`{"running":true}`), []string{"start", "arc-cluster"}, cmdutil.ExitOK,
			[]string{"arc-cluster was not stopped; nothing changed."}},
		{"fails", failEvents, answer(`{"changed":true,"running":true}`), []string{"start", "arc-cluster"}, cmdutil.ExitFailure,
			[]string{"kalypso: arc-cluster failed", "Last lines of /h/a.log:\n  | last words"}},
		{"late", lateEvents, answer(`{"changed":true,"running":true}`), []string{"start", "arc-cluster", "--timeout", "200ms"}, cmdutil.ExitTimeout,
			[]string{"arc-cluster is not ready after 0s: no leader", "It goes on starting"}},
		{"stopped again", heldEvents, answer(`{"changed":true,"running":true}`), []string{"start", "arc-cluster"}, cmdutil.ExitFailure,
			[]string{"arc-cluster has been stopped again meanwhile"}},
		{"busy", readyEvents, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not while", http.StatusConflict) },
			[]string{"stop", "arc-cluster"}, cmdutil.ExitFailure, []string{"kalypso: not while\n"}},
		{"older daemon", readyEvents, http.NotFound, []string{"stop", "arc-cluster"}, cmdutil.ExitFailure, []string{"older kalypso"}},
		{"no such cluster", readyEvents, answer(`{}`), []string{"stop", "arc-clutser"}, cmdutil.ExitUsage, []string{"did you mean arc-cluster?"}},
		{"no name", readyEvents, answer(`{}`), []string{"stop"}, cmdutil.ExitUsage, []string{"usage: kalypso stop CLUSTER"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			oneDaemon(t, c.events, c.post)
			code, out, talk := call(t, c.args...)
			if code != c.code || out != "" {
				t.Errorf("exit code %d, want %d; %q, says %q", code, c.code, out, talk)
			}
			for _, says := range c.says {
				if strings.Count(talk, says) != 1 {
					t.Errorf("says %q, want once %q", talk, says)
				}
			}
		})
	}
}

func TestStopIsInterrupted(t *testing.T) {
	reached := make(chan struct{})
	oneDaemon(t, readyEvents, func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	_, talk, interrupt := background(t, "stop", "arc-cluster")
	<-reached
	if code := interrupt(); code != cmdutil.ExitInterrupted || !strings.Contains(talk.String(), "arc-cluster goes on ending") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
}

func TestStopWithoutARunningSandbox(t *testing.T) {
	if code, _, talk := call(t, "stop", "large"); code != cmdutil.ExitFailure || !strings.Contains(talk, "run `kalypso up`") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	logHome(t)
	for _, c := range []struct{ verb, says string }{
		{"stop", "until `kalypso start arc-cluster`"},
		{"stop", "has been stopped already"},
		{"start", "arc-cluster comes with the next `kalypso up`"},
	} {
		if code, _, talk := call(t, c.verb, "arc-cluster"); code != cmdutil.ExitOK || !strings.Contains(talk, c.says) {
			t.Errorf("%s: exit code %d, says %q", c.verb, code, talk)
		}
	}
}
