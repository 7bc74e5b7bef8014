package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// A file is one of an archive: content, or for what is large the path of it.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
	path    string
}

// open returns the file's content and its length.
func (f file) open() (io.ReadCloser, int64, error) {
	if f.path == "" {
		return io.NopCloser(strings.NewReader(string(f.content))), int64(len(f.content)), nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, info.Size(), nil
}

// A tree is the files of an archive.
type tree []file

func (t *tree) add(name string, content []byte) {
	*t = append(*t, file{name: name, mode: 0o644, content: content})
}

// sorted returns the files by name.
func (t tree) sorted() tree {
	sorted := slices.Clone(t)
	slices.SortFunc(sorted, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return sorted
}

// below returns the files with names below a folder.
func (t tree) below(dir string) tree {
	moved := slices.Clone(t)
	for i := range moved {
		moved[i].name = path.Join(dir, moved[i].name)
	}
	return moved
}

// writeTar writes the files as tar, with the time at, owned by root.
func (t tree) writeTar(w io.Writer, at time.Time) error {
	tw := tar.NewWriter(w)
	for _, f := range t.sorted() {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), ModTime: at, Format: tar.FormatPAX}
		if f.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
			if f.mode&fs.ModeSticky != 0 {
				h.Mode |= 0o1000
			}
			if strings.HasPrefix(f.name, "home/") {
				h.Uid, h.Gid = nonroot, nonroot
			}
			if err := tw.WriteHeader(h); err != nil {
				return err
			}
			continue
		}
		in, size, err := f.open()
		if err != nil {
			return err
		}
		h.Typeflag, h.Size = tar.TypeReg, size
		err = tw.WriteHeader(h)
		if err == nil {
			_, err = io.Copy(tw, in)
		}
		if err := errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return tw.Close()
}

// writeTarGz writes the files as tar in gzip, whose header has neither name nor time.
func (t tree) writeTarGz(w io.Writer, at time.Time) error {
	zw := gzip.NewWriter(w)
	return errors.Join(t.writeTar(zw, at), zw.Close())
}

// writeZip writes the files as zip, with the time at.
func (t tree) writeZip(w io.Writer, at time.Time) error {
	zw := zip.NewWriter(w)
	for _, f := range t.sorted() {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		out, err := zw.CreateHeader(h)
		if err != nil {
			return err
		}
		in, _, err := f.open()
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return zw.Close()
}

// archiveName is the name of a target's archive in version number.
func archiveName(t Target, number string) string {
	suffix := ".tar.gz"
	if t.OS == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s%s", t.Name, number, t.OS, t.Arch, suffix)
}

// pack writes what is published of one target: an archive, packages where it is for
// Linux, and the bill of its materials.
func (r *Release) pack(t Target, documents tree) error {
	b := r.programs[t]
	licenses, err := licenseTexts(b.inventory.Licenses)
	if err != nil {
		return err
	}
	content := slices.Clone(documents)
	content.add("THIRD-PARTY-LICENSES.txt", licenses)
	content = append(content, file{name: t.Program(), mode: 0o755, path: b.path})
	name := archiveName(t, r.number())
	err = r.create(name, func(f *os.File) error {
		if t.OS == "windows" {
			return content.writeZip(f, r.time)
		}
		return content.writeTarGz(f, r.time)
	})
	if err != nil {
		return err
	}
	if t.OS == "linux" {
		if err := r.packages(t, content); err != nil {
			return err
		}
	}
	return r.billOfMaterials(t, b)
}
