// Command release makes a release of kalypso out of the clone that it is run in:
// programs for every platform, as archives and packages, images, a chart, bills of
// materials, licences, digests and their provenance.
//
//	go run -C internal/release . -version v0.1.0
//
// It is a module of its own, so that what it needs to write all these formats is
// no dependency of kalypso. What it makes depends on the commit and on nothing
// else: no time but the commit's, no name of the machine, no order of a map. Two
// runs write the same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// repository is where the project is, and unless -url says otherwise where its
// releases are served from.
const repository = "https://github.com/kalypso-dev/kalypso"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := Release{}
	var platforms, cli string
	flag.StringVar(&r.Version, "version", "", "the release's `version`, as v0.1.0 or v0.1.0-rc.1")
	flag.StringVar(&r.Root, "root", "../..", "the root of the repository")
	flag.StringVar(&r.Out, "out", "", "the `folder` that the release is written to (default dist/VERSION below the root); what is there is replaced")
	flag.StringVar(&platforms, "platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "what kalypso with the sandbox is built for, \"\" for none")
	flag.StringVar(&cli, "cli-platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64", "what kalypso-cli is built for; images are made of those for Linux")
	flag.StringVar(&r.URL, "url", repository+"/releases", "where the release will be served from, as the formula has it")
	flag.StringVar(&r.Key, "key", "", "`file` with a minisign secret key that signs the digests; KALYPSO_RELEASE_PASSWORD has its password")
	flag.BoolVar(&r.Dirty, "dirty", false, "release what is not committed, too; nobody can make such a release again")
	flag.Parse()
	var err error
	if r.Targets, err = targetsOf(platforms, cli); err == nil {
		err = r.Make(ctx)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "release: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A Target is one program of a release.
type Target struct {
	// Name is "kalypso", or "kalypso-cli" for the one without the sandbox.
	Name     string
	OS, Arch string
}

// The names of the two programs. In their archives and packages both are called
// kalypso.
const (
	whole = "kalypso"
	cli   = "kalypso-cli"
)

// Platform is what the target runs on, as GOOS/GOARCH.
func (t Target) Platform() string { return t.OS + "/" + t.Arch }

// String names the target in file names and messages.
func (t Target) String() string { return t.Name + "_" + t.OS + "_" + t.Arch }

// Program is the name of the program's file.
func (t Target) Program() string {
	if t.OS == "windows" {
		return "kalypso.exe"
	}
	return "kalypso"
}

// runsHere reports whether this machine runs the program.
func (t Target) runsHere() bool { return t.OS == runtime.GOOS && t.Arch == runtime.GOARCH }

func targetsOf(wholePlatforms, cliPlatforms string) ([]Target, error) {
	var targets []Target
	for name, list := range map[string]string{whole: wholePlatforms, cli: cliPlatforms} {
		for platform := range strings.FieldsSeq(list) {
			goos, goarch, ok := strings.Cut(platform, "/")
			if !ok || goos == "" || goarch == "" {
				return nil, fmt.Errorf("platform %q is not of the form GOOS/GOARCH, as linux/arm64", platform)
			}
			if name == whole && goos == "windows" {
				return nil, errors.New("the sandbox does not run on Windows: only kalypso-cli is built for it")
			}
			targets = append(targets, Target{Name: name, OS: goos, Arch: goarch})
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("there is no platform to build for")
	}
	return targets, nil
}
