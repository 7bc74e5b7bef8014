package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"
	"golang.org/x/sync/errgroup"
)

// A Release is what one run makes.
type Release struct {
	// Version is that of all that is made, with the v.
	Version string
	// Root is the root of the repository, Out where the release goes.
	Root, Out string
	Targets   []Target
	// URL is where releases are served from: a file of this one is at
	// URL/download/VERSION/NAME.
	URL string
	// Key is the file of a minisign secret key, "" for none.
	Key string
	// Dirty allows what is not committed.
	Dirty bool

	commit string
	time   time.Time // of the commit: that of every file
	work   string    // folder of what is made on the way; it is kept, as a cache is
	stage  string    // the release until it is whole

	mu       sync.Mutex
	began    time.Time
	programs map[Target]built
	written  []string // names of files in stage
}

// number is the version without the v.
func (r *Release) number() string { return strings.TrimPrefix(r.Version, "v") }

// Make makes the release. A release that is there is whole: until the last step
// it lies beside its folder.
func (r *Release) Make(ctx context.Context) error {
	r.began = time.Now()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer os.RemoveAll(r.stage)
	// one after the other: they share the folder that the payload is linked from,
	// and the compiler uses all of the machine
	if err := r.buildPrograms(ctx); err != nil {
		return err
	}
	documents, err := r.documents(ctx)
	if err != nil {
		return err
	}
	group, packing := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, t := range r.Targets {
		group.Go(func() error {
			return r.step(packing, "pack "+t.String(), func() error { return r.pack(t, documents) })
		})
	}
	group.Go(func() error { return r.step(packing, "images", r.images) })
	group.Go(func() error { return r.step(packing, "chart", r.chart) })
	if err := group.Wait(); err != nil {
		return err
	}
	for _, last := range []struct {
		name string
		do   func() error
	}{
		{"formula and installer", r.installers},
		{"provenance", func() error { return r.provenance(ctx) }},
		{"digests", r.sums},
	} {
		if err := r.step(ctx, last.name, last.do); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(r.Out); err != nil {
		return err
	}
	if err := os.Rename(r.stage, r.Out); err != nil {
		return err
	}
	r.log("%s: %d files in %s", r.Version, len(r.written), r.Out)
	return nil
}

// step carries out a part of the release, and reports how long it took.
func (r *Release) step(ctx context.Context, name string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.log("%-32s %.1f s", name, time.Since(began).Seconds())
	return nil
}

func (r *Release) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(os.Stderr, "release: %4.0f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// prepare checks what a release needs, before anything is built.
func (r *Release) prepare(ctx context.Context) (err error) {
	if !semver.IsValid(r.Version) || semver.Canonical(r.Version) != r.Version {
		return fmt.Errorf("version %q is not of the form v0.1.0 or v0.1.0-rc.1", r.Version)
	}
	if r.Root, err = filepath.Abs(r.Root); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.Root, "cmd", "kalypso")); err != nil {
		return fmt.Errorf("%s is not the root of the repository: %w", r.Root, err)
	}
	if r.Out, err = filepath.Abs(cmp.Or(r.Out, filepath.Join(r.Root, "dist", r.Version))); err != nil {
		return err
	}
	slices.SortFunc(r.Targets, func(a, b Target) int { return cmp.Compare(a.String(), b.String()) })
	r.Targets = slices.Compact(r.Targets)
	if !slices.ContainsFunc(r.Targets, Target.runsHere) {
		return fmt.Errorf("no program is built for %s/%s, and one that runs here is needed: it writes the manual pages", runtime.GOOS, runtime.GOARCH)
	}
	if err := r.checkCompilers(); err != nil {
		return err
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	if r.Key != "" {
		if _, err := r.signingKey(); err != nil {
			return err
		}
	}
	r.work = filepath.Join(filepath.Dir(r.Out), ".work")
	r.stage = r.Out + ".new"
	if err := os.RemoveAll(r.stage); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(r.work, 0o755), os.MkdirAll(r.stage, 0o755))
}

// machines are the first words of the names of compilers, by architecture.
var machines = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// checkCompilers looks for what runc is linked with, for which there has to be a C
// compiler: finding that it is missing would take half an hour otherwise.
func (r *Release) checkCompilers() error {
	for _, t := range r.Targets {
		machine := machines[t.Arch]
		if t.Name != whole || t.OS != "linux" || t.Arch == runtime.GOARCH || os.Getenv("CC") != "" {
			continue
		}
		_, err := exec.LookPath(machine + "-gcc")
		if _, noLibrary := os.Stat("/usr/lib/" + machine + "/libseccomp.a"); err != nil || noLibrary != nil {
			return fmt.Errorf("%s needs a C compiler and libseccomp for %s; on Debian: dpkg --add-architecture %s && apt-get update && apt-get install gcc-%s libseccomp-dev:%s",
				t, t.Arch, t.Arch, machine, t.Arch)
		}
	}
	return nil
}

// readCommit reads what is released, and its time.
func (r *Release) readCommit(ctx context.Context) error {
	head, err := r.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, at, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("git log: %q has no time: %w", head, err)
	}
	r.commit, r.time = commit, time.Unix(seconds, 0).UTC()
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" && !r.Dirty {
		first, _, _ := strings.Cut(changed, "\n")
		return fmt.Errorf("the clone has changes that are not committed, such as %q: commit them, since a release is made of a commit", strings.TrimSpace(first))
	}
	return nil
}

func (r *Release) git(ctx context.Context, args ...string) (string, error) {
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stderr = r.Root, &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

// write adds a file to the release.
func (r *Release) write(name string, content []byte) error {
	return r.create(name, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// create adds a file to the release, whose content fill writes.
func (r *Release) create(name string, fill func(*os.File) error) error {
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o755
	}
	f, err := os.OpenFile(filepath.Join(r.stage, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = append(r.written, name)
	return nil
}
