package main

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
)

// inProcess is a listener that only this process reaches: its connections are pairs of
// sockets without a name.
//
// They are the system's and not a buffer in memory, since net/http relies on deadlines that
// are exact: one that fires after it was taken back ends the next request on a connection.
type inProcess struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

func newInProcess() *inProcess {
	l := &inProcess{accepted: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept implements net.Listener.
func (l *inProcess) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections stay open.
func (l *inProcess) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *inProcess) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// DialContext connects to what accepts.
func (l *inProcess) DialContext(ctx context.Context) (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	select {
	case l.accepted <- theirs:
		return ours, nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(err, ours.Close(), theirs.Close())
}

func socketPair() (a, b net.Conn, err error) {
	syscall.ForkLock.RLock() // no child gets them before they are marked
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	conn := func(end int) net.Conn {
		file := os.NewFile(uintptr(end), "socketpair")
		defer file.Close() // FileConn has its own
		c, failed := net.FileConn(file)
		err = errors.Join(err, failed)
		return c
	}
	a, b = conn(ends[0]), conn(ends[1])
	if err != nil {
		for _, c := range []net.Conn{a, b} {
			if c != nil {
				_ = c.Close()
			}
		}
		return nil, nil, err
	}
	return a, b, nil
}
