package components

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
}

// Open reads the manifest of the payload in fsys. The archives are read when
// they are staged.
func Open(fsys fs.FS) (*Payload, error) {
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

// inside opens the payload of this binary once.
var inside = sync.OnceValues(func() (*Payload, error) {
	fsys, err := embedded()
	if err != nil {
		return nil, err
	}
	return Open(fsys)
})

// Packed returns the manifest of the payload in this binary. The error is
// [ErrNoPayload] if there is none.
func Packed() (Manifest, error) {
	p, err := inside()
	if err != nil {
		return Manifest{}, err
	}
	return p.Manifest(), nil
}

// Stage makes sure that each named component (all of them, if none is named)
// lies complete below dir; see [Payload.Stage].
func Stage(ctx context.Context, dir string, names ...string) error {
	p, err := inside()
	if err != nil {
		return err
	}
	return p.Stage(ctx, dir, names...)
}

// Path returns the folder below dir in which [Stage] puts the component. It is
// empty for a component that this binary does not have inside.
func Path(dir, name string) string {
	p, err := inside()
	if err != nil {
		return ""
	}
	return p.Path(dir, name)
}

// Prune removes staged folders below dir that are of other versions than the
// payload of this binary; see [Payload.Prune].
func Prune(dir string) error {
	p, err := inside()
	if err != nil {
		return err
	}
	return p.Prune(dir)
}

// Licenses returns the licences of everything linked into a component, or into
// kalypso itself for [Self]; see [Payload.Licenses].
func Licenses(component string) ([]License, error) {
	p, err := inside()
	if err != nil {
		return nil, err
	}
	return p.Licenses(component)
}
