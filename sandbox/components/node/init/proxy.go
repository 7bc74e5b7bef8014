package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

const dialLimit = 10 * time.Second

// serveMachine gives the node connections to the servers of the machine that
// the specification names, and to no other.
func serveMachine(s spec.Spec) error {
	return serve(s.Ingress, func(to string) bool {
		return slices.ContainsFunc(s.Forwards, func(f spec.Forward) bool { return f.To == to })
	})
}

// serveNode gives the machine connections into the node, and listens in the
// node for calls of the machine's servers.
func serveNode(s spec.Spec) error {
	if err := serve(s.Egress, func(string) bool { return true }); err != nil {
		return err
	}
	for _, f := range s.Forwards {
		for _, address := range f.Listen {
			l, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			go forward(l, s.Ingress, f.To)
		}
	}
	return nil
}

// serve answers CONNECT on a socket. The file is reached from both sides, the
// addresses are those of this side: that is all it takes to cross over.
func serve(socket string, allowed func(to string) bool) error {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go connect(c, allowed)
		}
	}()
	return nil
}

func connect(c net.Conn, allowed func(string) bool) {
	defer c.Close()
	r := bufio.NewReader(c)
	request, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	if request.Method != http.MethodConnect || !allowed(request.Host) {
		fmt.Fprint(c, "HTTP/1.1 403 Forbidden\r\n\r\n")
		return
	}
	to, err := net.DialTimeout("tcp", request.Host, dialLimit)
	if err != nil {
		fmt.Fprint(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer to.Close()
	if _, err := fmt.Fprint(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(to, c, r)
}

func forward(l net.Listener, socket, to string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			up, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			defer up.Close()
			if _, err := fmt.Fprintf(up, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to); err != nil {
				return
			}
			r := bufio.NewReader(up)
			answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
			if err != nil || answer.StatusCode != http.StatusOK {
				return
			}
			join(c, up, r)
		}()
	}
}

// join copies both ways until both have ended; rest is what b reads from.
func join(a, b net.Conn, rest io.Reader) {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(a, rest)
		closeWrite(a)
		close(done)
	}()
	_, _ = io.Copy(b, a)
	closeWrite(b)
	<-done
}

func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
}
