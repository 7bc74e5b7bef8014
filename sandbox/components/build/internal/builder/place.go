package builder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// place makes the payload folder hold exactly these entries, their manifest
// and kalypso's own licences.
func (b Builder) place(entries []entry) error {
	if err := os.MkdirAll(b.payload(), 0o755); err != nil {
		return err
	}
	var m components.Manifest
	belongs := map[string]bool{components.ManifestFile: true, components.SelfLicensesFile: true}
	for _, e := range entries {
		if m.Platform != "" && m.Platform != e.Platform {
			return fmt.Errorf("%s is for %s, others are for %s", e.Component.Name, e.Platform, m.Platform)
		}
		m.Platform = e.Platform
		m.Components = append(m.Components, e.Component)
		belongs[e.Component.Archive()] = true
		if err := link(e.path, filepath.Join(b.payload(), e.Component.Archive())); err != nil {
			return err
		}
	}
	slices.SortFunc(m.Components, func(x, y components.Component) int { return cmp.Compare(x.Name, y.Name) })
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(b.payload(), components.ManifestFile), append(data, '\n')); err != nil {
		return err
	}
	return b.sweep(belongs)
}

// sweep removes what earlier builds have left in the payload folder, since all
// that lies there ends up in the binary.
func (b Builder) sweep(belongs map[string]bool) error {
	present, err := os.ReadDir(b.payload())
	if err != nil {
		return err
	}
	for _, f := range present {
		if f.Name() == ".keep" || belongs[f.Name()] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(b.payload(), f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// link makes to the same file as from, or a copy where links cannot be made.
func link(from, to string) error {
	a, err := os.Stat(from)
	if err != nil {
		return err
	}
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return nil
	}
	tmp := to + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Link(from, tmp) != nil {
		if err := copyFile(from, tmp); err != nil {
			return err
		}
	}
	return os.Rename(tmp, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	// never into a file that is there: it might be a link to an archive of the cache
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
