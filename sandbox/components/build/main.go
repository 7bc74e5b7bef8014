// Command build makes the payload of kalypso: it builds what has changed of the
// components, and lays their archives into sandbox/components/payload, from
// where a build with the tag payload takes them. With -kalypso it then builds
// kalypso itself into that file, with -cli without the components. With -test it runs the tests of the components
// instead, with -vulnerabilities it reports what is known against what is
// packed, with -update it moves one component to the newest patches. With
// -platform it builds for another system than this one, for which it has to be
// compiled itself: `go run` with GOOS set would not run it. Run it from the root
// of the repository.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/builder"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	test := flag.Bool("test", false, "run the components' tests, build nothing")
	program := flag.String("kalypso", "", "build kalypso into this `file`, too")
	vulnerabilities := flag.Bool("vulnerabilities", false, "report known vulnerabilities and newer patches, build nothing")
	update := flag.String("update", "", "move this `component` to its newest patches, build nothing")
	cli := flag.Bool("cli", false, "build kalypso without the components, for its commands that need no sandbox")
	version := flag.String("version", "unknown", "the version that kalypso reports")
	platform := flag.String("platform", "", "build for this `GOOS/GOARCH` (default this machine's)")
	inventory := flag.String("inventory", "", "write what is in kalypso, with versions and licences, into this `file` as JSON")
	flag.Parse()
	work := builder.Builder.Run
	switch {
	case *test:
		work = builder.Builder.Test
	case *vulnerabilities:
		work = builder.Builder.Vulnerabilities
	case *update != "":
		work = func(b builder.Builder, ctx context.Context) error { return b.Update(ctx, *update) }
	case *cli && *program != "":
		work = func(b builder.Builder, ctx context.Context) error {
			return b.CommandLine(ctx, *program, *version, *inventory)
		}
	case *program != "":
		work = func(b builder.Builder, ctx context.Context) error {
			return b.Program(ctx, *program, *version, *inventory)
		}
	}
	os.Exit(builder.Main(ctx, os.Stderr, *platform, work))
}
