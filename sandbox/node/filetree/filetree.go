// Package filetree makes layers and images of containers from files, without a
// container engine. The same content makes the same archive.
package filetree

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Tree is the content of a layer: entries by path, without a slash in front.
// Its folders follow from the paths, with mode 0755, unless they are entries
// themselves. Paths are those of a system whose /bin, /lib and /sbin are links
// into /usr: an entry below such a link would take its place.
type Tree map[string]Entry

// An Entry is a file, folder or link. Its header's name and size are not used
// for a file that has content; Open is nil for all else.
type Entry struct {
	tar.Header
	Open func() (io.ReadCloser, error)
}

// File adds a file with a content.
func (t Tree) File(name string, mode int64, content []byte) {
	t[name] = Entry{
		tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content))},
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// Link adds a symbolic link.
func (t Tree) Link(name, to string) {
	t[name] = Entry{tar.Header{Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}, nil}
}

// Folder adds a folder that a user and the group of the same number own.
func (t Tree) Folder(name string, mode int64, owner int) {
	t[name] = Entry{tar.Header{Typeflag: tar.TypeDir, Mode: mode, Uid: owner, Gid: owner}, nil}
}

// Disk adds a file of this machine. It is read each time the tree is written, so
// that a large program is never in memory.
func (t Tree) Disk(name string, mode int64, from string) error {
	info, err := os.Stat(from)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: from, Err: errors.New("is not a file")}
	}
	if err != nil {
		return err
	}
	t[name] = Entry{
		tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: info.Size()},
		func() (io.ReadCloser, error) { return os.Open(from) },
	}
	return nil
}

// Files adds all files below a folder of fsys. mode says which mode each has.
func (t Tree) Files(under string, fsys fs.FS, mode func(name string) int64) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return err
		}
		to := path.Join(under, name)
		t[to] = Entry{
			tar.Header{Typeflag: tar.TypeReg, Mode: mode(to), Size: info.Size()},
			func() (io.ReadCloser, error) { return fsys.Open(name) },
		}
		return nil
	})
}

// Write writes the tree as a tar archive.
func (t Tree) Write(w io.Writer) error {
	out := tar.NewWriter(w)
	written := map[string]bool{".": true}
	names := slices.Sorted(maps.Keys(t))
	hard := func(name string) bool { return t[name].Typeflag == tar.TypeLink }
	// what links to a file in the archive comes after it
	for _, name := range slices.Concat(slices.DeleteFunc(slices.Clone(names), hard), names) {
		if err := t.writeOne(out, name, written); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

func (t Tree) writeOne(out *tar.Writer, name string, written map[string]bool) error {
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
	if err := out.WriteHeader(&h); err != nil || e.Open == nil {
		return err
	}
	in, err := e.Open()
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close())
}

// Image makes an image for Linux, with a layer for each tree. Layers are not
// compressed, for images that go no further than a node of this machine.
func Image(architecture string, c v1.Config, trees ...Tree) (v1.Image, error) {
	image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.DockerManifestSchema2), &v1.ConfigFile{
		Architecture: architecture, OS: "linux", Config: c, RootFS: v1.RootFS{Type: "layers"},
	})
	for _, t := range trees {
		l := &layer{tree: t}
		if err == nil {
			l.hash, l.size, err = v1.SHA256(l.open())
		}
		if err == nil {
			image, err = mutate.Append(image, mutate.Addendum{Layer: l, MediaType: types.DockerUncompressedLayer})
		}
	}
	return image, err
}

// layer is a tree's archive, written each time it is asked for.
type layer struct {
	tree Tree
	hash v1.Hash
	size int64
}

// open returns the archive. Its end is an error when it is not the one with the
// layer's digest, because a file has changed since.
func (l *layer) open() io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		digest := sha256.New()
		err := l.tree.Write(io.MultiWriter(w, digest))
		if err == nil && l.hash.Hex != "" && l.hash.Hex != hex.EncodeToString(digest.Sum(nil)) {
			err = errors.New("layer: a file has changed while the image was made")
		}
		w.CloseWithError(err)
	}()
	return r
}

func (l *layer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *layer) Size() (int64, error)                 { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return l.open(), nil }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return l.open(), nil }
