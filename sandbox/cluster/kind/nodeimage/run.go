package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// payload is where `make build` lays the components.
const payload = "sandbox/components/payload"

// run builds the image and loads it, and returns the exit code. The archive's
// path goes to stdout, all talk to stderr.
func run(ctx context.Context, stdout, stderr io.Writer) int {
	say := talk(stderr, time.Now())
	archive, err := image(ctx, say)
	if err == nil {
		fmt.Fprintln(stdout, archive)
		return 0
	}
	var failed *commandError
	if errors.As(err, &failed) && failed.tail != "" {
		fmt.Fprintf(stderr, "\n%s\n\n", failed.tail)
	}
	if ctx.Err() != nil {
		say("interrupted")
		return 130
	}
	say("%v", err)
	return 1
}

// image makes the image, unless it is there, and loads it, unless the engine
// has it. It returns the path of the archive.
func image(ctx context.Context, say sayer) (string, error) {
	if _, err := os.Stat(payload); err != nil {
		return "", fmt.Errorf("run this from the root of the repository: %w", err)
	}
	parts, err := components.Open(os.DirFS(payload))
	if err != nil {
		return "", err
	}
	in, err := inputsOf(parts.Manifest())
	if err != nil {
		return "", err
	}
	store, err := openCache(os.Getenv)
	if err != nil {
		return "", err
	}
	archive, err := store.archive(ctx, say, in, func(work, to string) error {
		return builder{parts: parts, in: in, cache: store, work: work, say: say}.build(ctx, to)
	})
	if err != nil {
		return "", err
	}
	return archive, load(ctx, say, archive, in)
}

// A sayer tells the user what happens now.
type sayer func(format string, args ...any)

// talk returns a sayer that puts the time since began before each line.
func talk(w io.Writer, began time.Time) sayer {
	return func(format string, args ...any) {
		fmt.Fprintf(w, "kind-node-image: %6.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}
