package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const loopback = "--listen=127.0.0.1:0"

// big is more than any window or buffer on the way.
const big = 150 << 20

// noise returns n bytes that are the same for the same seed.
func noise(seed uint64, n int64) io.Reader {
	var key [32]byte
	key[0] = byte(seed)
	return io.LimitReader(rand.NewChaCha8(key), n)
}

func digest(t testing.TB, r io.Reader) string {
	t.Helper()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestHTTP: many clients at once, each with a connection of its own.
func TestHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		_, _ = w.Write(question)
	}))
	t.Cleanup(s.Close)
	p := start(t, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}, loopback)
	const clients, requests = 100, 5
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := http.Client{Transport: transport, Timeout: limit}
			for j := range requests {
				want := strings.Repeat(fmt.Sprintf("%d.%d ", i, j), 5000)
				answer, err := client.Post("http://"+p.addresses[0], "text/plain", strings.NewReader(want))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if err != nil || string(got) != want {
					t.Errorf("client %d, request %d: %d bytes of %d, %v", i, j, len(got), len(want), err)
				}
			}
		})
	}
	all.Wait()
	if n := p.dials.Load(); n != clients {
		t.Errorf("%d connections", n)
	}
}

// TestBigBothWays: what a push and a pull of an image are, at once, and what is
// no http: each direction ends by itself.
func TestBigBothWays(t *testing.T) {
	up := make(chan string, 1)
	p := start(t, server(t, func(c *net.TCPConn) {
		sent := make(chan error, 1)
		go func() {
			_, err := io.Copy(c, noise(2, big))
			sent <- errors.Join(err, c.CloseWrite())
		}()
		up <- digest(t, c)
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}), loopback)
	c := p.connect(t)
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(c, noise(1, big))
		sent <- errors.Join(err, c.CloseWrite())
	}()
	if got, want := digest(t, c), digest(t, noise(2, big)); got != want {
		t.Error("what came down is not what was sent")
	}
	if err := within(t, "the upload", sent); err != nil {
		t.Error(err)
	}
	if got, want := within(t, "the upload's end", up), digest(t, noise(1, big)); got != want {
		t.Error("what came up is not what was sent")
	}
}

// TestHalfClose: the server answers when the client has said all.
func TestHalfClose(t *testing.T) {
	p := start(t, server(t, func(c *net.TCPConn) {
		question, _ := io.ReadAll(c)
		fmt.Fprintf(c, "%s? yes", question)
	}), loopback)
	c := p.connect(t)
	if _, err := io.WriteString(c, "ready"); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); string(got) != "ready? yes" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDialFails: the client knows at once, and the next one is served.
func TestDialFails(t *testing.T) {
	there := server(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "here") })
	var calls int
	p := start(t, func(ctx context.Context) (net.Conn, error) {
		if calls++; calls == 1 {
			return refused(ctx)
		}
		return there(ctx)
	}, loopback)
	var got []byte
	c, err := net.Dial("tcp", p.addresses[0])
	if err == nil { // else the reset has been faster than the connecting
		_ = c.SetDeadline(time.Now().Add(limit))
		got, err = io.ReadAll(c)
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := io.ReadAll(p.connect(t)); string(got) != "here" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestServerIsCutShort: half an answer must not look like a whole one.
func TestServerIsCutShort(t *testing.T) {
	reported := make(chan struct{})
	p := start(t, server(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "half")
		<-reported
		_ = c.SetLinger(0)
	}), loopback)
	c := p.connect(t)
	half := make([]byte, 4)
	if _, err := io.ReadFull(c, half); err != nil {
		t.Fatal(err)
	}
	close(reported)
	if got, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestClientIsCutShort: the server need not send the rest of what nobody takes.
func TestClientIsCutShort(t *testing.T) {
	ended := make(chan error, 1)
	p := start(t, server(t, func(c *net.TCPConn) {
		_, err := io.Copy(c, noise(1, 1<<40))
		ended <- err
	}), loopback)
	c := p.connect(t)
	if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
		t.Fatal(err)
	}
	_ = c.SetLinger(0)
	_ = c.Close()
	if err := within(t, "the server's end", ended); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}

// TestClientLeaves as curl does when it is interrupted: with what it has not
// read yet.
func TestClientLeaves(t *testing.T) {
	ended := make(chan error, 1)
	p := start(t, server(t, func(c *net.TCPConn) {
		_, err := io.Copy(c, noise(1, 1<<40))
		ended <- err
	}), loopback)
	c := p.connect(t)
	if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if err := within(t, "the server's end", ended); err == nil {
		t.Error("a terabyte was sent")
	}
}

// TestServerRefusesABody: a server may answer and hang up while the client
// still sends, and the client still gets the answer.
func TestServerRefusesABody(t *testing.T) {
	p := start(t, server(t, func(c *net.TCPConn) {
		_, _ = io.CopyN(io.Discard, c, 1<<20)
		_, _ = io.WriteString(c, "too large")
	}), loopback)
	c := p.connect(t)
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(c, noise(1, 1<<40))
		sent <- err
	}()
	answer := make([]byte, 9)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "too large" {
		t.Errorf("%q, %v", answer, err)
	}
	if err := within(t, "the client's end", sent); err == nil {
		t.Error("a terabyte was taken")
	}
}

