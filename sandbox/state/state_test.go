package state

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
)

func ensure(h Home, workshop string) (*State, error) {
	return h.Ensure(context.Background(), Choice{Workshop: workshop})
}

func TestStateIsMadeOnceAndKept(t *testing.T) {
	h := Home(t.TempDir())
	first, err := ensure(h, "basic-inference")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ensure(h, "basic-inference")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(first)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		t.Errorf("changed:\n%s\n%s", a, b)
	}
	info, err := os.Stat(h.stateFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the passwords' file: %v, %v", info.Mode(), err)
	}
	other, err := ensure(Home(t.TempDir()), "basic-inference")
	if err != nil {
		t.Fatal(err)
	}
	if other.Admin.Password == first.Admin.Password || other.WebhookSecret == first.WebhookSecret || other.ID == first.ID {
		t.Error("two sandboxes share a secret")
	}
}

// What an older kalypso listened on is free for others, and is not looked after.
func TestPortsOfAnOlderKalypsoAreGivenUp(t *testing.T) {
	h := Home(t.TempDir())
	s, err := ensure(h, "hello-world")
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(s.Ports)
	s.Ports["etcd"], s.Ports["etcd-peer"] = 20001, 20002
	if err := h.Save(s); err != nil {
		t.Fatal(err)
	}
	if _, err := ensure(h, "hello-world"); err != nil {
		t.Fatal(err)
	}
	s, err = h.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(s.Ports, want) {
		t.Errorf("got %v, want %v", s.Ports, want)
	}
}

// The choice is written down once, and only repeated by later calls.
func TestStateKeepsTheChoice(t *testing.T) {
	h := Home(t.TempDir())
	choice := Choice{Workshop: "basic-inference", Contexts: map[string]string{"arc-cluster": "edge"}, Kubeconfig: []string{"/a", "/b"}}
	if _, err := h.Ensure(t.Context(), choice); err != nil {
		t.Fatal(err)
	}
	s, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]attached.Source{"arc-cluster": {Files: []string{"/a", "/b"}, Context: "edge"}}
	if diff := cmp.Diff(want, s.Existing); diff != "" || s.Workshop != choice.Workshop || s.Provider != ProviderEmbedded {
		t.Errorf("%+v\n%s", s, diff)
	}
	var mistake *usage.Error
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "hello-world"}); !errors.As(err, &mistake) {
		t.Errorf("another choice: %v", err)
	}
	held, err := h.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := h.Ensure(t.Context(), Choice{}); !errors.Is(err, ErrLocked) {
		t.Errorf("beside a daemon: %v", err)
	}
}

// A write that is killed leaves a temporary file beside the state, or none.
func TestInterruptedWriteLeavesAUsableHome(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	files.Fill(t, string(h), map[string]string{".sandbox.json123": "{", "daemon.lock": "", "daemon.pid": "1", "logs/daemon.log": ""})
	if _, err := ensure(h, "hello-world"); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(h)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}
