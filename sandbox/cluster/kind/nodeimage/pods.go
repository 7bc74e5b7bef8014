package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

// searchPath is where programs lie in the images.
const searchPath = "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// podPrograms are the pods' programs that are the program kube.
var podPrograms = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"}

// proxyNeeds is what kube-proxy calls.
var proxyNeeds = []string{
	"/usr/sbin/iptables-nft", "/usr/sbin/iptables-nft-save", "/usr/sbin/iptables-nft-restore",
	"/usr/sbin/ip6tables-nft", "/usr/sbin/ip6tables-nft-save", "/usr/sbin/ip6tables-nft-restore",
	"/usr/sbin/nft", "/usr/sbin/conntrack", "/usr/bin/kmod",
}

// imageNames returns the names of the images that kubeadm asks for, by what
// they are: the last part of a name, without its tag.
func imageNames(ctx context.Context, kube, version string) (map[string][]string, error) {
	out, err := tool{path: kube, args: []string{"kubeadm", "config", "images", "list", "--kubernetes-version", version}}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list kubeadm's images: %w", err)
	}
	names := map[string][]string{}
	for _, name := range strings.Fields(string(out)) {
		addName(names, name)
	}
	return names, nil
}

func addName(names map[string][]string, name string) {
	what, _, _ := strings.Cut(path.Base(name), ":")
	if !slices.Contains(names[what], name) {
		names[what] = append(names[what], name)
	}
}

// podImages makes the images of a control plane's pods. Their first layer is
// the same, since their program is, and so containerd unpacks it once.
func (b builder) podImages(r *root, kube, node string) (map[string]v1.Image, error) {
	one := tree{}
	if err := one.Disk("usr/local/bin/kube", 0o755, filepath.Join(kube, "kube")); err != nil {
		return nil, err
	}
	for _, p := range podPrograms {
		one.Link("usr/local/bin/"+p, "kube")
	}
	one.Folder("tmp", 0o1777, 0)
	shared, err := b.podLayer("kube", one)
	if err != nil {
		return nil, err
	}
	images := map[string]v1.Image{}
	for _, p := range podPrograms {
		layers := []v1.Layer{shared}
		if p == "kube-proxy" {
			more, err := b.proxyLayer(r)
			if err != nil {
				return nil, err
			}
			layers = append(layers, more)
		}
		if images[p], err = b.podImage("/usr/local/bin/"+p, layers...); err != nil {
			return nil, err
		}
	}
	for name, from := range map[string]string{"pause": "pause", "coredns": "node"} {
		t := tree{}
		if err := t.Disk(name, 0o755, filepath.Join(node, from)); err != nil {
			return nil, err
		}
		layer, err := b.podLayer(name, t)
		if err != nil {
			return nil, err
		}
		if images[name], err = b.podImage("/"+name, layer); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// proxyLayer has the tools of Debian that kube-proxy calls.
func (b builder) proxyLayer(r *root) (v1.Layer, error) {
	t, err := r.closure(append(slices.Clone(proxyNeeds), "/usr/lib/"+triplet()+"/xtables/")...)
	if err != nil {
		return nil, err
	}
	for name, e := range r.tree {
		// /bin, /lib, /sbin, which the loader's path and others go through
		if !strings.Contains(name, "/") && e.Linkname != "" {
			t[name] = e
		}
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, verb := range []string{"", "-save", "-restore"} {
			t.Link("usr/sbin/"+family+verb, family+"-nft"+verb)
		}
	}
	t.Link("usr/sbin/modprobe", "/usr/bin/kmod")
	t.Folder("run", 0o755, 0) // for the lock of iptables
	return b.podLayer("proxy", t)
}

// triplet is what Debian calls this kind of machine.
func triplet() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}

func (b builder) podImage(program string, layers ...v1.Layer) (v1.Image, error) {
	image, err := mutate.AppendLayers(ociImage(), layers...)
	if err != nil {
		return nil, err
	}
	return withConfig(image, v1.Config{Env: []string{searchPath}, Entrypoint: []string{program}, WorkingDir: "/"})
}

// missing names what is wanted and not made.
func missing(names map[string][]string, images map[string]v1.Image) error {
	for _, what := range slices.Sorted(maps.Keys(names)) {
		if images[what] == nil {
			return fmt.Errorf("kubeadm needs the image %s, which this program does not make", names[what][0])
		}
	}
	return nil
}

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
		output, _ := os.ReadFile(logName)
		return nil, errors.Join(&commandError{name: "containerd", tail: tail(string(output)), err: err}, end())
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
	t.Folder("var/lib/containerd", 0o711, 0)
	for _, plugin := range []string{"io.containerd.content.v1.content", "io.containerd.metadata.v1.bolt"} {
		if err := keepFolder(t, "var/lib/containerd/"+plugin, filepath.Join(store, plugin)); err != nil {
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
	if err := keepFolder(t, "", dir); err != nil {
		return err
	}
	delete(t, "")
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	return errors.Join(t.Write(f), f.Close())
}
