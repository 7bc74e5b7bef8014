package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

// a call goes in by a forward, across both sockets, and its answer comes back
func TestForward(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "got %d bytes", len(body))
	}))
	defer server.Close()
	to := server.Listener.Addr().String()
	s := spec.Spec{Ingress: filepath.Join(t.TempDir(), "in"), Forwards: []spec.Forward{{To: to}}}
	if err := serveMachine(s); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go forward(l, s.Ingress, to)
	answer, err := http.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if b, _ := io.ReadAll(answer.Body); string(b) != "got 1048576 bytes" {
		t.Errorf("got %q", b)
	}
}

func TestSocketRefuses(t *testing.T) {
	s := spec.Spec{Ingress: filepath.Join(t.TempDir(), "in"), Forwards: []spec.Forward{{To: "127.0.0.1:1"}}}
	if err := serveMachine(s); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]int{
		"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n": http.StatusForbidden,
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n":                 http.StatusForbidden,
		"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n":   http.StatusBadGateway,
	} {
		c, err := net.Dial("unix", s.Ingress)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, request)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%q: got %d, want %d", request, answer.StatusCode, want)
		}
		c.Close()
	}
}
