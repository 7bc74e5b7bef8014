package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestNodeImageIsWhatAnEngineLoads(t *testing.T) {
	b := builder{work: t.TempDir(), report: quiet(), in: inputs{Kubernetes: "v1.2.3"}}
	parts := make([]tree, 4)
	for i := range parts {
		parts[i] = tree{}
		parts[i].File("file", 0o644, []byte{byte(i)})
	}
	image, err := b.nodeImage(parts[0], parts[1], parts[2], parts[3])
	must(t, err)
	archive := filepath.Join(t.TempDir(), "archive.tar")
	must(t, b.write(t.Context(), archive, image))

	tag, err := name.NewTag("kalypso/kind-node:v1.2.3")
	must(t, err)
	got, err := tarball.ImageFromPath(archive, &tag)
	must(t, err)
	must(t, validate.Image(got))
	config, err := got.ConfigFile()
	must(t, err)
	c := config.Config
	if c.Labels[keyLabel] != b.in.key() || c.StopSignal != "SIGRTMIN+3" || !slices.Contains(c.Env, "container=docker") || c.Entrypoint[0] != "/usr/local/bin/entrypoint" {
		t.Errorf("config is %+v", c)
	}
	layers, err := got.Layers()
	must(t, err)
	content, err := layers[len(layers)-1].Uncompressed()
	must(t, err)
	defer content.Close()
	if _, files := unpack(t, content); len(layers) != 4 || files["file"] != "\x02" {
		t.Errorf("%d layers, the last with %q", len(layers), files)
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
	must(t, err)
	if !slices.Equal(manifest[0].RepoTags, []string{"kalypso/kind-node:v1.2.3"}) {
		t.Errorf("it is called %q", manifest[0].RepoTags)
	}
}
