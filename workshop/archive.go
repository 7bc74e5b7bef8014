package workshop

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/gitcommand"
	"github.com/kalypso-dev/kalypso/internal/usage"
)

// maxArchive bounds what an archive unpacks to, in bytes.
const maxArchive = 20 << 30

// Pack writes a workshop's folder as a .tar.gz, the same bytes for the same files.
func Pack(w *Workshop, to io.Writer) error {
	zipped := gzip.NewWriter(to)
	archive := tar.NewWriter(zipped)
	err := fs.WalkDir(w.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if name == ".git" {
			return fs.SkipDir // of the folder itself, when it is a clone
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(w.Name, name), Mode: 0o644, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Size: info.Size()}
		switch {
		case entry.IsDir():
			header.Typeflag, header.Size, header.Mode, header.Name = tar.TypeDir, 0, 0o755, header.Name+"/"
			return archive.WriteHeader(header)
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is no file: a workshop has only files and folders", name)
		case info.Mode()&0o100 != 0:
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		file, err := w.Files.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(archive, file)
		return errors.Join(err, file.Close())
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}

// openArchive unpacks a .tar.gz below scratch, and opens the workshop in it.
func openArchive(file, scratch string) (*Workshop, error) {
	dir, err := os.MkdirTemp(scratch, "workshop-")
	if err != nil {
		return nil, err
	}
	if err := unpack(file, dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, File)); err == nil {
		return OpenFolder(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() })
	if len(entries) != 1 {
		return nil, usage.Errorf("%s has no %s, neither at its top nor in its only folder", file, File)
	}
	return OpenFolder(filepath.Join(dir, entries[0].Name()))
}

func unpack(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return usage.Errorf("%s is no .tar.gz: %v", file, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(zipped)
	left := int64(maxArchive)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return usage.Errorf("%s is damaged: %v", file, err)
		}
		if left -= header.Size; left < 0 {
			return usage.Errorf("%s unpacks to more than %d GiB", file, maxArchive>>30)
		}
		if err := unpackEntry(root, archive, header); err != nil {
			return usage.Errorf("%s: %s: %v", file, header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, archive io.Reader, header *tar.Header) error {
	name := path.Clean(header.Name)
	if !filepath.IsLocal(filepath.FromSlash(header.Name)) && name != "." {
		return errors.New("its path leads out of the folder")
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(filepath.FromSlash(name), 0o755)
	case tar.TypeReg:
	case tar.TypeXGlobalHeader:
		return nil // what git archive writes
	default:
		return errors.New("it is a link or a device: a workshop has only files and folders")
	}
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if header.Mode&0o100 != 0 {
		mode = 0o755
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, archive)
	return errors.Join(err, f.Close())
}

// copyFiles writes the files of the folder to another one.
func (w *Workshop) copyFiles(dir string) error {
	return fs.WalkDir(w.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case name == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		case !entry.Type().IsRegular():
			return usage.Errorf("%s is a link or a device: a workshop has only files and folders", filepath.Join(w.Dir, filepath.FromSlash(name)))
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		from, err := w.Files.Open(name)
		if err != nil {
			return err
		}
		defer from.Close()
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 && !strings.Contains(name, ".git/") {
			mode = 0o755
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Close())
	})
}

// Equal says whether two workshops have the same files. Of repositories with a
// history it compares the branches' last commits, but of those that are fetched from
// a server, which is not asked.
func (w *Workshop) Equal(other *Workshop) bool {
	a, err := w.digest()
	if err != nil {
		return false
	}
	b, err := other.digest()
	return err == nil && a == b
}

func (w *Workshop) digest() (string, error) {
	sum := sha256.New()
	fetched := map[string]bool{} // folders that only a copy has
	for _, r := range w.Repositories {
		if r.Git == "" {
			continue
		}
		fetched[path.Join(RepositoryFolder, r.Name+".git")] = true
		if isURL(r.Git) {
			continue
		}
		from := r.Bare
		if from == "" {
			from = w.gitPath(r)
		}
		heads, err := gitcommand.Command{Limit: gitLimit}.Line(context.Background(), "ls-remote", "--heads", "--", from)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q %q\n", r.Name, heads)
	}
	err := fs.WalkDir(w.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git", fetched[name]:
			return fs.SkipDir
		case entry.IsDir() && path.Dir(name) == RepositoryFolder && path.Ext(name) == ".git":
			heads, err := bareHeads(filepath.Join(w.Dir, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%q %q\n", name, heads)
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		data, err := fs.ReadFile(w.Files, name)
		fmt.Fprintf(sum, "%q %d\n", name, len(data))
		sum.Write(data)
		return err
	})
	return string(sum.Sum(nil)), err
}
