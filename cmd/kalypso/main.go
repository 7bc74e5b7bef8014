// Command kalypso is the Kalypso multi-cluster workload orchestration pattern
// on one machine, and its scheduler for real fleets.
package main

import (
	"context"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli"
)

// version is set by the linker.
var version = "devel"

func main() {
	os.Exit(cli.Run(context.Background(), version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
