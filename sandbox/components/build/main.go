// Command build makes the payload of kalypso: it builds what has changed of the
// components, and lays their archives into sandbox/components/payload, from
// where a build with the tag payload takes them. Run it from the root of the
// repository.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/builder"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(builder.Main(ctx, os.Stderr))
}
