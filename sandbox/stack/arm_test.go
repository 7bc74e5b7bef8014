package stack

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
)

func TestServedListensUntilStopped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c := serve(address, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("stopped before its start: %v", err)
	}
	for range 2 {
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := retry.Until(t.Context(), "the server", time.Minute, c.Ready); err != nil {
			t.Fatal(err)
		}
		if err := loopback.Answers(t.Context(), "http://"+address); err != nil {
			t.Error(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := loopback.Answers(t.Context(), "http://"+address); err == nil {
			t.Error("it answers after its end")
		}
	}
}
