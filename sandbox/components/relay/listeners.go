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
)

// node is the host that stands for all addresses of this machine but loopback.
const node = "node"

const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// doors are the listeners, and who may come in.
type doors struct {
	listeners []net.Listener
	allow     []netip.Prefix
	log       io.Writer
}

// open listens on all addresses, or on none.
func open(ctx context.Context, addresses []string, allow []netip.Prefix, log io.Writer) (*doors, error) {
	d := &doors{allow: allow, log: log}
	for _, a := range addresses {
		spelled, err := expand(a, net.InterfaceAddrs)
		if err != nil {
			d.close()
			return nil, fmt.Errorf("listen on %s: %w", a, err)
		}
		for _, s := range spelled {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s)
			if err != nil {
				d.close()
				return nil, err // which names the address
			}
			d.listeners = append(d.listeners, l)
		}
	}
	return d, nil
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

func (d *doors) addresses() []string {
	var all []string
	for _, l := range d.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

func (d *doors) close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
}

// each calls handle with every connection that may come in, each in its own
// goroutine, until ctx ends; then it returns when all calls have.
func (d *doors) each(ctx context.Context, handle func(net.Conn)) {
	stop := context.AfterFunc(ctx, d.close)
	defer stop()
	var all sync.WaitGroup
	for _, l := range d.listeners {
		all.Go(func() {
			for {
				c, err := d.next(ctx, l)
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
func (d *doors) next(ctx context.Context, l net.Listener) (net.Conn, error) {
	pause := acceptPauseMin
	for {
		c, err := l.Accept()
		switch {
		case err == nil && d.allowed(c.RemoteAddr()):
			return c, nil
		case err == nil:
			reset(c)
			continue
		case errors.Is(err, net.ErrClosed):
			return nil, err
		}
		fmt.Fprintln(d.log, "relay:", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

func (d *doors) allowed(peer net.Addr) bool {
	a, err := netip.ParseAddrPort(peer.String())
	if err != nil {
		return false
	}
	ip := a.Addr().Unmap().WithZone("")
	return ip.IsLoopback() || slices.ContainsFunc(d.allow, func(p netip.Prefix) bool { return p.Contains(ip) })
}
