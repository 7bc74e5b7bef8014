package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel"
)

const (
	dialLimit  = 10 * time.Second
	checkLimit = 2 * time.Second
	// linger is how long one direction may go on when the other one has failed:
	// a server that hangs up in the middle of a request has answered it.
	linger = 5 * time.Second
)

// forward dials for every connection.
func forward(ctx context.Context, l *listeners, to string) error {
	l.each(ctx, func(c net.Conn) {
		up, err := (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", to)
		if err != nil {
			fmt.Fprintln(l.log, "relay:", err)
			tunnel.Reset(c)
			return
		}
		stop := context.AfterFunc(ctx, func() { tunnel.Reset(c); tunnel.Reset(up) })
		defer stop()
		pair(c, up)
	})
	return nil
}

// pair copies both ways until both have ended.
func pair(a, b net.Conn) {
	failed := make(chan bool, 2)
	oneWay := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		tunnel.CloseWrite(to)
		if err != nil {
			_ = to.SetReadDeadline(time.Now().Add(linger))
		}
		failed <- err != nil
	}
	go oneWay(a, b)
	go oneWay(b, a)
	first, second := <-failed, <-failed
	for _, c := range []net.Conn{a, b} {
		if first || second {
			tunnel.Reset(c)
		} else {
			_ = c.Close()
		}
	}
}

// check returns nil when something listens at the address.
func check(ctx context.Context, to string) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return err
	}
	return c.Close()
}
