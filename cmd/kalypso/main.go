// Command kalypso is the Kalypso multi-cluster workload orchestration pattern
// on one machine, and its scheduler for real fleets.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
