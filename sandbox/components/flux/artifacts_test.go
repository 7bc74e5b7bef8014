package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	artifactstorage "github.com/fluxcd/pkg/artifact/storage"
)

// Nobody has an artifact, or a list of them, without the token, which the URL
// that is kept in the status has.
func TestArtifactServer(t *testing.T) {
	dir := t.TempDir()
	const path = "gitrepository/flux-system/dev/abc.tar.gz"
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, path), []byte("artifact"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(tokenVariable, "right")
	s, err := newArtifactServer(dir, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.handler())
	defer server.Close()
	s.address = strings.TrimPrefix(server.URL, "http://")
	known := meta.Artifact{Path: path}
	(artifactstorage.Storage{Hostname: s.advertised()}).SetArtifactURL(&known)

	for _, c := range []struct {
		name, url string
		code      int
	}{
		{"the URL of the status", known.URL, http.StatusOK},
		{"no token", server.URL + "/" + path, http.StatusUnauthorized},
		{"a wrong token", strings.Replace(known.URL, "right", "wrong", 1), http.StatusUnauthorized},
		{"a listing without a token", server.URL + "/", http.StatusUnauthorized},
		{"a listing", s.advertised() + "/gitrepository/", http.StatusNotFound},
		{"health", server.URL + "/healthz", http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := http.Get(c.url)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != c.code {
				t.Errorf("%s: %v, %s", answer.Status, err, body)
			}
			if got := string(body) == "artifact"; got != (c.url == known.URL) {
				t.Errorf("the body is %q", body)
			}
		})
	}
}

// Without a token there is no artifact server at all.
func TestArtifactServerWantsToken(t *testing.T) {
	t.Setenv(tokenVariable, "")
	if _, err := newArtifactServer(t.TempDir(), "127.0.0.1:1"); err == nil {
		t.Error("one is made")
	}
}
