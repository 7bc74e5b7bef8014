package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel"
)

// node is the host that stands for all addresses of this machine but loopback.
const node = "node"

const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// listeners are those of the program, with the networks that may connect.
type listeners struct {
	all   []net.Listener
	allow []netip.Prefix
	log   io.Writer
}

// open listens on all addresses, or on none.
func open(ctx context.Context, addresses []string, allow []netip.Prefix, log io.Writer) (*listeners, error) {
	s := &listeners{allow: allow, log: log}
	for _, a := range addresses {
		spelled, err := expand(a, net.InterfaceAddrs)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("listen on %s: %w", a, err)
		}
		for _, address := range spelled {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
			if err != nil {
				s.close()
				return nil, err // which names the address
			}
			s.all = append(s.all, l)
		}
	}
	return s, nil
}

// expand spells out what "node" stands for.
func expand(address string, interfaces func() ([]net.Addr, error)) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != node {
		return []string{address}, err
	}
	all, err := interfaces()
	if err != nil {
		return nil, err
	}
	var spelled []string
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() {
			spelled = append(spelled, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if len(spelled) == 0 {
		return nil, errors.New("this machine has no address but loopback")
	}
	slices.Sort(spelled)
	return slices.Compact(spelled), nil
}

func (s *listeners) addresses() []string {
	var all []string
	for _, l := range s.all {
		all = append(all, l.Addr().String())
	}
	return all
}

func (s *listeners) close() {
	for _, l := range s.all {
		_ = l.Close()
	}
}

// each calls handle with every connection that may come in, each in its own
// goroutine, until ctx ends; then it returns when all calls have.
func (s *listeners) each(ctx context.Context, handle func(net.Conn)) {
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	var all sync.WaitGroup
	for _, l := range s.all {
		all.Go(func() {
			for {
				c, err := s.next(ctx, l)
				if err != nil {
					return
				}
				all.Go(func() { handle(c) })
			}
		})
	}
	all.Wait()
}

// next returns the next connection that may come in. While there can be none,
// for want of file descriptors say, it says so and tries again.
func (s *listeners) next(ctx context.Context, l net.Listener) (net.Conn, error) {
	pause := acceptPauseMin
	for {
		c, err := l.Accept()
		switch {
		case err == nil && s.allowed(c.RemoteAddr()):
			return c, nil
		case err == nil:
			tunnel.Reset(c)
			continue
		case errors.Is(err, net.ErrClosed):
			return nil, err
		}
		fmt.Fprintln(s.log, "relay:", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

func (s *listeners) allowed(peer net.Addr) bool {
	a, err := netip.ParseAddrPort(peer.String())
	if err != nil {
		return false
	}
	ip := a.Addr().Unmap().WithZone("")
	return ip.IsLoopback() || slices.ContainsFunc(s.allow, func(p netip.Prefix) bool { return p.Contains(ip) })
}
