package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// maxLinks is how many links may lie on the way to a file.
const maxLinks = 20

// A root is the file system of a Debian machine, read where it lies: in a tar
// archive.
type root struct {
	tree
	file *os.File
}

// openRoot lists the archive. Its entries read from it until it is closed.
func openRoot(name string) (*root, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &root{tree{}, f}
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := r.add(h); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (r *root) add(h *tar.Header) error {
	name := clean(h.Name)
	if name == "" {
		return nil
	}
	e := entry{Header: *h}
	switch h.Typeflag {
	case tar.TypeReg:
		// the tar reader reads ahead no further than the header
		at, err := r.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		e.open = func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(r.file, at, h.Size)), nil
		}
	case tar.TypeLink:
		e.Linkname = clean(h.Linkname)
	}
	r.tree[name] = e
	return nil
}

func (r *root) close() error { return r.file.Close() }

// follow returns the path of the file that name leads to, and the links on the
// way to it.
func (r *root) follow(name string) (file string, links []string, err error) {
	at, rest := "", clean(name)
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		next := path.Join(at, part)
		e, ok := r.tree[next]
		if !ok {
			return "", nil, &fs.PathError{Op: "follow", Path: name, Err: fs.ErrNotExist}
		}
		switch e.Typeflag {
		case tar.TypeSymlink:
			if links = append(links, next); len(links) > maxLinks {
				return "", nil, fmt.Errorf("%s: more than %d links", name, maxLinks)
			}
			to := e.Linkname
			if !path.IsAbs(to) {
				to = path.Join("/", at, to)
			}
			at, rest = "", clean(path.Join(to, rest))
		case tar.TypeLink:
			links = append(links, next)
			at, rest = "", path.Join(e.Linkname, rest)
		default:
			at = next
		}
	}
	return at, links, nil
}

// read returns the content of a file.
func (r *root) read(name string) ([]byte, error) {
	at, _, err := r.follow(name)
	if err != nil {
		return nil, err
	}
	e := r.tree[at]
	if e.open == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is not a file")}
	}
	in, err := e.open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}
