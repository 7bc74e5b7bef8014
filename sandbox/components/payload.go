// Package components carries the programs of the sandbox, and writes them to
// disk.
//
// Each component is a folder with a go.mod of its own, because the dependencies
// of Kubernetes, Gitea, Flux and the others clash with each other and with ours.
// The program in build makes one archive of each and a manifest of them all in
// the folder payload. A kalypso that is linked with the build tag payload embeds
// that folder; in any other every function here returns [ErrNoPayload].
//
// The life of an archive:
//
//	build     folder, flags and tool versions make a key; archives are cached by it
//	Packed    what this binary has inside
//	Stage     archive -> folder on disk, verified file by file
//	Path      where that folder is
//	Prune     folders of other versions go
//
// Two traps. A staged folder's name contains the archive's digest, so the path
// of a program changes with its version: ask [Path] each time, do not store
// it. And nothing here makes files durable: after a power cut a staged folder
// may hold files of the right length and the wrong content. [Stage] reads every
// program again for that reason, so call it before each start.
package components

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ErrNoPayload is returned by a kalypso that was linked without its payload.
var ErrNoPayload = errors.New("this kalypso was built without its payload of Kubernetes, Gitea and Flux; build one with it: make build")

// A Payload is a set of archives with their manifest. The functions of this
// package work on the one that is inside the binary; [Open] takes any other.
// Its methods may be called at the same time.
type Payload struct {
	fsys     fs.FS
	manifest Manifest
	err      error // why there is none
}

// Open reads the manifest of the payload in fsys. The archives are read when
// they are staged.
func Open(fsys fs.FS) (*Payload, error) {
	if fsys == nil {
		return nil, ErrNoPayload
	}
	data, err := fs.ReadFile(fsys, ManifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoPayload
	} else if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return nil, err
	}
	return &Payload{fsys: fsys, manifest: m}, nil
}

// Manifest returns what the payload holds.
func (p *Payload) Manifest() Manifest { return p.manifest }

// Path returns the folder below dir in which the component is, or will be,
// staged. It is empty for a component that the payload has not.
func (p *Payload) Path(dir, name string) string {
	c, ok := p.manifest.Component(name)
	if !ok {
		return ""
	}
	return filepath.Join(dir, c.Folder())
}

// Prune removes the staged folders below dir that belong to a component of
// this payload in another version. It touches nothing else in dir. Call it when
// no program runs from those folders any more.
func (p *Payload) Prune(dir string) error {
	if p.err != nil {
		return p.err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	var failed []error
	for _, e := range entries {
		name, digest, ok := strings.Cut(e.Name(), "-")
		c, known := p.manifest.Component(name)
		if !ok || !known || !e.IsDir() || len(digest) != digestLen || strings.Trim(digest, "0123456789abcdef") != "" {
			continue
		}
		if e.Name() != c.Folder() {
			failed = append(failed, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	return nil
}

// embedded is the folder payload, if this binary was linked with it.
var embedded fs.FS

// inside opens the payload of this binary once. Without one every call returns
// the reason.
var inside = sync.OnceValue(func() *Payload {
	p, err := Open(embedded)
	if err != nil {
		return &Payload{err: err}
	}
	return p
})

// Packed returns the manifest of the payload in this binary. The error is
// [ErrNoPayload] if there is none.
func Packed() (Manifest, error) { return inside().Manifest(), inside().err }

// Stage makes sure that each named component (all of them, if none is named)
// lies complete below dir; see [Payload.Stage].
func Stage(ctx context.Context, dir string, names ...string) error {
	return inside().Stage(ctx, dir, names...)
}

// Path returns the folder below dir in which [Stage] puts the component. It is
// empty for a component that this binary does not have inside.
func Path(dir, name string) string { return inside().Path(dir, name) }

// Prune removes staged folders below dir that are of other versions than the
// payload of this binary; see [Payload.Prune].
func Prune(dir string) error { return inside().Prune(dir) }

// Licenses returns the licences of everything linked into a component, or into
// kalypso itself for [Self]; see [Payload.Licenses].
func Licenses(component string) ([]License, error) { return inside().Licenses(component) }
