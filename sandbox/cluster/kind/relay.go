package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/relay"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	relayDeadline = engineWait + time.Minute
	relayPath     = "/usr/local/bin/kalypso-relay"
	dialLimit     = 5 * time.Second
	// podNetwork is what kind gives to pods unless it is told otherwise.
	podNetwork = "10.244.0.0/16"
)

// relay keeps the forge's address valid within the node: a program in it
// listens there, and what connects comes out on this machine. It goes through
// the engine's own door for running programs, so it needs no open port, and is
// the same wherever the engine runs.
func (n *node) relay(ctx context.Context, say func(string), ready func()) error {
	// the engine may be away, and then the node comes after it
	if err := retry.Until(ctx, "the node", engineWait, unhurried(n.runs)); err != nil {
		return err
	}
	say("copying the relay onto the node")
	if _, err := n.Engine.run(ctx, "cp", n.Relay(), n.container+":"+relayPath); err != nil {
		return err
	}
	say("connecting")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	port := strconv.Itoa(n.Forge)
	cmd := n.Engine.command(ctx, "exec", "--interactive", n.container, relayPath, "serve",
		"--listen="+net.JoinHostPort("127.0.0.1", port),
		// for pods, which have a loopback of their own
		"--listen=node:"+port, "--allow="+podNetwork)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := supervisor.StartCommand(cmd); err != nil {
		return err
	}
	var d net.Dialer
	r := relay.New(relay.Pipe(out, in), func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		return d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	})
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	_, err = r.Listening(ctx)
	if err == nil {
		ready()
		err = <-ended
	}
	cancel()
	_ = cmd.Wait() // how it has ended is in the relay's error and in its words
	if text := strings.TrimSpace(wrong.String()); text != "" {
		err = errors.Join(err, errors.New(text))
	}
	if err == nil {
		return context.Canceled
	}
	return fmt.Errorf("relay to the forge: %w", err)
}
