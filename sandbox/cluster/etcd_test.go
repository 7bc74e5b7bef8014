package cluster

import (
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
