package incluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is one file of a layer. It is a copy of a file, or has its content
// here, or is a link, or else a folder.
type entry struct {
	path    string // from the root, without a slash in front
	from    string // file on this machine
	content string
	link    string // where it points to
	program bool   // may be run
	folder  bool
	owner   int
}

// layer is a tar archive of files, written each time it is asked for, so that a
// large program is never in memory. It is not compressed.
type layer struct {
	entries []entry

	once sync.Once
	hash v1.Hash
	size int64
	err  error
}

var _ v1.Layer = (*layer)(nil)

// newLayer returns a layer with the files and the folders that they are in.
// Order and repetition of the files make no difference.
func newLayer(files ...entry) *layer {
	all := map[string]entry{}
	for _, f := range files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = entry{path: dir, folder: true}
			}
		}
		all[f.path] = f
	}
	l := &layer{}
	for _, f := range all {
		l.entries = append(l.entries, f)
	}
	// a folder comes before what is in it
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return l
}

func (l *layer) write(w io.Writer) error {
	out := tar.NewWriter(w)
	for _, e := range l.entries {
		if err := e.write(out); err != nil {
			return fmt.Errorf("layer: %s: %w", e.path, err)
		}
	}
	return out.Close()
}

// write leaves out what is of this machine only: owners and times.
func (e entry) write(out *tar.Writer) error {
	h := &tar.Header{Name: e.path, Uid: e.owner, Gid: e.owner, Mode: 0o644, Format: tar.FormatPAX}
	if e.program || e.folder {
		h.Mode = 0o755
	}
	switch {
	case e.folder:
		h.Typeflag, h.Name = tar.TypeDir, e.path+"/"
		return out.WriteHeader(h)
	case e.link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.link, 0o777
		return out.WriteHeader(h)
	}
	var content io.Reader = strings.NewReader(e.content)
	h.Typeflag, h.Size = tar.TypeReg, int64(len(e.content))
	if e.from != "" {
		file, err := os.Open(e.from)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		content, h.Size = file, info.Size()
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(out, content)
	return err
}

func (l *layer) measure() error {
	l.once.Do(func() {
		digest, size := sha256.New(), &counter{}
		if l.err = l.write(io.MultiWriter(digest, size)); l.err == nil {
			l.hash, l.size = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(digest.Sum(nil))}, size.n
		}
	})
	return l.err
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// Digest is of the archive.
func (l *layer) Digest() (v1.Hash, error) {
	err := l.measure()
	return l.hash, err
}

// DiffID is the digest, as the archive is not compressed.
func (l *layer) DiffID() (v1.Hash, error) { return l.Digest() }

// Size is the archive's.
func (l *layer) Size() (int64, error) {
	err := l.measure()
	return l.size, err
}

// MediaType says that the archive is not compressed.
func (l *layer) MediaType() (types.MediaType, error) { return types.DockerUncompressedLayer, nil }

// Compressed returns the archive as it is.
func (l *layer) Compressed() (io.ReadCloser, error) { return l.Uncompressed() }

// Uncompressed returns the archive. Its end is an error when it is not what was
// measured, because a file has changed since.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	want, err := l.Digest()
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() {
		digest := sha256.New()
		err := l.write(io.MultiWriter(w, digest))
		if err == nil && !bytes.Equal(digest.Sum(nil), unhex(want.Hex)) {
			err = errors.New("layer: a file has changed while the image was made")
		}
		w.CloseWithError(err)
	}()
	return r, nil
}

func unhex(s string) []byte {
	b, _ := hex.DecodeString(s)
	return b
}