// TestProgramEnds, however: this side learns it and cuts its connections.
func TestProgramEnds(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			ended := make(chan error, 1)
			p := start(t, server(t, func(c *net.TCPConn) {
				_, _ = io.WriteString(c, "x")
				_, err := c.Read(make([]byte, 1))
				ended <- err
			}), loopback)
			c := p.connect(t)
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := p.program.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := within(t, "the server's connection", ended); !errors.Is(err, syscall.ECONNRESET) {
				t.Error("the server's connection ends with", err)
			}
			if err := within(t, "Serve", p.served); err == nil || err.Error() != "relay: the program in the container has ended" {
				t.Error(err)
			}
			if err := within(t, "the program", p.exited); (err == nil) != (signal == syscall.SIGTERM) {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("the client's connection is still there")
			}
		})
	}
}

// TestContextEnds: the program ends with its input, and gives its port back.
func TestContextEnds(t *testing.T) {
	ended := make(chan error, 1)
	p := start(t, server(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "x")
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}), loopback)
	c := p.connect(t)
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.stop()
	if err := within(t, "Serve", p.served); err != nil {
		t.Error(err)
	}
	if err := within(t, "the program", p.exited); err != nil || p.stderr.Len() > 0 {
		t.Errorf("%v, says %q", err, p.stderr)
	}
	if err := within(t, "the server's connection", ended); err == nil {
		t.Error("the server's connection goes on")
	}
	l, err := net.Listen("tcp", p.addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// TestPortIsTaken: the reason is one line, and nobody waits for the program.
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := launch(t, refused, "--listen="+l.Addr().String())
	if _, err := p.Listening(t.Context()); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Error(err)
	}
	if err := within(t, "the program", p.exited); err == nil || p.program.ProcessState.ExitCode() != 1 {
		t.Error(err)
	}
	if said := p.stderr.String(); !strings.Contains(said, l.Addr().String()) || !strings.Contains(said, "address already in use") || strings.Count(said, "\n") != 1 {
		t.Errorf("says %q", said)
	}
}

// TestStrangePrograms: what went wrong is said in the other side's own words.
func TestStrangePrograms(t *testing.T) {
	stream := func(text string) string { // a frame that opens stream 1, with this text, and its end
		return fmt.Sprintf("\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00%c%s", len(text), text)
	}
	for _, tt := range []struct{ name, says, want string }{
		{"an engine's complaint", "OCI runtime exec failed: no such file\r\n", "has not started: OCI runtime exec failed: no such file"},
		{"a short one", "sh: no\n", "has not started: sh: no"},
		{"nothing", "", "has ended"},
		{"another protocol", stream("kalypso-relay 9\n"), `sends "kalypso-relay 9" where "kalypso-relay 1" is expected`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			r := New(ours, refused)
			served := make(chan error, 1)
			go func() { served <- r.Serve(t.Context()) }()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			if _, err := io.WriteString(theirs, tt.says); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(tt.says, "\x00") {
				_ = theirs.Close()
			}
			err := within(t, "Serve", served)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Error(err)
			}
			if _, again := r.Listening(t.Context()); again == nil || again.Error() != err.Error() {
				t.Errorf("Listening says %v, Serve %v", again, err)
			}
			_ = theirs.Close()
		})
	}
}

func TestListeningHasALimit(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("it is late"))
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if _, err := New(ours, refused).Listening(ctx); err == nil || !strings.Contains(err.Error(), "it is late") {
		t.Error(err)
	}
}

// TestNodeAddresses: others than loopback come in only from where is allowed.
func TestNodeAddresses(t *testing.T) {
	there := server(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "here") })
	p := launch(t, there, "--listen=node:0")
	if _, err := p.Listening(t.Context()); err != nil {
		_ = within(t, "the program", p.exited)
		if strings.Contains(p.stderr.String(), "no address but loopback") {
			t.Skip("this machine has no address but loopback")
		}
		t.Fatalf("%v, %s", err, p.stderr)
	}
	// from its own address: neither loopback nor allowed
	for _, a := range p.Relay.addresses {
		c, err := net.Dial("tcp", a)
		if errors.Is(err, syscall.ECONNRESET) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err == nil || len(got) > 0 {
			t.Errorf("%s lets %s in: %q, %v", a, c.LocalAddr(), got, err)
		}
		_ = c.Close()
	}
	if n := p.dials.Load(); n != 0 {
		t.Errorf("%d connections have come through", n)
	}
	host, _, err := net.SplitHostPort(p.Relay.addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	bits := "/32"
	if strings.Contains(host, ":") {
		bits = "/128"
	}
	allowed := start(t, there, "--listen="+net.JoinHostPort(host, "0"), "--allow=192.0.2.0/24", "--allow="+host+bits)
	if got, err := io.ReadAll(allowed.connect(t)); string(got) != "here" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
