package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

const limit = 30 * time.Second

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "relay-test-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "relay")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join("..", "components", "relay")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := build(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// A pair is the program, this side, and the connection between.
type pair struct {
	*Relay
	program   *exec.Cmd
	stderr    *bytes.Buffer // to be read when the program has ended
	addresses []string
	stop      context.CancelFunc
	dials     atomic.Int64
	served    chan error // what Serve returns
	exited    chan error // what the program ends with
}

// start starts both. Nothing of them is left when the test ends, or it fails.
func start(t testing.TB, dial Dial, args ...string) *pair {
	t.Helper()
	p := launch(t, dial, args...)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var err error
	if p.addresses, err = p.Listening(ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

// launch does not wait until the program listens.
func launch(t testing.TB, dial Dial, args ...string) *pair {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	p := &pair{stderr: &bytes.Buffer{}, served: make(chan error, 1), exited: make(chan error, 1)}
	p.program = exec.Command(filepath.Join(dir, "relay"), append([]string{"serve"}, args...)...)
	stdin, err := p.program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// not StdoutPipe, which Wait would close under the reader
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.program.Stdout, p.program.Stderr = w, p.stderr
	if err := p.program.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.Relay = New(Pipe(stdout, stdin), func(ctx context.Context) (net.Conn, error) {
		p.dials.Add(1)
		return dial(ctx)
	})
	go func() { p.served <- p.Serve(ctx) }()
	go func() { p.exited <- p.program.Wait() }()
	t.Cleanup(func() {
		cancel()
		<-p.ended
		if err := retry.Until(context.Background(), "the goroutines' end", limit, func(context.Context) error {
			if n := runtime.NumGoroutine(); n > before {
				return fmt.Errorf("%d of %d are left", n-before, n)
			}
			return nil
		}); err != nil {
			all := make([]byte, 1<<20)
			t.Errorf("%v\n%s", err, all[:runtime.Stack(all, true)])
		}
	})
	return p
}

func within[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatalf("%s: not after %s", what, limit)
		panic("unreachable")
	}
}

// connect calls the program, as programs in its container do.
func (p *pair) connect(t testing.TB) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(limit))
	return c.(*net.TCPConn)
}

// server accepts connections on loopback until the test ends.
func server(t testing.TB, handle func(*net.TCPConn)) Dial {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(limit))
			all.Go(func() {
				defer c.Close()
				handle(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	}
}

func refused(context.Context) (net.Conn, error) { return nil, errors.New("refused") }
