package cluster

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func TestEtcdDataIsKeptOnceAnswered(t *testing.T) {
	data := etcdData(filepath.Join(t.TempDir(), "etcd"))
	log := filepath.Join(string(data), "log")
	write := func() {
		t.Helper()
		if err := data.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := data.prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); !os.IsNotExist(err) {
		t.Errorf("data of an etcd that never answered is still there: %v", err)
	}
	write()
	for range 2 {
		if err := data.answered(); err != nil {
			t.Fatal(err)
		}
		if err := data.prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(log); err != nil {
			t.Errorf("data of an etcd that answered: %v", err)
		}
	}
}

func TestEtcdHealth(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "etcd.sock")
	healthy := etcdHealth(socket)
	if err := healthy(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an etcd: %v", err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	code := http.StatusOK
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(code)
	})}
	defer server.Close()
	go func() { _ = server.Serve(l) }()
	if err := healthy(t.Context()); err != nil {
		t.Error(err)
	}
	code = http.StatusServiceUnavailable
	if err := healthy(t.Context()); err == nil {
		t.Error("an etcd that does not serve is healthy")
	}
}
