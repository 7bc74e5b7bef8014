package httpserver

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestRun: a request that is open when the context ends is answered, and the address is free then.
func TestRun(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stop()
		for { // until the server does not listen any more
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				break
			}
			_ = c.Close()
		}
		w.WriteHeader(http.StatusTeapot)
	})}
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, server, listener, nil) }()
	answer, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusTeapot {
		t.Error(answer.Status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRunWithoutCertificate: the error is returned, and the address is free.
func TestRunWithoutCertificate(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), &http.Server{ReadHeaderTimeout: time.Second}, listener, &Certificate{"none.crt", "none.key"}); err == nil {
		t.Error("it serves")
	}
	if c, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}
