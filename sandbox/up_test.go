package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// diesEarly makes the daemon of a test kill itself before its first step.
const diesEarly = "KALYPSO_TEST_DIES_EARLY"

// TestMain makes the test's program the daemon that Up starts: one with a single
// component, on the state that it finds.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || os.Args[1] != "daemon" {
		os.Exit(m.Run())
	}
	if os.Getenv(diesEarly) != "" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if err := runTestDaemon(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runTestDaemon() error {
	h, err := state.FindHome()
	if err != nil {
		return err
	}
	held, err := h.Lock(context.Background())
	if err != nil {
		return err
	}
	defer held.Close()
	s, err := h.Load()
	if err != nil {
		return err
	}
	server := &daemon.Server{Home: h, State: s, Log: slog.New(slog.DiscardHandler), Build: func() daemon.Parts {
		return daemon.Parts{Units: []supervisor.Unit{daemontest.Steady("gitea")}}
	}}
	return server.Run(context.Background())
}

// TestUpThatIsKilled: `up` may be killed before and after it has written the
// state, and so may the daemon before its first step. The next `up` goes on with
// the same state, and `down --delete` leaves nothing.
func TestUpThatIsKilled(t *testing.T) {
	choice := Choice{Workshop: "basic-inference"}
	stages := map[string]func(*testing.T, Home) *state.State{
		"before the state is written": func(t *testing.T, h Home) *state.State {
			if err := os.MkdirAll(string(h), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(h.Path(".sandbox.json4711"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"before the daemon is started": func(t *testing.T, h Home) *state.State {
			s, err := h.Ensure(t.Context(), choice)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		"before the daemon's first step": func(t *testing.T, h Home) *state.State {
			t.Setenv(diesEarly, "1")
			defer os.Unsetenv(diesEarly)
			if err := launch(t.Context(), daemon.NewClient(h), h, choice); err == nil {
				t.Error("no error though the daemon has died")
			}
			s, err := h.Load()
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for stage, interrupt := range stages {
		for _, next := range []string{"up", "down"} {
			t.Run(stage+", "+next, func(t *testing.T) {
				h := Home(filepath.Join(t.TempDir(), "home"))
				before := interrupt(t, h)
				if next == "up" {
					client := daemon.NewClient(h)
					if err := launch(t.Context(), client, h, choice); err != nil {
						t.Fatal(err)
					}
					if _, err := awaitReady(t.Context(), client, selection{}); err != nil {
						t.Error(err)
					}
					s, err := client.Status(t.Context())
					if err != nil || s.Workshop != choice.Workshop || before != nil && s.ForgeURL != before.ForgeURL() {
						t.Errorf("%+v, %v", s, err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if _, err := Down(ctx, DownOptions{Home: h, Delete: true}); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(h.Path("sandbox.json")); !os.IsNotExist(err) {
					t.Errorf("the state is left: %v", err)
				}
			})
		}
	}
}
