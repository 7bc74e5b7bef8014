package node

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestImage(t *testing.T) {
	archive, err := Image("kalypso.internal/a:1", "a", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Image("kalypso.internal/a:1", "a", []byte("program"))
	if err != nil || !bytes.Equal(archive, again) {
		t.Error("the same image has two forms")
	}
	files := untar(t, archive)
	for name, content := range files {
		if blob, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && blob != sum(content) {
			t.Errorf("%s has another digest", name)
		}
	}
	var index, manifest, config struct {
		Manifests, Layers []struct{ Digest string }
		Config            struct {
			Digest     string
			Entrypoint []string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	parse := func(name string, to any) {
		t.Helper()
		name = strings.Replace(name, "sha256:", "blobs/sha256/", 1)
		if err := json.Unmarshal(files[name], to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	parse("index.json", &index)
	parse(index.Manifests[0].Digest, &manifest)
	parse(manifest.Config.Digest, &config)
	if got := config.Config.Entrypoint; len(got) != 1 || got[0] != "/a" {
		t.Errorf("entry point %q", got)
	}
	layer := manifest.Layers[0].Digest
	if config.RootFS.DiffIDs[0] != layer {
		t.Errorf("layer %s, but the configuration has %s", layer, config.RootFS.DiffIDs[0])
	}
	inside := untar(t, files[strings.Replace(layer, "sha256:", "blobs/sha256/", 1)])
	if string(inside["a"]) != "program" || len(inside) != 1 {
		t.Errorf("layer holds %q", inside)
	}
}

func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
