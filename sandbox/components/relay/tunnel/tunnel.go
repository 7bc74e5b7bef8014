// Package tunnel is what both ends of a relay have in common: package
// sandbox/relay on the machine, and the program in the container.
package tunnel

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// A stream can end in one way only, a connection in two: each direction by
// itself, or cut short. So on a stream each direction is a sequence of records,
// a length of two bytes and as many bytes of data. A record without data ends
// its direction; a stream that ends before is a connection cut short.
const (
	recordHead = 2
	recordMax  = 32 << 10
)

// Hello is the first line that the program sends: its name and the protocol's
// number.
const Hello = "kalypso-relay 1"

// Config is that of the yamux session. An end that is silent for longer than a
// busy machine may need is gone: then the ports are given back, so that a new
// relay can take them.
func Config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.MaxStreamWindowSize, c.ConnectionWriteTimeout, c.KeepAliveInterval = 1<<20, 30*time.Second, 15*time.Second
	c.LogOutput = io.Discard // what matters is in the error
	return c
}

var errCut = errors.New("the other side has left")

// Join carries a connection over a stream until both directions have ended, or
// either side is cut short, which cuts the other one short.
func Join(c net.Conn, stream *yamux.Stream) {
	sent, received := make(chan error, 1), make(chan error, 1)
	ended := make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() { sent <- send(stream, c) })
	both.Go(func() { received <- receive(c, stream, ended) })

	if carry(sent, received, ended) {
		_ = c.Close()
	} else {
		Reset(c)
	}
	_ = stream.Close()
	// a closed stream still reads, which is of no use any more
	_ = stream.SetReadDeadline(time.Unix(1, 0))
	both.Wait()
}

// carry waits for both directions. It returns false when this connection
// must be reset, because the stream was cut short.
func carry(sent, received <-chan error, ended <-chan struct{}) bool {
	whole := false
	for sending := true; sending || !whole; {
		select {
		case err := <-sent:
			if err != nil {
				return false
			}
			sending = false
		case <-ended:
			whole, ended = true, nil
		case err := <-received:
			// the end may have come in the same moment
			select {
			case <-ended:
				whole = true
			default:
			}
			var failed *writeError
			if errors.As(err, &failed) && sending {
				// the connection takes no more: what it has sent until then still
				// has to go out, such as the reason for its close
				<-sent
			}
			return whole
		}
	}
	return true
}

// send makes records of what the connection sends.
func send(stream io.Writer, c io.Reader) error {
	buf := make([]byte, recordHead+recordMax)
	for {
		n, err := c.Read(buf[recordHead:])
		if n > 0 || errors.Is(err, io.EOF) {
			binary.BigEndian.PutUint16(buf, uint16(n))
			if _, err := stream.Write(buf[:recordHead+n]); err != nil {
				return err
			}
		}
		switch {
		case n > 0 && errors.Is(err, io.EOF):
			continue // and meet the end again
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// writeError is that of a connection which takes no more.
type writeError struct{ error }

// receive writes the records to the connection. It closes ended with
// the last one, and returns when the stream has ended or the connection takes
// no more.
func receive(c net.Conn, stream io.Reader, ended chan<- struct{}) error {
	r := bufio.NewReaderSize(stream, recordHead+recordMax)
	for {
		head, err := r.Peek(recordHead)
		if err != nil {
			return errCut
		}
		n := int(binary.BigEndian.Uint16(head))
		if n > recordMax {
			return errCut
		}
		if n == 0 {
			break
		}
		record, err := r.Peek(recordHead + n)
		if err != nil {
			return errCut
		}
		if _, err := c.Write(record[recordHead:]); err != nil {
			return &writeError{err}
		}
		_, _ = r.Discard(len(record))
	}
	CloseWrite(c)
	close(ended)
	// nothing follows but the end of the stream
	_, _ = r.Discard(recordHead)
	_, _ = r.ReadByte()
	return errCut
}

// CloseWrite ends one direction of a connection. One that has no half-close is
// ended by its Close.
func CloseWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
}

// Reset closes a connection so that its other end learns it was cut short.
func Reset(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}
