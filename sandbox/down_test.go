package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
)

func TestBrokenStateSaysWhatToDo(t *testing.T) {
	h := Home(t.TempDir())
	if err := os.WriteFile(h.Path("sandbox.json"), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := h.Load()
	if err == nil || !strings.Contains(err.Error(), h.Path("sandbox.json")) || !strings.Contains(err.Error(), "down --delete --forget") {
		t.Error(err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); err == nil || !h.Exists() {
		t.Errorf("deleted, whatever clusters it has: %v", err)
	}
	var note string
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true, Forget: true, Note: func(n string) { note = n }}); err != nil || h.Exists() {
		t.Errorf("not deleted: %v", err)
	}
	if !strings.Contains(note, h.Path("sandbox.json")) {
		t.Errorf("note %q", note)
	}
}

// A snapshot is what somebody wanted to keep, and fits only the state that it
// was saved of.
func TestDeleteKeepsSnapshots(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	s, err := h.Ensure(t.Context(), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"gitea/repositories", "clusters/drone/node", "clusters/drone/pki"} {
		if err := os.MkdirAll(h.Path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := SaveSnapshot(t.Context(), h, "before", "v1"); err != nil {
		t.Fatal(err)
	}
	var notes []string
	o := DownOptions{Home: h, Delete: true, Note: func(n string) { notes = append(notes, n) }}
	if _, err := Down(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Find(h, "before"); err != nil {
		t.Error(err)
	}
	if now, err := h.Load(); err != nil || now.ID != s.ID {
		t.Errorf("the state is %v, %v", now, err)
	}
	if _, err := os.Stat(h.Path("clusters", "drone", "pki")); err != nil {
		t.Error(err)
	}
	for _, gone := range []string{"gitea", "clusters/drone/node"} {
		if _, err := os.Stat(h.Path(gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s stays: %v", gone, err)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "before") {
		t.Errorf("notes %q", notes)
	}
	o.Snapshots = true
	if _, err := Down(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(h)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the home stays: %v", err)
	}
}

// An engine may be gone for good, and its clusters with it.
func TestAnEngineThatIsGoneCanBeForgotten(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\necho nobody there >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for _, name := range []string{"KIND_EXPERIMENTAL_PROVIDER", "DOCKER_HOST"} {
		t.Setenv(name, "") // to be as before, whatever engine the sandbox makes this process use
	}
	h := Home(filepath.Join(t.TempDir(), "home"))
	s, err := h.Ensure(t.Context(), Choice{Workshop: "hello-world"})
	if err != nil {
		t.Fatal(err)
	}
	s.Provider, s.Engine = ProviderKind, &kind.Engine{Program: "docker"}
	if err := h.Save(s); err != nil {
		t.Fatal(err)
	}
	_, err = Down(t.Context(), DownOptions{Home: h, Delete: true})
	var noAnswer *kind.NoAnswerError
	if !errors.As(err, &noAnswer) || !strings.Contains(err.Error(), "nobody there") || !strings.Contains(err.Error(), "--forget") || !h.Exists() {
		t.Errorf("without its engine: %v", err)
	}
	var note string
	_, err = Down(t.Context(), DownOptions{Home: h, Delete: true, Forget: true, Note: func(n string) { note = n }})
	if err != nil || h.Exists() {
		t.Errorf("not forgotten: %v", err)
	}
	for _, want := range []string{"nobody there", "docker rm --force --volumes kalypso-" + s.ID + "-drone-control-plane kalypso-" + s.ID + "-large-control-plane"} {
		if !strings.Contains(note, want) {
			t.Errorf("note %q without %q", note, want)
		}
	}
}

func TestAFolderWithOtherThingsIsRefusedAndKept(t *testing.T) {
	h := Home(t.TempDir())
	mine := h.Path("thesis.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mistake *usage.Error
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); !errors.As(err, &mistake) {
		t.Errorf("made a sandbox there: %v", err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); !errors.As(err, &mistake) {
		t.Errorf("deleted there: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

func TestDeleteRemovesOursAndNothingElse(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"components", "logs", "clusters", "gitea", "snapshots", "aside"} {
		if err := os.MkdirAll(h.Path(dir, "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mine := h.Path("notes")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(string(h))
	if err != nil || len(left) != 1 || left[0].Name() != "notes" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Ensure(t.Context(), Choice{Workshop: "basic-inference"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(h)); err == nil {
		t.Error("the folder is still there")
	}
	if did, err := Down(t.Context(), DownOptions{Home: h, Delete: true}); did || err != nil {
		t.Errorf("nothing to delete: %v, %v", did, err)
	}
}

// TestDownOfGivenClusters: nothing is forgotten as long as it can be removed.
func TestDownOfGivenClusters(t *testing.T) {
	h := Home(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	file := userClusters(t, server.URL)
	withAttached(t, h, "basic-inference", file, map[string]string{"arc-cluster": "edge"})
	record := attached.RecordFile(h.Path("clusters"), "arc-cluster")
	files.Fill(t, string(h), map[string]string{"clusters/arc-cluster/made.json": fmt.Sprintf(
		`{"sandbox": "x", "name": "arc-cluster", "source": {"files": [%q], "context": "edge"}, "cluster": "u", "made": [{"version": "v1", "kind": "ConfigMap", "namespace": "a", "name": "b", "uid": "c"}]}`, file)})
	var notes []string
	down := func(remove bool) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		notes = nil
		did, err := Down(ctx, DownOptions{Home: h, Delete: remove, Note: func(n string) { notes = append(notes, n) }})
		if !did {
			t.Error("says that there was nothing to do")
		}
		return err
	}
	for _, remove := range []bool{false, true} {
		err := down(remove)
		var left *attached.LeftError
		if !errors.As(err, &left) || !strings.Contains(err.Error(), "(ConfigMap a/b)") {
			t.Errorf("--delete=%v: %v", remove, err)
		}
		if _, err := os.Stat(record); err != nil || !h.Exists() {
			t.Errorf("--delete=%v: it is forgotten", remove)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := down(false); err == nil || !strings.Contains(err.Error(), "edge in "+file) {
		t.Error(err)
	}
	if err := down(true); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "ConfigMap a/b") {
		t.Errorf("%v, %q", err, notes)
	}
	if h.Exists() {
		t.Error("the sandbox is still there")
	}
}
