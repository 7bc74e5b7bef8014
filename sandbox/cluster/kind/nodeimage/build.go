package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

const (
	// keyLabel is the label of an image with the key of what it is made of. It
	// identifies the image, whose ID differs between engines.
	keyLabel = "kalypso.dev/kind-node"
	// crictl is the module that pins crictl, which kind and users call on a
	// node. It has one of its own: it is made of newer parts of Kubernetes.
	crictl = "sandbox/cluster/kind/nodeimage/crictl"
)

// A builder makes one image.
type builder struct {
	parts  *components.Payload
	in     inputs
	cache  cache
	work   string // an empty folder
	report reporter
}

// build writes the image's archive.
func (b builder) build(ctx context.Context, archive string) error {
	debian, crictl, err := b.gather(ctx)
	if err != nil {
		return err
	}
	r, err := openRoot(debian)
	if err != nil {
		return fmt.Errorf("Debian root: %w", err)
	}
	defer r.close()
	staged := filepath.Join(b.work, "components")
	if err := b.parts.Stage(ctx, staged, "kube", "node"); err != nil {
		return err
	}
	kube, node := b.parts.Path(staged, "kube"), b.parts.Path(staged, "node")

	files, err := b.files(ctx, filepath.Join(node, "node"))
	if err != nil {
		return err
	}
	names, err := b.names(ctx, filepath.Join(kube, "kube"), files)
	if err != nil {
		return err
	}
	b.report("pods: packing images")
	pods, err := b.podImages(r, kube, node)
	if err == nil {
		err = missing(names, pods)
	}
	if err != nil {
		return fmt.Errorf("images of pods: %w", err)
	}
	b.report("pods: importing images")
	store, err := b.preload(ctx, filepath.Join(node, "node"), names, pods)
	if err != nil {
		return fmt.Errorf("containerd's store: %w", err)
	}
	own, err := programs(kube, node, crictl)
	if err != nil {
		return err
	}
	b.report("node: packing")
	image, err := b.nodeImage(r.base(), own, files, store)
	if err != nil {
		return err
	}
	return b.write(ctx, archive, image)
}

// gather makes what takes long, concurrently.
func (b builder) gather(ctx context.Context) (debian, crictl string, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		debian, err = b.debianRoot(ctx)
		return err
	})
	g.Go(func() (err error) {
		crictl, err = b.crictl(ctx)
		return err
	})
	return debian, crictl, g.Wait()
}

// crictl builds the client of containerd. Go's own cache makes this quick.
func (b builder) crictl(ctx context.Context) (string, error) {
	b.report("crictl: building")
	to := filepath.Join(b.work, "crictl")
	_, err := tool{dir: filepath.FromSlash(crictl), env: []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="},
		args: []string{"go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", to, "sigs.k8s.io/cri-tools/cmd/crictl"}}.run(ctx)
	if err == nil {
		b.report("crictl: built")
	}
	return to, err
}

func (b builder) files(ctx context.Context, node string) (tree, error) {
	spec, err := containerSpec(ctx, node)
	if err != nil {
		return nil, err
	}
	dir, err := tool{args: []string{"go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kind"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	return nodeFiles(strings.TrimSpace(string(dir)), b.in.Kubernetes, spec)
}

// names are the images that a node must have: kubeadm's, and the one that
// kind's containerd makes pods with.
func (b builder) names(ctx context.Context, kube string, files tree) (map[string][]string, error) {
	names, err := imageNames(ctx, kube, b.in.Kubernetes)
	if err != nil {
		return nil, err
	}
	config, err := contentOf(files, containerdConfig)
	if err != nil {
		return nil, err
	}
	pause, err := sandboxImage(config)
	if err != nil {
		return nil, err
	}
	addName(names, pause)
	return names, nil
}

// nodeImage packs the trees, one layer each: what changes least comes first.
func (b builder) nodeImage(debian, own, files, store tree) (v1.Image, error) {
	parts := []struct {
		name string
		tree tree
	}{{"debian", debian}, {"programs", own}, {"store", store}, {"files", files}}
	layers := make([]v1.Layer, len(parts))
	var g errgroup.Group
	for i, p := range parts {
		g.Go(func() (err error) {
			layers[i], err = b.nodeLayer(p.name, p.tree)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	return withConfig(image, v1.Config{
		// systemd looks for it to learn that it runs in a container
		Env:        []string{"container=docker", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		StopSignal: "SIGRTMIN+3", // systemd's signal to shut down
		Labels:     map[string]string{keyLabel: b.in.key()},
	})
}

func (b builder) write(ctx context.Context, archive string, image v1.Image) error {
	tag, err := name.NewTag(b.in.tag())
	if err != nil {
		return err
	}
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	if err := errors.Join(tarball.Write(tag, image, f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", archive, err)
	}
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	b.report("node: %d MB", info.Size()>>20)
	return ctx.Err()
}
