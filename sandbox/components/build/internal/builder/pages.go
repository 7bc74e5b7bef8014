package builder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// pages returns the cache's entry of the hub's pages, made if need be, and false for a
// repository without them.
func (b Builder) pages(ctx context.Context) (entry, bool, error) {
	key, err := b.pagesKey()
	if errors.Is(err, fs.ErrNotExist) {
		b.log(recipe.HubWeb, "warning: left out, %v", err)
		return entry{}, false, nil
	}
	if err != nil {
		return entry{}, false, err
	}
	c := cache{dir: b.Cache, name: recipe.HubWeb}
	unlock, err := b.lockPages(ctx)
	if err != nil {
		return entry{}, false, err
	}
	defer unlock()
	if e, ok := c.find(key); ok {
		b.log(recipe.HubWeb, "found in cache (%s)", key[:keyLen])
		return e, true, nil
	}
	b.log(recipe.HubWeb, "not in cache (%s), building", key[:keyLen])
	b.track.Usual(recipe.HubWeb)
	defer b.track.Doing(recipe.HubWeb, "")
	started := time.Now()
	var e entry
	err = b.pagesBench(func(bench recipe.Bench) error {
		licenses, err := recipe.MakeHubWeb(ctx, bench)
		if err != nil {
			return err
		}
		data, err := json.Marshal(licenses)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(bench.Out, components.LicensesFile), data, 0o644); err != nil {
			return err
		}
		e, err = c.add(bench.Out, key, "", components.Component{Name: recipe.HubWeb}, b.packing(recipe.HubWeb))
		return err
	})
	if err != nil {
		return entry{}, false, err
	}
	b.log(recipe.HubWeb, "built in %s: %d files, %s, packed %s", time.Since(started).Round(100*time.Millisecond),
		len(e.Component.Files), megabytes(e.Component.UnpackedSize()), megabytes(e.Component.Size))
	return e, true, c.trim()
}

// testPages runs the tests of the pages, unless they have passed on the same sources.
func (b Builder) testPages(ctx context.Context) error {
	key, err := b.pagesKey()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unlock, err := b.lockPages(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	passed := filepath.Join(b.Cache, recipe.HubWeb+"-"+key[:keyLen]+".tested")
	if _, err := os.Stat(passed); err == nil {
		b.log(recipe.HubWeb, "tested before (%s)", key[:keyLen])
		return nil
	}
	started := time.Now()
	if err := b.pagesBench(func(bench recipe.Bench) error { return recipe.TestHubWeb(ctx, bench) }); err != nil {
		return err
	}
	b.log(recipe.HubWeb, "tested in %s", time.Since(started).Round(100*time.Millisecond))
	return writeFile(passed, nil)
}

func (b Builder) lockPages(ctx context.Context) (unlock func() error, err error) {
	return lock(ctx, filepath.Join(b.Cache, recipe.HubWeb+".lock"), func() { b.log(recipe.HubWeb, "waiting for another build of it") })
}

// pagesBench calls do with folders that go afterwards.
func (b Builder) pagesBench(do func(recipe.Bench) error) error {
	// in the cache and not in /tmp, which may be memory
	tmp, err := os.MkdirTemp(b.Cache, recipe.HubWeb+"-*.work")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bench := recipe.Bench{
		Source:    b.Root,
		Out:       filepath.Join(tmp, "out"),
		Work:      filepath.Join(tmp, "work"),
		Component: recipe.HubWeb,
		Track:     b.track,
	}
	for _, dir := range []string{bench.Out, bench.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return do(bench)
}

// pagesKey digests all that decides what the pages are. Their lock file pins Node, too.
func (b Builder) pagesKey() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "format %d\n%s %d\n", format, recipe.HubWeb, recipe.HubWebRevision)
	for _, source := range recipe.HubWebSources() {
		err := filepath.WalkDir(filepath.Join(b.Root, filepath.FromSlash(source)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(b.Root, path)
			if err != nil {
				return err
			}
			// made anew of the API's description, also where one lies in a clone that is worked in
			if rel = filepath.ToSlash(rel); rel == recipe.HubWebTypes {
				return nil
			}
			return digestFile(h, path, rel)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// layPages makes the folder that the program embeds have exactly the pages of an entry, and
// returns the licences of what is in them.
func (b Builder) layPages(ctx context.Context, e entry) ([]components.License, error) {
	tmp, err := os.MkdirTemp(b.Cache, recipe.HubWeb+"-*.work")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	manifest, err := json.Marshal(components.Manifest{Components: []components.Component{e.Component}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tmp, components.ManifestFile), manifest, 0o644); err != nil {
		return nil, err
	}
	if err := link(e.path, filepath.Join(tmp, e.Component.Archive())); err != nil {
		return nil, err
	}
	packed, err := components.Open(os.DirFS(tmp))
	if err != nil {
		return nil, err
	}
	if err := packed.Stage(ctx, tmp); err != nil {
		return nil, err
	}
	made, out := packed.Path(tmp, recipe.HubWeb), filepath.Join(b.Root, filepath.FromSlash(recipe.HubWebOutput))
	belongs := map[string]bool{".keep": true}
	for _, f := range e.Component.Files {
		rel, ok := strings.CutPrefix(f.Path, "dist/")
		if !ok {
			continue
		}
		belongs[rel] = true
		data, err := os.ReadFile(filepath.Join(made, filepath.FromSlash(f.Path)))
		if err != nil {
			return nil, err
		}
		to := filepath.Join(out, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := writeFile(to, data); err != nil {
			return nil, err
		}
	}
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(out, path)
		if err != nil || belongs[filepath.ToSlash(rel)] {
			return err
		}
		return os.Remove(path)
	})
	if err != nil {
		return nil, err
	}
	return packed.Licenses(recipe.HubWeb)
}
