package recipe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// CompilerFlags decide what is compiled. What is compiled with the same ones, and from the
// same versions, is compiled once for all programs. Nothing reads debug information, which
// is a sixth of the compiler's work.
var CompilerFlags = []string{"-trimpath", "-gcflags=all=-dwarf=false"}

// Environment and flags keep a build from depending on whose machine it is
// on: no cgo, no workspace, no user's flags, no paths, no commit of this
// repository.
var (
	goEnv      = []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="}
	buildFlags = append(slices.Clone(CompilerFlags), "-mod=readonly", "-buildvcs=false")
)

// collector lets the compiler use a fifth more memory, in which it is a sixth faster.
const collector = "GOGC=400"

// GoEnv is the environment in which the go command builds components.
func GoEnv() []string { return append([]string(nil), goEnv...) }

// Test runs the tests of the module in dir, compiled as its build is: what that
// has compiled needs not be compiled again. For the same reason it is not
// vetted, which would look at all that the module depends on.
func (r Recipe) Test(ctx context.Context, dir string) error {
	r.GOOS = "" // they run here
	args := append([]string{"go", "test", "-vet=off"}, buildFlags...)
	return (command.Command{Dir: dir, Env: r.Env(), Args: append(args, "./...")}).Run(ctx)
}

// Toolchain describes the Go toolchain and platform that build the module in
// dir, as lines of name=value.
func Toolchain(ctx context.Context, dir string) (lines []string, platform string, err error) {
	names := []string{"GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GODEBUG"}
	out, err := (command.Command{Dir: dir, Env: goEnv, Args: append([]string{"go", "env", "-json"}, names...)}).Output(ctx)
	if err != nil {
		return nil, "", err
	}
	var env map[string]string
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, "", fmt.Errorf("go env: %w", err)
	}
	for _, n := range names {
		lines = append(lines, n+"="+env[n])
	}
	return lines, env["GOOS"] + "/" + env["GOARCH"], nil
}

// module is what `go list -m -json` says.
type module struct {
	Path, Version, Dir string
	Replace            *module
}

// findModule returns the module as the module in dir uses it, downloaded.
func findModule(ctx context.Context, dir, path string) (module, error) {
	if err := (command.Command{Dir: dir, Env: goEnv, Args: []string{"go", "mod", "download", path}}).Run(ctx); err != nil {
		return module{}, err
	}
	out, err := (command.Command{Dir: dir, Env: goEnv, Args: []string{"go", "list", "-mod=readonly", "-m", "-json", path}}).Output(ctx)
	if err != nil {
		return module{}, err
	}
	var m module
	if err := json.Unmarshal(out, &m); err != nil {
		return module{}, fmt.Errorf("go list -m %s: %w", path, err)
	}
	if m.Replace != nil {
		return *m.Replace, nil
	}
	return m, nil
}

// stamp returns the linker's flags that write a version into a program.
func stamp(settings []string, version string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) != 3 {
		return "", fmt.Errorf("version %q is not of the form v1.2.3", version)
	}
	r := strings.NewReplacer("{version}", version, "{major}", parts[0], "{minor}", parts[1])
	var b strings.Builder
	for _, s := range settings {
		b.WriteString(" -X " + r.Replace(s))
	}
	return b.String(), nil
}

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

// compiling is held by the program whose packages are compiled. One alone uses all of the
// machine, and the next one finds in the build cache what both are made of.
var compiling sync.Mutex

// Run compiles and links the program. As long as one program is compiled, others have only
// their modules fetched, or are linked.
func (c Compilation) Run(ctx context.Context) error {
	program, err := c.fetch(ctx)
	if err != nil {
		return err
	}
	compiling.Lock()
	compiled := sync.OnceFunc(compiling.Unlock)
	defer compiled()
	total, err := c.stale(ctx)
	if err != nil {
		return err
	}
	_, err = c.build(ctx, int64(total), func(path string) {
		// it imports all others, so it is the last
		if path == program {
			compiled()
		}
	})
	return err
}

// build returns how many packages the go command has begun to compile, and calls begins
// with the path of each: with -v it names them. All its other lines are errors or warnings.
func (c Compilation) build(ctx context.Context, total int64, begins func(path string)) (int64, error) {
	var begun atomic.Int64
	defer every(progressInterval, func() {
		switch n := begun.Load(); {
		case total == 0:
			c.Log("link")
		case n < total:
			c.Log("compile: %d of %d packages", n, total)
		default:
			c.Log("compile: the last of %d packages, then link", total)
		}
	})()
	args := slices.Concat([]string{"go", "build", "-v"}, c.Flags, []string{"-o", c.Out, c.Package})
	env := append(slices.Clone(c.Env), collector)
	err := command.Command{Dir: c.Dir, Env: env, Args: args, Progress: func(line string) bool {
		if line == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(line, " \t:") {
			return false
		}
		begun.Add(1)
		begins(line)
		return true
	}}.Run(ctx)
	return begun.Load(), err
}

// fetch fetches the modules that the program is made of, and returns the path of its package.
func (c Compilation) fetch(ctx context.Context) (string, error) {
	out, err := c.list(ctx, "{{.ImportPath}}")
	if err != nil {
		return "", err
	}
	out = bytes.TrimSpace(out) // what a package imports comes before it
	return string(out[bytes.LastIndexByte(out, '\n')+1:]), nil
}

// stale counts the packages that are to be compiled.
func (c Compilation) stale(ctx context.Context) (int, error) {
	out, err := c.list(ctx, "{{if .Stale}}{{.StaleReason}}{{end}}")
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

// list prints the packages of the program, after it has fetched the modules that they are in.
func (c Compilation) list(ctx context.Context, format string) ([]byte, error) {
	var fetched atomic.Int64
	defer every(progressInterval, func() {
		if n := fetched.Load(); n == 0 {
			c.Log("read packages")
		} else {
			c.Log("fetch modules: %d so far", n)
		}
	})()
	args := slices.Concat([]string{"go", "list", "-deps", "-f", format}, c.Flags, []string{c.Package})
	return command.Command{Dir: c.Dir, Env: c.Env, Args: args, Progress: func(line string) bool {
		isModule := strings.HasPrefix(line, "go: downloading ")
		if isModule {
			fetched.Add(1)
		}
		return isModule
	}}.Output(ctx)
}

// every calls f in intervals until it is stopped.
func every(interval time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for ticks := time.Tick(interval); ; {
			select {
			case <-ticks:
				f()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}
