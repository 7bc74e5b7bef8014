// Package relay gives a container with a network of its own connections to a
// server that listens on this machine's loopback only.
//
// In the container runs the program of component relay, started with a command
// such as `docker exec -i NODE kalypso-relay serve
// --listen=127.0.0.1:3000`. Its standard input and output are the connection
// between both; each connection that it accepts becomes a stream on it, for
// which this side dials:
//
//	r := relay.New(relay.Pipe(stdout, stdin), dialForge)
//	go func() { ended <- r.Serve(ctx) }()
//	addresses, err := r.Listening(ctx)
//
// So an address means the same in the container and on the machine, and
// nothing of the machine is opened to a network, whatever runs the container:
// an engine on this machine, one in a virtual machine, or one without root.
//
// # Protocol
//
// The streams are yamux's; the program opens them. On the first one it sends
// a line with its name and the protocol's number, then a line for each
// address it listens on. Every other stream carries a connection. A yamux
// stream has one end, a connection has three: each direction by itself, and
// both cut short. So each direction is a sequence of records, a length of two
// bytes and as many bytes of data. A record without data ends its direction,
// and a stream that ends before is a connection cut short: one that could not
// be dialled, for example, is reset, and is not mistaken for an empty answer.
//
// The program is built from a module of its own; what both ends have in common
// is package tunnel, a module that both use.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/hashicorp/yamux"
	"github.com/kalypso-dev/kalypso/sandbox/components/relay/tunnel"
)

const helloMax = 16 << 10

// Dial connects to the server on this machine. It should have a limit of its
// own, and return a connection whose directions end one by one, as those of
// TCP and unix sockets do.
type Dial func(ctx context.Context) (net.Conn, error)

// A Relay is one side of one connection to the program in a container.
type Relay struct {
	conn *prefixRecorder
	dial Dial

	listening chan struct{} // closed when addresses are known
	ended     chan struct{} // closed when err is known
	addresses []string
	err       error
}

// New returns a Relay that speaks over conn, whose Close must end a Read and a
// Write that wait.
func New(conn io.ReadWriteCloser, dial Dial) *Relay {
	return &Relay{
		conn: &prefixRecorder{ReadWriteCloser: conn}, dial: dial,
		listening: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Serve dials for each connection of the container and carries it, until ctx
// ends, when it returns nil, or until conn does, when it returns why. It closes
// conn, and has cut every connection short when it returns. It may be called
// once.
func (r *Relay) Serve(ctx context.Context) error {
	r.err = r.serve(ctx)
	close(r.ended)
	return r.err
}

// Listening waits until the program listens, and returns its addresses. When
// Serve ends first, it returns why.
func (r *Relay) Listening(ctx context.Context) ([]string, error) {
	select {
	case <-r.listening:
		return r.addresses, nil
	default:
	}
	select {
	case <-r.listening:
		return r.addresses, nil
	case <-r.ended:
		if r.err == nil {
			return nil, errors.New("relay: ended before it listened")
		}
		return nil, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("relay: the program has not reported that it listens: %w", context.Cause(ctx))
	}
}

func (r *Relay) serve(ctx context.Context) error {
	session, err := yamux.Server(r.conn, tunnel.Config())
	if err != nil {
		return errors.Join(fmt.Errorf("relay: %w", err), r.conn.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	var all sync.WaitGroup
	defer func() {
		stop()
		_ = session.Close()
		cancel()
		all.Wait()
	}()
	err = r.readHello(session)
	for err == nil {
		var stream *yamux.Stream
		if stream, err = session.AcceptStream(); err == nil {
			all.Go(func() { r.carry(ctx, stream) })
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return r.explain(err)
}

// readHello reads the first stream.
func (r *Relay) readHello(session *yamux.Session) error {
	stream, err := session.AcceptStream()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(stream, helloMax))
	_ = stream.Close()
	if err != nil {
		return err
	}
	if session.IsClosed() {
		_, err := session.AcceptStream()
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if lines[0] != tunnel.Hello {
		return fmt.Errorf("the program sends %q where %q is expected", lines[0], tunnel.Hello)
	}
	r.addresses = lines[1:]
	close(r.listening)
	return nil
}

func (r *Relay) carry(ctx context.Context, stream *yamux.Stream) {
	c, err := r.dial(ctx)
	if err != nil {
		_ = stream.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { tunnel.Reset(c) })
	defer stop()
	tunnel.Join(c, stream)
}

// explain returns why the connection has ended. Output that is not the protocol
// is the error of the command that should have started the program.
func (r *Relay) explain(err error) error {
	output := strings.TrimSpace(r.conn.beginning())
	switch {
	case output != "" && output[0] != 0: // the first byte of yamux
		return fmt.Errorf("relay: the program in the container has not started: %s", output)
	case errors.Is(err, io.EOF):
		return errors.New("relay: the program in the container has ended")
	}
	return fmt.Errorf("relay: %w", err)
}

// Pipe makes one connection of a program's output and input.
func Pipe(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return pipe{stdout, stdin}
}

type pipe struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipe) Close() error { return errors.Join(p.WriteCloser.Close(), p.ReadCloser.Close()) }

// prefixRecorder keeps the beginning of what it reads, for error messages.
type prefixRecorder struct {
	io.ReadWriteCloser
	mu     sync.Mutex
	prefix []byte
}

const prefixMax = 1 << 10

func (r *prefixRecorder) Read(p []byte) (int, error) {
	n, err := r.ReadWriteCloser.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prefix = append(r.prefix, p[:min(n, prefixMax-len(r.prefix))]...)
	return n, err
}

func (r *prefixRecorder) beginning() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.prefix)
}
