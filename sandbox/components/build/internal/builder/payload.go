package builder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/license"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// writePayload makes the payload folder hold exactly these entries, their manifest
// and kalypso's own licences.
func (b Builder) writePayload(entries []entry) error {
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

// writeLicenses writes the licences of all that is linked into a component,
// and of what its recipe added, into the tree to be packed.
func (b Builder) writeLicenses(ctx context.Context, r recipe.Recipe, bench recipe.Bench, added []components.License) error {
	modules, err := license.Modules(ctx, bench.Source, r.Env(), ".")
	if err != nil {
		return err
	}
	all, err := b.collect(r.Name, modules)
	if err != nil {
		return err
	}
	for _, l := range added {
		l.Component = r.Name
		all = append(all, l)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bench.Out, components.LicensesFile), data, 0o644)
}

func (b Builder) collect(name string, modules []license.Linked) ([]components.License, error) {
	all, without, err := license.Collect(name, modules)
	if err != nil {
		return nil, err
	}
	for _, m := range without {
		b.log(name, "warning: %s has no licence text", m)
	}
	return all, nil
}

// program is the package of kalypso itself.
const program = "./cmd/kalypso"

// ownLicenses are those of kalypso's own binary, with those of the pages in it. Their list
// comes from the packages that are linked in now, which are not in go.sum; making it anew
// takes as long as comparing it would.
func (b Builder) ownLicenses(ctx context.Context, pages []components.License) ([]components.License, error) {
	modules, err := license.Modules(ctx, b.Root, recipe.GoEnv(), program)
	if err != nil {
		return nil, err
	}
	own, err := b.collect(components.Self, modules)
	return append(own, pages...), err
}

// self writes the licences of kalypso's own binary.
func (b Builder) self(ctx context.Context, pages []components.License) error {
	if _, err := os.Stat(filepath.Join(b.Root, program)); err != nil {
		b.log(components.Self, "warning: no %s yet, so no licences of it", program)
		return nil
	}
	all, err := b.ownLicenses(ctx, pages)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	zw, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(zw).Encode(all); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	if err := os.MkdirAll(b.payload(), 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(b.payload(), components.SelfLicensesFile), out.Bytes())
}
