package relay

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Pipe makes one connection of a program's output and input.
func Pipe(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return pipe{stdout, stdin}
}

type pipe struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipe) Close() error { return errors.Join(p.WriteCloser.Close(), p.ReadCloser.Close()) }

// remembering keeps the beginning of what it reads.
type remembering struct {
	io.ReadWriteCloser
	mu   sync.Mutex
	said []byte
}

const rememberedMax = 1 << 10

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.ReadWriteCloser.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, p[:min(n, rememberedMax-len(r.said))]...)
	return n, err
}

func (r *remembering) beginning() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.said)
}

// counting is a connection whose bytes are counted.
type counting struct {
	net.Conn
	relay *Relay
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.relay.out.Add(int64(n))
	return n, err
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.relay.in.Add(int64(n))
	return n, err
}

func (c counting) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}

func (c counting) SetLinger(seconds int) error {
	if l, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return l.SetLinger(seconds)
	}
	return nil
}
