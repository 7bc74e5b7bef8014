package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
)

// Image returns an archive in the OCI layout of an image that holds one static
// program, /NAME, and nothing else. `ctr images import` loads it under ref.
func Image(ref, name string, content []byte) ([]byte, error) {
	layer, err := tarball(file{name, 0o755, content})
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/" + name}, "WorkingDir": "/"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return nil, err
	}
	const prefix = "application/vnd.oci.image."
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     prefix + "manifest.v1+json",
		"config":        descriptor(prefix+"config.v1+json", config),
		"layers":        []any{descriptor(prefix+"layer.v1.tar", layer)},
	})
	if err != nil {
		return nil, err
	}
	entry := descriptor(prefix+"manifest.v1+json", manifest)
	entry["annotations"] = map[string]string{"io.containerd.image.name": ref, "org.opencontainers.image.ref.name": ref}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     prefix + "index.v1+json",
		"manifests":     []any{entry},
	})
	if err != nil {
		return nil, err
	}
	files := []file{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, index},
	}
	for _, blob := range [][]byte{layer, config, manifest} {
		files = append(files, file{"blobs/sha256/" + sum(blob), 0o644, blob})
	}
	return tarball(files...)
}

type file struct {
	name    string
	mode    int64
	content []byte
}

func tarball(files ...file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func descriptor(kind string, content []byte) map[string]any {
	return map[string]any{"mediaType": kind, "digest": digest(content), "size": len(content)}
}

func digest(b []byte) string { return "sha256:" + sum(b) }

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
