package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/hashicorp/yamux"
	"github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel"
)

// serve makes a stream of every connection. The first stream reports that the program
// listens, and where.
func serve(ctx context.Context, l *listeners, peer io.ReadWriteCloser) error {
	session, err := yamux.Client(peer, tunnel.Config())
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
	if err := greet(session, l.addresses()); err != nil {
		if session.IsClosed() {
			return reason(<-ended)
		}
		return fmt.Errorf("report the addresses that are listened on: %w", err)
	}
	// on the way out nobody waits for the connections: they end with the program
	go l.each(ctx, func(c net.Conn) {
		stream, err := session.OpenStream()
		if err != nil {
			tunnel.Reset(c)
			return
		}
		tunnel.Join(c, stream)
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
	_, err = io.WriteString(stream, tunnel.Hello+"\n"+strings.Join(addresses, "\n")+"\n")
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
