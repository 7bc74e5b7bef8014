package recipe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/progress"
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
	// Component is what the program belongs to, and Track gets its progress.
	Component string
	Track     *progress.Tracker
}

// compiling is held by the program whose packages are compiled. One alone uses all of the
// machine, and the next one finds in the build cache what both are made of.
var compiling sync.Mutex

// Run compiles and links the program. As long as one program is compiled, others have only
// their modules fetched, or are linked.
func (c Compilation) Run(ctx context.Context) error {
	defer c.Track.Doing(c.Component, "")
	all, stale, err := c.list(ctx)
	if err != nil {
		return err
	}
	c.Track.Compile(stale)
	linking := c.Component + " link " + c.Package
	c.Track.Plan(linking, progress.Link*size(all))
	c.Track.Plan(c.Component, 0) // what it is made of is known now
	c.Track.Doing(c.Component, "waits for the compiler")
	compiling.Lock()
	compiled := sync.OnceFunc(func() {
		c.Track.Compiled(all...)
		compiling.Unlock()
	})
	defer compiled()
	_, err = c.build(ctx, all, c.Track.Waiting(stale), compiled)
	c.Track.Finish(linking)
	return err
}

// size is the length of all files of packages.
func size(packages []progress.Source) float64 {
	var n int64
	for _, s := range packages {
		n += s.Size
	}
	return float64(n)
}

// build returns how many packages the go command has begun to compile, and calls compiled
// when it has come to the program's own, which imports all others. With -v it names each.
// All its other lines are errors or warnings.
func (c Compilation) build(ctx context.Context, all []progress.Source, total int, compiled func()) (int, error) {
	byPath := map[string]progress.Source{}
	for _, s := range all {
		byPath[s.Path] = s
	}
	program := all[len(all)-1].Path
	begun := 0
	c.Track.Doing(c.Component, "link")
	args := slices.Concat([]string{"go", "build", "-v"}, c.Flags, []string{"-o", c.Out, c.Package})
	env := append(slices.Clone(c.Env), collector)
	var last []progress.Source // those that are still being compiled
	err := command.Command{Dir: c.Dir, Env: env, Args: args, Progress: func(line string) bool {
		if line == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(line, " \t:") {
			return false
		}
		begun++
		if last = append(last, byPath[line]); len(last) > runtime.NumCPU() {
			c.Track.Compiled(last[0])
			last = last[1:]
		}
		if line == program {
			compiled()
			c.Track.Doing(c.Component, "link")
		} else {
			c.Track.Doing(c.Component, fmt.Sprintf("compile %d of %d packages", begun, max(begun, total)))
		}
		return true
	}}.Run(ctx)
	return begun, err
}

// target are those settings of the environment for which the same files are compiled
// differently.
func (c Compilation) target() string {
	var all []string
	for _, name := range []string{"GOOS", "GOARCH", "CGO_ENABLED"} {
		value := os.Getenv(name)
		for _, setting := range c.Env {
			if set, ok := strings.CutPrefix(setting, name+"="); ok {
				value = set
			}
		}
		all = append(all, name+"="+value)
	}
	return strings.Join(all, " ")
}

// list reads the packages that the program is made of, after it has fetched the modules
// that they are in, and returns those of them that are to be compiled, too.
func (c Compilation) list(ctx context.Context) (all, stale []progress.Source, err error) {
	c.Track.Doing(c.Component, "read packages")
	fetched := 0
	args := slices.Concat([]string{"go", "list", "-deps", "-json=" + progress.Fields}, c.Flags, []string{c.Package})
	out, err := command.Command{Dir: c.Dir, Env: c.Env, Args: args, Progress: func(line string) bool {
		isModule := strings.HasPrefix(line, "go: downloading ")
		if isModule {
			fetched++
			c.Track.Doing(c.Component, fmt.Sprintf("fetch modules, %d so far", fetched))
		}
		return isModule
	}}.Output(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, stale, err = progress.Read(out, c.target())
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("go list: %s has no packages", c.Package)
	}
	return all, stale, err
}
