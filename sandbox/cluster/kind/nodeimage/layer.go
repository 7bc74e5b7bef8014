package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

type tree = filetree.Tree

// nodeLayer packs a layer of the node's image: with gzip, since older engines
// read nothing else, and fast, since the archive stays on this machine.
func (b builder) nodeLayer(name string, t tree) (v1.Layer, error) {
	return b.layer(name, t, types.DockerLayer, func(w io.Writer) (io.WriteCloser, error) {
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	})
}

// podLayer packs a layer of a pod's image: tightly and quick to unpack, since
// every node copies it to its own disk and unpacks it while it starts.
func (b builder) podLayer(name string, t tree) (v1.Layer, error) {
	return b.layer("pod-"+name, t, types.OCILayerZStd, func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	})
}

func (b builder) layer(name string, t tree, kind types.MediaType, compress func(io.Writer) (io.WriteCloser, error)) (v1.Layer, error) {
	path := filepath.Join(b.work, name+".layer")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w, err := compress(f)
	if err == nil {
		err = errors.Join(t.Write(w), w.Close())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("layer %s: %w", name, err)
	}
	return tarball.LayerFromFile(path, tarball.WithMediaType(kind))
}

// ociImage is an image without layers that may have layers of any compression.
func ociImage() v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
}

func withConfig(image v1.Image, c v1.Config) (v1.Image, error) {
	f, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	f = f.DeepCopy()
	f.OS, f.Architecture, f.Config = "linux", runtime.GOARCH, c
	return mutate.ConfigFile(image, f)
}
