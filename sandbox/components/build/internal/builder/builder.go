// Package builder makes a payload: for each component it finds the archive in
// the cache or makes it, then lays all of them and a manifest into the payload
// folder.
//
// The cache is addressed by content: an archive's name has the digest of all
// that decides what is in it (see [keyOf]), so an entry is right for ever and
// is never updated. It lies outside of the repository, and any number of
// clones may use it at once.
package builder

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/progress"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/recipe"
)

// A Builder makes the payload of one clone.
type Builder struct {
	// Root is the root of the repository.
	Root string
	// Cache is the folder of archives made before.
	Cache string
	// Recipes are the components.
	Recipes []recipe.Recipe
	// Progress gets one line for each step.
	Progress *log.Logger

	track *progress.Tracker // of the build that runs
}

// Main runs work on a Builder of the repository in the current folder, with the
// settings of the environment, and returns the exit code. What it makes is for
// platform, as GOOS/GOARCH, or for this machine when that is "".
func Main(ctx context.Context, stderr io.Writer, platform string, work func(Builder, context.Context) error) int {
	goos, err := choosePlatform(platform)
	var cache string
	if err == nil {
		cache, err = cacheFolder(os.Getenv)
	}
	if err == nil {
		b := Builder{Root: ".", Cache: cache, Recipes: recipe.All(goos), Progress: log.New(stderr, "components: ", 0)}
		err = work(b, ctx)
	}
	if err == nil {
		return 0
	}
	var failed *command.Error
	if errors.As(err, &failed) && failed.Tail != "" {
		fmt.Fprintf(stderr, "\n%s\n\n", failed.Tail)
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "components: interrupted")
		return 130
	}
	fmt.Fprintln(stderr, "components:", err)
	return 1
}

// choosePlatform has every go command that follows build for platform, and
// returns its system.
func choosePlatform(platform string) (goos string, err error) {
	if platform == "" {
		return cmp.Or(os.Getenv("GOOS"), runtime.GOOS), nil
	}
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok || goos == "" || goarch == "" || strings.Contains(goarch, "/") {
		return "", fmt.Errorf("platform %q is not of the form GOOS/GOARCH, as linux/arm64", platform)
	}
	return goos, errors.Join(os.Setenv("GOOS", goos), os.Setenv("GOARCH", goarch))
}

// cacheFolder is ${KALYPSO_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kalypso}/components.
func cacheFolder(env func(string) string) (string, error) {
	dir := env("KALYPSO_CACHE")
	if dir == "" {
		base := env("XDG_CACHE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("find the cache folder (or set KALYPSO_CACHE): %w", err)
			}
			base = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(base, "kalypso")
	}
	return filepath.Abs(filepath.Join(dir, "components"))
}

