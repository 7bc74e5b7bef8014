package sandbox

import (
	"context"
	"log/slog"
	"os/exec"

	"github.com/kalypso-dev/kalypso/sandbox/stack"
)

// HostCommand is a command on a host of the sandbox, in a terminal if that is wanted. The
// error is a *usage.Error for what is no host, ErrNoSandbox without a sandbox, and ErrDown
// or another with the reason when the host does not run.
func HostCommand(ctx context.Context, h Home, name string, terminal bool, argv []string) (*exec.Cmd, error) {
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	if !h.Locked() {
		return nil, ErrDown
	}
	host, err := stack.New(h, s, slog.New(slog.DiscardHandler)).Host(name)
	if err != nil {
		return nil, err
	}
	if _, err := host.Output(ctx, nil, "true"); err != nil {
		return nil, err
	}
	if terminal {
		return host.Terminal(ctx, argv...), nil
	}
	return host.Command(ctx, nil, argv...), nil
}
