package recipe

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/command"
)

// Environment and flags keep a build from depending on whose machine it is
// on: no cgo, no workspace, no user's flags, no paths, no commit of this
// repository.
var (
	goEnv      = []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="}
	buildFlags = []string{"-mod=readonly", "-trimpath", "-buildvcs=false"}
)

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

func moduleVersion(ctx context.Context, dir, path string) (string, error) {
	m, err := findModule(ctx, dir, path)
	return m.Version, err
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