// Run makes the payload and the hub's pages. It builds all of them at once, since each has
// parts that leave most of the machine idle: web pages, a linker, an archive.
func (b Builder) Run(ctx context.Context) error {
	if err := b.locate(); err != nil {
		return err
	}
	defer b.follow(ctx)()
	entries := make([]entry, len(b.Recipes))
	all, building := errgroup.WithContext(ctx)
	for i, r := range b.Recipes {
		all.Go(func() (err error) {
			if entries[i], err = b.component(building, r); err != nil {
				return fmt.Errorf("build %s: %w", r.Name, err)
			}
			return nil
		})
	}
	var pages entry
	var hasPages bool
	all.Go(func() (err error) {
		if pages, hasPages, err = b.pages(building); err != nil {
			return fmt.Errorf("build the hub's pages: %w", err)
		}
		return nil
	})
	if err := all.Wait(); err != nil {
		return err
	}
	unlock, err := b.lockPayload(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var inPages []components.License
	if hasPages {
		if inPages, err = b.layPages(ctx, pages); err != nil {
			return fmt.Errorf("fill %s: %w", recipe.HubWebOutput, err)
		}
	}
	if err := b.self(ctx, inPages); err != nil {
		return fmt.Errorf("licences of kalypso: %w", err)
	}
	if err := b.writePayload(entries); err != nil {
		return fmt.Errorf("fill %s: %w", b.payload(), err)
	}
	return nil
}

// Program makes the payload and links it into kalypso, at out. What is in it is
// written to the file inventory, where that is not "".
func (b Builder) Program(ctx context.Context, out, version, inventory string) error {
	defer b.follow(ctx)()
	if err := b.Run(ctx); err != nil {
		return err
	}
	if inventory != "" {
		if err := b.writeInventory(inventory); err != nil {
			return fmt.Errorf("inventory: %w", err)
		}
	}
	return b.link(ctx, out, version, "-tags", "payload")
}

// CommandLine links kalypso without a payload, and so without a sandbox, at out. It builds
// no component. What is in it is written to the file inventory, where that is not "".
func (b Builder) CommandLine(ctx context.Context, out, version, inventory string) error {
	if err := b.locate(); err != nil {
		return err
	}
	defer b.follow(ctx)()
	pages, hasPages, err := b.pages(ctx)
	if err != nil {
		return fmt.Errorf("build the hub's pages: %w", err)
	}
	var inPages []components.License
	if hasPages {
		unlock, err := b.lockPayload(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		if inPages, err = b.layPages(ctx, pages); err != nil {
			return fmt.Errorf("fill %s: %w", recipe.HubWebOutput, err)
		}
	}
	if inventory != "" {
		own, err := b.ownLicenses(ctx, inPages)
		if err != nil {
			return fmt.Errorf("licences of kalypso: %w", err)
		}
		if err := (Inventory{Licenses: own}).write(inventory); err != nil {
			return fmt.Errorf("inventory: %w", err)
		}
	}
	return b.link(ctx, out, version)
}

// lockPayload keeps other builds from the folders that kalypso embeds.
func (b Builder) lockPayload(ctx context.Context) (unlock func() error, err error) {
	return lock(ctx, filepath.Join(b.Cache, "payload.lock"), func() { b.log("payload", "waiting for another build") })
}

// link compiles and links kalypso with more of the compiler's flags, at out.
func (b Builder) link(ctx context.Context, out, version string, flags ...string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	err = recipe.Compilation{
		Dir:       b.Root,
		Env:       recipe.GoEnv(),
		Flags:     slices.Concat(recipe.CompilerFlags, flags, []string{"-ldflags", "-s -w -X main.version=" + version}),
		Package:   program,
		Out:       out,
		Component: components.Self,
		Track:     b.track,
	}.Run(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", components.Self, err)
	}
	return nil
}

// Test runs the tests of the components one by one, and stops at the first that
// fail, then those of the hub's pages. Each component is a module of its own, which
// tests of all packages of the repository leave out.
func (b Builder) Test(ctx context.Context) error {
	if err := b.locate(); err != nil {
		return err
	}
	for _, r := range b.Recipes {
		started := time.Now()
		if err := r.Test(ctx, filepath.Join(b.components(), r.Name)); err != nil {
			return fmt.Errorf("test %s: %w", r.Name, err)
		}
		b.log(r.Name, "tested in %s", time.Since(started).Round(100*time.Millisecond))
	}
	if err := b.testPages(ctx); err != nil {
		return fmt.Errorf("test the hub's pages: %w", err)
	}
	return nil
}

// locate makes sure that Root is what it should be, and absolute.
func (b *Builder) locate() error {
	root, err := filepath.Abs(b.Root)
	if err != nil {
		return err
	}
	b.Root = root
	if _, err := os.Stat(filepath.Join(b.components(), "manifest.go")); err != nil {
		return fmt.Errorf("run this from the root of the repository: %w", err)
	}
	return nil
}

func (b Builder) components() string { return filepath.Join(b.Root, "sandbox", "components") }

func (b Builder) payload() string { return filepath.Join(b.components(), "payload") }

// follow begins to tell how far the build is, until the returned function is called. A
// build within another is followed with that.
func (b *Builder) follow(ctx context.Context) (stop func()) {
	if b.track != nil {
		return func() {}
	}
	b.track = progress.New()
	return b.track.Follow(ctx, func(line string) { b.Progress.Print(line) })
}

func (b Builder) log(name, format string, args ...any) {
	b.Progress.Printf("%-7s "+format, append([]any{name}, args...)...)
}

// component returns the cache's entry of a component, made if need be.
func (b Builder) component(ctx context.Context, r recipe.Recipe) (entry, error) {
	key, platform, err := keyOf(ctx, filepath.Join(b.components(), r.Name), r)
	if err != nil {
		return entry{}, err
	}
	c := cache{dir: b.Cache, name: r.Name}
	unlock, err := lock(ctx, filepath.Join(b.Cache, r.Name+".lock"), func() { b.log(r.Name, "waiting for another build of it") })
	if err != nil {
		return entry{}, err
	}
	defer unlock()
	if e, ok := c.find(key); ok {
		b.log(r.Name, "found in cache (%s)", key[:keyLen])
		return e, nil
	}
	b.log(r.Name, "not in cache (%s), building", key[:keyLen])
	b.track.Usual(r.Name)
	defer b.track.Doing(r.Name, "")
	started := time.Now()
	e, err := b.build(ctx, r, c, key, platform)
	if err != nil {
		return entry{}, err
	}
	b.log(r.Name, "built in %s: %d files, %s, packed %s", time.Since(started).Round(100*time.Millisecond),
		len(e.Component.Files), megabytes(e.Component.UnpackedSize()), megabytes(e.Component.Size))
	return e, c.trim()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// build carries out the recipe in a folder of its own.
func (b Builder) build(ctx context.Context, r recipe.Recipe, c cache, key, platform string) (entry, error) {
	// in the cache and not in /tmp, which may be memory: a front end takes 2 GB
	tmp, err := os.MkdirTemp(c.dir, r.Name+"-*.work")
	if err != nil {
		return entry{}, err
	}
	defer os.RemoveAll(tmp)
	bench := recipe.Bench{
		Source:    filepath.Join(b.components(), r.Name),
		Out:       filepath.Join(tmp, "out"),
		Work:      filepath.Join(tmp, "work"),
		Component: r.Name,
		Track:     b.track,
	}
	for _, dir := range []string{bench.Out, bench.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return entry{}, err
		}
	}
	added, err := r.Make(ctx, bench)
	if err != nil {
		return entry{}, err
	}
	versions, err := versionsOf(filepath.Join(bench.Out, r.Name), r.Versions)
	if err != nil {
		return entry{}, err
	}
	if err := b.writeLicenses(ctx, r, bench, added); err != nil {
		return entry{}, err
	}
	bench.Doing("pack")
	return c.add(bench.Out, key, platform, components.Component{Name: r.Name, Versions: versions}, b.packing(r.Name))
}

// packing returns what is told how many bytes of how many are packed of a component.
func (b Builder) packing(name string) func(done, all int64) {
	return func(done, all int64) {
		part := progress.Packing(name)
		b.track.Plan(part, progress.Pack*float64(all))
		b.track.Add(part, progress.Pack*float64(done))
	}
}

// versionsOf reads the versions of modules out of the program that was linked
// from them. names maps what the software is called to its module.
func versionsOf(program string, names map[string]string) (map[string]string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	linked := map[string]string{}
	for _, m := range info.Deps {
		linked[m.Path] = m.Version
		if m.Replace != nil {
			linked[m.Path] = m.Replace.Version
		}
	}
	versions := map[string]string{}
	for name, path := range names {
		v, ok := linked[path]
		if !ok {
			return nil, fmt.Errorf("%s is not linked into %s", path, program)
		}
		versions[name] = v
	}
	return versions, nil
}
