package main

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
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
		return nil, fmt.Errorf("ask kubeadm which images it wants: %w", err)
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
	if err := one.disk("usr/local/bin/kube", 0o755, filepath.Join(kube, "kube")); err != nil {
		return nil, err
	}
	for _, p := range podPrograms {
		one.link("usr/local/bin/"+p, "kube")
	}
	one.folder("tmp", 0o1777)
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
		if err := t.disk(name, 0o755, filepath.Join(node, from)); err != nil {
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
			t.link("usr/sbin/"+family+verb, family+"-nft"+verb)
		}
	}
	t.link("usr/sbin/modprobe", "/usr/bin/kmod")
	t.folder("run", 0o755) // for the lock of iptables
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
			return fmt.Errorf("kubeadm asks for the image %s, which this program does not make", names[what][0])
		}
	}
	return nil
}
