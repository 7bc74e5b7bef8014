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
	"slices"
	"strings"
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
