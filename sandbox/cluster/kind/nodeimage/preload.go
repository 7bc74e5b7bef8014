package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

const (
	containerdStart = 30 * time.Second
	containerdEnd   = 20 * time.Second
)

// preload returns what is in containerd's root folder once it has the images:
// a containerd with folders of its own imports them on this machine. They are
// not unpacked: a node does that on its own file system.
func (b builder) preload(ctx context.Context, node string, names map[string][]string, images map[string]v1.Image) (t tree, err error) {
	archive := filepath.Join(b.work, "pods.tar")
	if err := b.writeLayout(archive, names, images); err != nil {
		return nil, err
	}
	// the path of a socket must be short
	run, err := os.MkdirTemp("", "kind-node-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(run)
	store, socket := filepath.Join(b.work, "containerd"), filepath.Join(run, "s")
	end, err := startContainerd(ctx, node, store, run, socket)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := importArchive(ctx, node, socket, archive); err != nil {
		return nil, err
	}
	if err := end(); err != nil {
		return nil, err
	}
	end = func() error { return nil }
	return storeTree(store)
}

func startContainerd(ctx context.Context, node, store, run, socket string) (end func() error, err error) {
	config := filepath.Join(run, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, preloadConfig, store, filepath.Join(run, "state"), socket, os.Getuid(), os.Getgid()), 0o600); err != nil {
		return nil, err
	}
	logName := filepath.Join(run, "log")
	log, err := os.Create(logName)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(node)
	cmd.Args, cmd.Stdout, cmd.Stderr = []string{"containerd", "--config", config}, log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	end = func() error {
		// what it has written is whole only when it ends by itself
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			return nil
		case <-time.After(containerdEnd):
			_ = cmd.Process.Kill()
			<-ended
			return fmt.Errorf("containerd, process %d, did not end within %s", cmd.Process.Pid, containerdEnd)
		}
	}
	err = retry.Until(ctx, "an answer of containerd", containerdStart, func(ctx context.Context) error {
		_, err := tool{path: node, args: []string{"ctr", "--address", socket, "version"}}.run(ctx)
		return err
	})
	if err != nil {
		said, _ := os.ReadFile(logName)
		return nil, errors.Join(&commandError{name: "containerd", tail: tail(string(said)), err: err}, end())
	}
	return end, nil
}

// preloadConfig turns off what needs more than a folder.
const preloadConfig = `version = 3
root = %q
state = %q
disabled_plugins = [
  "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime",
  "io.containerd.nri.v1.nri", "io.containerd.internal.v1.cri", "io.containerd.podsandbox.controller.v1.podsandbox",
]
[grpc]
  address = %q
  uid = %d
  gid = %d
`

func importArchive(ctx context.Context, node, socket, archive string) error {
	_, err := tool{path: node, args: []string{"ctr", "--address", socket, "--namespace=k8s.io", "images", "import",
		"--label=io.cri-containerd.pinned=pinned", "--no-unpack", archive}}.run(ctx)
	if err != nil {
		return fmt.Errorf("import the images of pods: %w", err)
	}
	return nil
}

// storeTree is what a node needs of containerd's folder: contents, and the
// database with their names.
func storeTree(store string) (tree, error) {
	t := tree{}
	t.folder("var/lib/containerd", 0o711)
	for _, plugin := range []string{"io.containerd.content.v1.content", "io.containerd.metadata.v1.bolt"} {
		if err := t.keep("var/lib/containerd/"+plugin, filepath.Join(store, plugin)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// writeLayout writes the images as one archive in the OCI layout, which, other
// than docker's, keeps the layers as they are compressed.
func (b builder) writeLayout(archive string, names map[string][]string, images map[string]v1.Image) error {
	dir := filepath.Join(b.work, "pods")
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(names)) {
		for _, name := range names[what] {
			err := to.AppendImage(images[what], layout.WithAnnotations(map[string]string{
				"io.containerd.image.name":          name,
				"org.opencontainers.image.ref.name": name,
			}))
			if err != nil {
				return fmt.Errorf("image %s: %w", name, err)
			}
		}
	}
	t := tree{}
	if err := t.keep("", dir); err != nil {
		return err
	}
	delete(t, "")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	return errors.Join(t.write(f), f.Close())
}
