// Package pack writes and reads the archives of components: tar within
// Zstandard. An archive of the same files is the same bytes, whoever makes it
// and whenever.
package pack

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
)

// ErrStop is what the function given to [Read] returns to end the reading
// without an error.
var ErrStop = errors.New("stop")

// epoch is the time of every file; the first that every tar program accepts.
var epoch = time.Unix(315532800, 0).UTC()

// A File is a regular file of an archive.
type File struct {
	Path   string
	Mode   fs.FileMode
	Size   int64
	SHA256 string
}

// Write packs all regular files below dir into w and returns them in the
// order of the archive: the file named first (which must exist), then all
// others by path. Modes become 0644 or 0755; owners and times are dropped. A
// link or device below dir is an error.
func Write(w io.Writer, dir, first string) ([]File, error) {
	files, err := list(dir, first)
	if err != nil {
		return nil, err
	}
	zw, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(16<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for i := range files {
		if err := writeFile(tw, dir, &files[i]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", files[i].Path, err)
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return files, zw.Close()
}

func list(dir, first string) ([]File, error) {
	var files []File
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("pack %s: not a regular file", rel)
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		f := File{Path: filepath.ToSlash(rel), Mode: mode, Size: info.Size()}
		found = found || f.Path == first
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("pack %s: %w", first, fs.ErrNotExist)
	}
	slices.SortFunc(files, func(a, b File) int {
		if (a.Path == first) != (b.Path == first) {
			if a.Path == first {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Path, b.Path)
	})
	return files, nil
}

func writeFile(tw *tar.Writer, dir string, f *File) error {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer in.Close()
	h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: int64(f.Mode), Size: f.Size, ModTime: epoch, Format: tar.FormatPAX}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	digest := sha256.New()
	if _, err := io.Copy(io.MultiWriter(tw, digest), in); err != nil {
		return err
	}
	f.SHA256 = Hex(digest)
	return nil
}

// Read calls do with each file of the archive in r, in order. It reads r to
// its end unless do returns an error; [ErrStop] is such an error too, but Read
// then returns nil.
func Read(r io.Reader, do func(name string, size int64, content io.Reader) error) error {
	zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(2))
	if err != nil {
		return err
	}
	defer zr.Close()
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			// what follows the last file must be read too: the caller may be hashing
			_, err := io.Copy(io.Discard, zr)
			return err
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s: not a regular file", h.Name)
		}
		if err := do(h.Name, h.Size, tr); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Hex returns the hash's sum in hexadecimal.
func Hex(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
