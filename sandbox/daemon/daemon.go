// Package daemon is the one process that owns all others of a sandbox. Run is
// that process: it supervises the components of a stack, and serves an API on a
// unix socket. Client is the other end of the socket.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// Run runs the sandbox whose state is in the home, until a client or a signal
// stops it. It returns nil at once when another daemon runs the sandbox already.
func Run(h state.Home, version string) error {
	// the shell's would be that of all children, and what pods of other users than
	// root read would be closed to them; secrets have a mode of their own
	posix.Umask(0o022)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	held, err := h.Lock(ctx)
	if errors.Is(err, state.ErrLocked) {
		log.Info("another daemon runs this sandbox")
		return nil
	}
	if err != nil {
		return err
	}
	defer held.Close()
	if err := h.KeepPrivate(); err != nil {
		return err
	}
	s, err := h.Load()
	if err != nil {
		return err
	}
	if err := s.UseEngine(); err != nil {
		return err
	}
	if err := os.MkdirAll(h.Path("tmp"), 0o700); err != nil {
		return err
	}
	// of another version, which nothing runs any more
	if err := components.Prune(h.Components()); err != nil {
		return err
	}
	if err := finishInterrupted(ctx, h, s, log); err != nil {
		return err
	}
	log.Info("sandbox starting", "home", string(h), "workshop", s.Workshop, "version", version)
	server := &Server{Home: h, State: s, Version: version, Log: log, Build: func() Parts {
		st := stack.New(h, s, log)
		return Parts{st.Units(), st.FillStatus, st.RenewCredentials, Clusters{st.ChangeClusters, st.ListClusters}}
	}}
	return server.Run(ctx)
}

// finishInterrupted finishes what an earlier daemon has begun, so that nothing
// runs on data of two kinds.
func finishInterrupted(ctx context.Context, h state.Home, s *state.State, log *slog.Logger) error {
	stopped, err := h.StoppedClusters()
	if err != nil {
		return err
	}
	removed, err := h.RemovedClusters(s)
	if err != nil {
		return err
	}
	interrupted, err := h.ReplacementPending()
	if err != nil || !interrupted && len(stopped)+len(removed) == 0 {
		return err
	}
	// a component that is not started again does not end its orphan, either
	if err := h.EndOrphans(ctx); err != nil {
		return err
	}
	what, err := h.FinishReplacement()
	if err != nil {
		return err
	}
	if what != "" {
		log.Info("finished what was interrupted", "what", what)
	}
	return h.Refresh(s)
}
