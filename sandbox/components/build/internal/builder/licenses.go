package builder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/license"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

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

// self writes the licences of kalypso's own binary. Their list comes from the
// packages that are linked in now, which go.sum alone does not tell; making it
// anew takes as long as comparing it would.
func (b Builder) self(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(b.Root, program)); err != nil {
		b.log(components.Self, "warning: no %s yet, so no licences of it", program)
		return nil
	}
	modules, err := license.Modules(ctx, b.Root, recipe.GoEnv(), program)
	if err != nil {
		return err
	}
	all, err := b.collect(components.Self, modules)
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
