package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestEgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "egress")
	for range 2 { // the second finds the first's socket
		listener, err := listen(path)
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		go func() { _ = refuse(listener, "drone") }()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "CONNECT 10.245.0.7:80 HTTP/1.1\r\nHost: 10.245.0.7:80\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(r.Status, "node drone is simulated") {
			t.Errorf("status %q", r.Status)
		}
		c.Close()
		listener.Close()
	}
}

func TestStages(t *testing.T) {
	all, err := stagesOf("drone")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for ref, some := range all {
		got[ref.Kind] = len(some)
	}
	if got["Node"] != 2 || got["Pod"] != 3 || len(got) != 2 {
		t.Errorf("stages: %v", got)
	}
}
