package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A tree is the content of a layer: entries by path, without a slash in front.
// Its folders follow from the paths, with mode 0755, unless they are entries
// themselves. Paths are those of a system whose /bin, /lib and /sbin are links
// into /usr: an entry below such a link would take its place.
type tree map[string]entry

// An entry is a file, folder or link. Its header's name and size are not used
// for a file that has content; open is nil for all else.
type entry struct {
	tar.Header
	open func() (io.ReadCloser, error)
}

func (t tree) file(name string, mode int64, content []byte) {
	t[name] = entry{
		tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content))},
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

func (t tree) link(name, to string) {
	t[name] = entry{tar.Header{Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}, nil}
}

func (t tree) folder(name string, mode int64) {
	t[name] = entry{tar.Header{Typeflag: tar.TypeDir, Mode: mode}, nil}
}

// disk adds a file of this machine.
func (t tree) disk(name string, mode int64, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	t[name] = entry{
		tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: info.Size()},
		func() (io.ReadCloser, error) { return os.Open(from) },
	}
	return nil
}

// files adds all files below a folder of fsys. mode says which mode each has.
func (t tree) files(under string, fsys fs.FS, mode func(name string) int64) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		name = path.Join(under, name)
		t.file(name, mode(name), content)
		return nil
	})
}

// keep adds a folder of this machine with all that is in it, with the modes it
// has there; it belongs to root in the image, whoever it belongs to here.
func (t tree) keep(under, from string) error {
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
			t.folder(name, int64(info.Mode().Perm()))
		case info.Mode().IsRegular():
			return t.disk(name, int64(info.Mode().Perm()), file)
		}
		return nil
	})
}

// write writes the tree as a tar archive that is the same for the same tree.
func (t tree) write(w io.Writer) error {
	out := tar.NewWriter(w)
	written := map[string]bool{".": true}
	var last []string // what links to a file in the archive comes after it
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if t[name].Typeflag == tar.TypeLink {
			last = append(last, name)
			continue
		}
		if err := t.writeOne(out, name, written); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range last {
		if err := t.writeOne(out, name, written); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

func (t tree) writeOne(out *tar.Writer, name string, written map[string]bool) error {
	if written[name] {
		return nil
	}
	if err := t.writeOne(out, path.Dir(name), written); err != nil {
		return err
	}
	written[name] = true
	e, ok := t[name]
	if !ok {
		e.Header = tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}
	}
	h := e.Header
	h.Name, h.Format = name, tar.FormatGNU
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	if err := out.WriteHeader(&h); err != nil || e.open == nil {
		return err
	}
	in, err := e.open()
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close())
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
		err = errors.Join(t.write(w), w.Close())
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
