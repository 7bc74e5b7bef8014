package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func TestInProcess(t *testing.T) {
	l := newInProcess()
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.DialContext(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("where nobody accepts: %v", err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	client, err := l.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server := <-accepted
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted by what is closed: %v", err)
	}
	if _, err := l.DialContext(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dialled what is closed: %v", err)
	}

	// a deadline that has passed, and is taken back, as net/http does between requests
	_ = server.SetReadDeadline(time.Unix(1, 0))
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read after the deadline: %v", err)
	}
	_ = server.SetReadDeadline(time.Time{})
	go func() {
		_, _ = io.WriteString(client, "hello")
		_ = client.Close()
	}()
	if got, err := io.ReadAll(server); err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
