package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

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

// keepFolder adds a folder of this machine with all that is in it, with the modes it
// has there; it belongs to root in the image, whatever its owner here is.
func keepFolder(t tree, under, from string) error {
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := path.Join(under, filepath.ToSlash(rel))
		switch {
		case d.IsDir():
			t.Folder(name, int64(info.Mode().Perm()), 0)
		case info.Mode().IsRegular():
			return t.Disk(name, int64(info.Mode().Perm()), file)
		}
		return nil
	})
}

// contentOf reads a file.
func contentOf(t tree, name string) ([]byte, error) {
	e, ok := t[name]
	if !ok || e.Open == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	in, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// clean is a path of an archive as it is in a tree.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

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
