package recipe

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// progressInterval is how often a compilation reports how far it is.
const progressInterval = 5 * time.Second

// A Compilation is one program that the go command compiles and links. A large
// one takes minutes, so it reports its progress: how many packages are compiled
// of all that the build cache lacks.
type Compilation struct {
	// Dir is a folder of the module that builds the program.
	Dir string
	// Env is added to this process's environment.
	Env []string
	// Flags are build flags that `go list` takes as well as `go build`.
	Flags []string
	// Package is the program's package, Out the file it is written to.
	Package, Out string
	// Log gets the progress.
	Log func(format string, args ...any)
}

// Run compiles and links the program.
func (c Compilation) Run(ctx context.Context) error {
	total, err := c.stale(ctx)
	if err != nil {
		return err
	}
	p := &packageCount{total: total}
	stop := p.report(c.Log)
	defer stop()
	return c.build(ctx, p)
}

func (c Compilation) build(ctx context.Context, p *packageCount) error {
	args := slices.Concat([]string{"go", "build", "-v"}, c.Flags, []string{"-o", c.Out, c.Package})
	return command.Command{Dir: c.Dir, Env: c.Env, Args: args, Progress: p.line}.Run(ctx)
}

// stale counts the packages that are to be compiled, after it has fetched the
// modules that they are in.
func (c Compilation) stale(ctx context.Context) (int, error) {
	modules := &moduleCount{}
	stop := modules.report(c.Log)
	defer stop()
	args := slices.Concat([]string{"go", "list", "-deps", "-f", "{{if .Stale}}{{.StaleReason}}{{end}}"}, c.Flags, []string{c.Package})
	out, err := command.Command{Dir: c.Dir, Env: c.Env, Args: args, Progress: modules.line}.Output(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for reason := range bytes.Lines(out) {
		// what is compiled and only not linked counts as stale, too
		if reason = bytes.TrimSpace(reason); len(reason) > 0 && !bytes.HasPrefix(reason, []byte("not installed")) {
			n++
		}
	}
	return n, nil
}

// packageCount follows `go build -v`, which names each package as it begins to
// compile it.
type packageCount struct {
	total int

	mu    sync.Mutex
	begun int
}

// line takes a line of the go command's and tells whether it names a package.
// All others are errors or warnings.
func (p *packageCount) line(text string) bool {
	if text == "" || strings.HasPrefix(text, "#") || strings.ContainsAny(text, " \t:") {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	return true
}

func (p *packageCount) report(log func(string, ...any)) (stop func()) {
	return every(progressInterval, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.total == 0:
			log("link")
		case p.begun < p.total:
			log("compile: %d of %d packages", p.begun, p.total)
		default:
			log("compile: the last of %d packages, then link", p.total)
		}
	})
}

// moduleCount follows the modules that the go command fetches.
type moduleCount struct {
	mu      sync.Mutex
	fetched int
}

func (m *moduleCount) line(text string) bool {
	if !strings.HasPrefix(text, "go: downloading ") {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fetched++
	return true
}

func (m *moduleCount) report(log func(string, ...any)) (stop func()) {
	return every(progressInterval, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.fetched == 0 {
			log("read packages")
			return
		}
		log("fetch modules: %d so far", m.fetched)
	})
}

// every calls f in intervals until it is stopped.
func every(interval time.Duration, f func()) (stop func()) {
	ticker := time.NewTicker(interval)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}
