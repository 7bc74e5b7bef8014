package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const limit = 30 * time.Second

// nobody is the peer of a program that serves none.
type nobody struct{ io.ReadWriteCloser }

func TestUsage(t *testing.T) {
	for _, line := range []string{
		"", "dance", "serve", "forward --listen=127.0.0.1:1", "forward --to=127.0.0.1:1", "check",
		"serve --listen=127.0.0.1", "serve --listen=:80", "serve --listen=127.0.0.1:x", "serve --listen=127.0.0.1:1 extra",
		"serve --listen=127.0.0.1:1 --allow=10.0.0.0", "serve --listen=127.0.0.1:1 --to=127.0.0.1:2", "check --to=127.0.0.1:1 --listen=127.0.0.1:2",
	} {
		var wrong usageError
		if err := run(t.Context(), strings.Fields(line), nobody{}, io.Discard); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestExpand(t *testing.T) {
	network := func(a string) net.Addr {
		ip, n, err := net.ParseCIDR(a)
		if err != nil {
			t.Fatal(err)
		}
		n.IP = ip
		return n
	}
	has := func(all ...string) func() ([]net.Addr, error) {
		return func() ([]net.Addr, error) {
			var addresses []net.Addr
			for _, a := range all {
				addresses = append(addresses, network(a))
			}
			return addresses, nil
		}
	}
	tests := []struct {
		address    string
		interfaces func() ([]net.Addr, error)
		want       []string
		wrong      string
	}{
		{"127.0.0.1:80", has("172.18.0.2/16"), []string{"127.0.0.1:80"}, ""},
		{"node:80", has("127.0.0.1/8", "::1/128", "172.18.0.2/16", "fe80::1/64", "fc00:f853::2/64", "169.254.1.1/16"), []string{"172.18.0.2:80", "[fc00:f853::2]:80"}, ""},
		{"node:80", has("10.244.0.1/32", "172.18.0.2/16", "10.244.0.1/32"), []string{"10.244.0.1:80", "172.18.0.2:80"}, ""},
		{"node:80", has("127.0.0.1/8"), nil, "no address but loopback"},
		{"node:80", func() ([]net.Addr, error) { return nil, errors.New("no netlink") }, nil, "no netlink"},
	}
	for _, tt := range tests {
		got, err := expand(tt.address, tt.interfaces)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.wrong == "") || (err != nil && !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: %v, %v", tt.address, got, err)
		}
	}
}

func TestAllowed(t *testing.T) {
	d := listeners{allow: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/56")}}
	for peer, want := range map[string]bool{
		"127.0.0.1:5": true, "127.9.9.9:5": true, "[::1]:5": true, "[::ffff:127.0.0.1]:5": true,
		"10.244.3.4:5": true, "[::ffff:10.244.3.4]:5": true, "[fd00:10:244::7]:5": true,
		"10.245.0.1:5": false, "172.18.0.1:5": false, "[fd00:10:245::7]:5": false, "[fe80::1%eth0]:5": false,
	} {
		a, err := net.ResolveTCPAddr("tcp", strings.Replace(peer, "%eth0", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.allowed(a); got != want {
			t.Errorf("%s: %t", peer, got)
		}
	}
}

// TestOpenAllOrNone: an address that is taken leaves nothing behind.
func TestOpenAllOrNone(t *testing.T) {
	taken, free := listen(t), listen(t)
	_ = free.Close()
	err := run(t.Context(), []string{"serve", "--listen=" + free.Addr().String(), "--listen=" + taken.Addr().String()}, nobody{}, io.Discard)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), taken.Addr().String()) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"check", "--to=" + free.Addr().String()}, nobody{}, io.Discard); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// forwarding runs a forwarder and returns where it listens.
func forwarding(t *testing.T, to string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d, err := open(ctx, []string{"127.0.0.1:0"}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forward(ctx, d, to) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(limit):
			t.Error("the forwarder does not end")
		}
	})
	return d.addresses()[0]
}

func connect(t *testing.T, to string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(limit))
	return c.(*net.TCPConn)
}

func serving(t *testing.T, handle func(*net.TCPConn)) string {
	l := listen(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(limit))
				handle(c.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr().String()
}

func TestForward(t *testing.T) {
	there := serving(t, func(c *net.TCPConn) {
		question, _ := io.ReadAll(c)
		_, _ = c.Write(append(question, " yes"...))
	})
	at := forwarding(t, there)
	if err := run(t.Context(), []string{"check", "--to=" + at}, nobody{}, io.Discard); err != nil {
		t.Error(err)
	}
	c := connect(t, at)
	if _, err := io.WriteString(c, "ready?"); err != nil {
		t.Fatal(err)
	}
	_ = c.CloseWrite()
	if got, err := io.ReadAll(c); string(got) != "ready? yes" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestForwardToNobody(t *testing.T) {
	gone := listen(t)
	_ = gone.Close()
	c, err := net.Dial("tcp", forwarding(t, gone.Addr().String()))
	if err == nil { // otherwise it was even faster
		_ = c.SetDeadline(time.Now().Add(limit))
		_, err = io.ReadAll(c)
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// TestForwardToWhoHangsUp: the answer arrives although the question is not over.
func TestForwardToWhoHangsUp(t *testing.T) {
	there := serving(t, func(c *net.TCPConn) {
		_, _ = io.CopyN(io.Discard, c, 1<<20)
		_, _ = io.WriteString(c, "too large")
	})
	c := connect(t, forwarding(t, there))
	ended := make(chan error, 1)
	go func() {
		block := make([]byte, 64<<10)
		for {
			if _, err := c.Write(block); err != nil {
				ended <- err
				return
			}
		}
	}()
	answer := make([]byte, 9)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "too large" {
		t.Errorf("%q, %v", answer, err)
	}
	select {
	case <-ended:
	case <-time.After(limit):
		t.Error("the client may send for ever")
	}
}

// TestForwardEnds: with a connection that says nothing.
func TestForwardEnds(t *testing.T) {
	arrived := make(chan struct{}, 1)
	there := serving(t, func(c *net.TCPConn) {
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
	})
	ctx, cancel := context.WithCancel(t.Context())
	d, err := open(ctx, []string{"127.0.0.1:0"}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forward(ctx, d, there) }()
	c := connect(t, d.addresses()[0])
	<-arrived
	cancel()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatal("not after the limit")
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
}

// TestServeEnds with an input that is over, however soon.
func TestServeEnds(t *testing.T) {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	if err := run(t.Context(), []string{"serve", "--listen=127.0.0.1:0"}, ours, io.Discard); err != nil {
		t.Error(err)
	}
}
