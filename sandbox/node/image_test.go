package node

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
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
	tag, err := name.NewTag("kalypso.internal/a:1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config.Entrypoint; len(got) != 1 || got[0] != "/a" {
		t.Errorf("entry point %q", got)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, error %v", len(layers), err)
	}
	layer, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	r := tar.NewReader(layer)
	h, err := r.Next()
	if err != nil || h.Name != "a" || h.Mode != 0o755 {
		t.Fatalf("the layer's first file is %+v, error %v", h, err)
	}
	if content, err := io.ReadAll(r); err != nil || string(content) != "program" {
		t.Errorf("the program is %q, error %v", content, err)
	}
	if h, err := r.Next(); err != io.EOF {
		t.Errorf("the layer has also %+v, error %v", h, err)
	}
}
