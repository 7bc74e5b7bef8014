// Command nodeimage builds the image of a kind node from Debian's packages and
// kalypso's own programs, without a registry and without a container engine,
// and gives it to the engine if one answers. Run it from the root of the
// repository, once `make build` has laid the payload (`make kind-node-image`
// does both):
//
//	go run ./sandbox/cluster/kind/nodeimage
//
// The image is kind's: its files, its first process, its life. What kind
// downloads for it is made here instead:
//
//	Debian root        debootstrap, kept as a tar archive
//	node's programs    the components kube and node of the payload
//	images of pods     the same programs again, laid into containerd's store
//	network            containerd's own configuration from a template
//
// The result is an archive that `docker load` reads. Its name has a digest of
// all that decides what is in it, so a second run finds it and does nothing.
//
// The Debian root is an exception: newer versions of its packages alone make no
// new one. Remove debian-*.tar and node-*.tar from the cache to have them.
//
// A cluster of this image is complete with one node. With several, the pods of
// different nodes do not reach each other: there is no kindnet. For the same
// reason a cluster with disableDefaultCNI has this network all the same.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster/kind"
	"github.com/kalypso-dev/kalypso/sandbox/components"
)

func main() {
	syscall.Umask(0o022) // pods of other users than root read what is unpacked into the image
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Stdout, os.Stderr))
}

// payload is where `make build` lays the components.
const payload = "sandbox/components/payload"

// run builds the image and loads it, and returns the exit code. The archive's
// path goes to stdout, progress to stderr.
func run(ctx context.Context, stdout, stderr io.Writer) int {
	report := newReporter(stderr, time.Now())
	archive, err := image(ctx, report)
	if err == nil {
		fmt.Fprintln(stdout, archive)
		return 0
	}
	var failed *commandError
	if errors.As(err, &failed) && failed.tail != "" {
		fmt.Fprintf(stderr, "\n%s\n\n", failed.tail)
	}
	if ctx.Err() != nil {
		report("interrupted")
		return 130
	}
	report("%v", err)
	return 1
}

// image makes the image, unless it is there, and loads it, unless the engine
// has it. It returns the path of the archive.
func image(ctx context.Context, report reporter) (string, error) {
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
	store, err := openCache()
	if err != nil {
		return "", err
	}
	archive, err := store.archive(ctx, report, in, func(work, to string) error {
		return builder{parts: parts, in: in, cache: store, work: work, report: report}.build(ctx, to)
	})
	if err != nil {
		return "", err
	}
	return archive, load(ctx, report, archive, in)
}

// A reporter prints a line of progress.
type reporter func(format string, args ...any)

// newReporter returns a reporter that puts the time since began before each line.
func newReporter(w io.Writer, began time.Time) reporter {
	return func(format string, args ...any) {
		fmt.Fprintf(w, "kind-node-image: %6.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}

const (
	// endDelay is how long an interrupted tool may take to clean up.
	endDelay = 30 * time.Second
	// tailLines is how much of a failed tool's output is shown.
	tailLines = 30
)

// A commandError is a tool that failed, with the end of its output.
type commandError struct {
	name string
	tail string
	err  error
}

func (e *commandError) Error() string { return fmt.Sprintf("%s: %v", e.name, e.err) }
func (e *commandError) Unwrap() error { return e.err }

// A tool is one call of a program.
type tool struct {
	path string   // of the program; args[0] if it is empty
	args []string // with the name that the program is to see
	dir  string
	env  []string // added to this process's
	in   io.Reader
}

// run runs the tool to its end and returns what it wrote to standard output.
func (t tool) run(ctx context.Context) ([]byte, error) {
	path := t.path
	if path == "" {
		path = t.args[0]
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir, cmd.Stdin = t.args, t.dir, t.in
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endDelay
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = exec.ErrNotFound
	}
	return nil, &commandError{name: strings.Join(t.args[:min(3, len(t.args))], " "), tail: tail(out.String() + wrong.String()), err: err}
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// load gives the image to the engine, unless it has it. Without an engine it
// reports how to do that later, which is no error.
func load(ctx context.Context, report reporter, archive string, in inputs) error {
	engine, err := kind.FindEngine()
	if err == nil {
		err = engine.Answers(ctx)
	}
	if err != nil {
		report("not loaded: %v", err)
		report("load it later: docker load -i %s", archive)
		return nil
	}
	command := func(args ...string) (string, error) {
		out, err := tool{args: append([]string{engine.Program}, args...)}.run(ctx)
		return strings.TrimSpace(string(out)), err
	}
	// an error means that there is no such image
	had, _ := command("image", "inspect", "--format", `{{.Id}} {{index .Config.Labels "`+keyLabel+`"}}`, in.tag())
	id, key, _ := strings.Cut(had, " ")
	if key == in.key() {
		report("%s has %s", engine.Program, in.tag())
		return nil
	}
	report("loading %s into %s", in.tag(), engine.Program)
	if _, err := command("load", "-i", archive); err != nil {
		return fmt.Errorf("load %s: %w", archive, err)
	}
	if id != "" {
		// the one before has no name any more; it stays while a node is made of it
		_, _ = command("image", "rm", id)
	}
	report("%s has %s", engine.Program, in.tag())
	return nil
}
