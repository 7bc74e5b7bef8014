package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"path"
	"slices"
	"strings"
)

// closure returns what of the root the named programs need to run: themselves,
// the libraries they are linked with, the loader, and the links that lead to
// all of these. A name that ends with a slash means all that is in a folder.
func (r *root) closure(names ...string) (tree, error) {
	out := tree{}
	libraries := r.libraries()
	var want []string
	for _, n := range names {
		if !strings.HasSuffix(n, "/") {
			want = append(want, n)
			continue
		}
		dir, _, err := r.follow(n)
		if err != nil {
			return nil, err
		}
		for file, e := range r.tree {
			if path.Dir(file) == dir && e.Typeflag != tar.TypeDir {
				want = append(want, file)
			}
		}
	}
	for len(want) > 0 {
		name := want[0]
		want = want[1:]
		file, links, err := r.follow(name)
		if err != nil {
			return nil, err
		}
		for _, l := range append(links, file) {
			out[l] = r.tree[l]
		}
		needs, err := r.needs(file)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			if !path.IsAbs(n) {
				i := slices.IndexFunc(libraries, func(dir string) bool {
					_, ok := r.tree[path.Join(dir, n)]
					return ok
				})
				if i < 0 {
					return nil, fmt.Errorf("%s needs %s, which is not in the Debian root", file, n)
				}
				n = path.Join(libraries[i], n)
			}
			if _, ok := out[clean(n)]; !ok {
				want = append(want, n)
			}
		}
	}
	return out, nil
}

// libraries are the folders that the loader searches: /usr/lib and those below
// it that are named after a machine, such as x86_64-linux-gnu.
func (r *root) libraries() []string {
	dirs := []string{"usr/lib"}
	for name := range r.tree {
		if ok, _ := path.Match("usr/lib/*-linux-gnu*", name); ok {
			dirs = append(dirs, name)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// needs returns the names of the libraries that a program or library is linked
// with, and the path of its loader.
func (r *root) needs(file string) ([]string, error) {
	content, err := r.read(file)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	needs, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader := make([]byte, p.Filesz)
		if _, err := p.ReadAt(loader, 0); err != nil {
			return nil, fmt.Errorf("%s: loader: %w", file, err)
		}
		needs = append(needs, string(bytes.TrimRight(loader, "\x00")))
	}
	return needs, nil
}
