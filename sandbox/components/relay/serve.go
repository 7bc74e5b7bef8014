package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
)

// hello begins the first stream. The number is that of the protocol; package
// sandbox/relay has it, too.
const hello = "kalypso-relay 1\n"

const (
	window = 1 << 20
	// stall is how long a busy machine may need to pass a message on. Whoever
	// takes longer is gone: then the ports are given back, so that a new relay
	// can take them.
	stall  = 30 * time.Second
	asking = 15 * time.Second
)

func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.MaxStreamWindowSize = window
	c.ConnectionWriteTimeout = stall
	c.KeepAliveInterval = asking
	c.LogOutput = io.Discard
	return c
}

// serve makes a stream of every connection. The first stream tells that it
// listens, and where.
func serve(ctx context.Context, d *doors, peer io.ReadWriteCloser) error {
	session, err := yamux.Client(peer, config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		// the other side opens no streams: this waits for the session's end
		_, err := session.AcceptStream()
		ended <- err
		cancel()
	}()
	if err := greet(session, d.addresses()); err != nil {
		if session.IsClosed() {
			return reason(<-ended)
		}
		return fmt.Errorf("tell that it listens: %w", err)
	}
	// on the way out nobody waits for the connections: they end with the program
	go d.each(ctx, func(c net.Conn) {
		stream, err := session.OpenStream()
		if err != nil {
			reset(c)
			return
		}
		join(c, stream)
	})
	<-ctx.Done()
	select {
	case err := <-ended:
		return reason(err)
	default:
		return nil // asked to end
	}
}

func greet(session *yamux.Session, addresses []string) error {
	stream, err := session.OpenStream()
	if err != nil {
		return err
	}
	_, err = io.WriteString(stream, hello+strings.Join(addresses, "\n")+"\n")
	return errors.Join(err, stream.Close())
}

// reason returns nil when the other side has just left.
func reason(err error) error {
	switch {
	case err == nil:
		return errors.New("the other side opens a stream, which only this one may")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return nil
	}
	return fmt.Errorf("the stream to kalypso: %w", err)
}
