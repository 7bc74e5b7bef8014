package builder

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// epoch is the time of every file; the first that every tar program accepts.
var epoch = time.Unix(315532800, 0).UTC()

// writeArchive packs all regular files below dir into w, as tar within
// Zstandard, and returns them in the order of the archive: the file named first
// (which must exist), then all others by path. The same files make the same
// bytes: modes become 0644 or 0755, and owners and times are dropped. A link or
// device below dir is an error. It calls packed with the length of each file that is
// packed, and of all.
func writeArchive(w io.Writer, dir, first string, packed func(done, all int64)) ([]components.File, error) {
	files, err := listFiles(dir, first)
	if err != nil {
		return nil, err
	}
	zw, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(16<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	var all int64
	for _, f := range files {
		all += f.Size
	}
	for i := range files {
		if err := packFile(tw, dir, &files[i]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", files[i].Path, err)
		}
		packed(files[i].Size, all)
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return files, zw.Close()
}

func listFiles(dir, first string) ([]components.File, error) {
	var files []components.File
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
		f := components.File{Path: filepath.ToSlash(rel), Mode: mode, Size: info.Size()}
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
	slices.SortFunc(files, func(a, b components.File) int {
		switch {
		case a.Path == first:
			return -1
		case b.Path == first:
			return 1
		}
		return cmp.Compare(a.Path, b.Path)
	})
	return files, nil
}

func packFile(tw *tar.Writer, dir string, f *components.File) error {
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
	f.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return nil
}
