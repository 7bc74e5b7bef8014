package main

import (
	"archive/tar"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// served are the actions that a step can use without the network, of any
// version. They run in the place of the published ones: checkout with git and
// the forge alone, and kalypso's own has nothing to do, since kalypso is on the
// PATH here.
//
//go:embed actions
var served embed.FS

// actions is the library's cache of actions: it has those that are served and
// fetches none.
type actions struct{}

func actionFile(name string) (string, error) {
	file, ok := map[string]string{"actions/checkout": "checkout", "kalypso-dev/kalypso": "kalypso"}[strings.ToLower(name)]
	if !ok {
		return "", fmt.Errorf("the action %s is not served here: use actions/checkout, kalypso-dev/kalypso or an action of the repository (./PATH), and do the rest with run", name)
	}
	return "actions/" + file + "/action.yml", nil
}

// Fetch takes the version for the commit.
func (actions) Fetch(_ context.Context, name, _, ref, _ string) (string, error) {
	_, err := actionFile(name)
	return ref, err
}

func (actions) GetTarArchive(_ context.Context, name, _, path string) (io.ReadCloser, error) {
	file, err := actionFile(name)
	if err != nil {
		return nil, err
	}
	if path != "" && path != "action.yml" {
		return nil, fs.ErrNotExist
	}
	content, err := served.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := archive.WriteHeader(&tar.Header{Name: "action.yml", Mode: 0o600, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	return io.NopCloser(&out), archive.Close()
}
