package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

const (
	containerdConfig = "etc/containerd/config.toml"
	kubeletDefaults  = "etc/default/kubelet"
	units            = "etc/systemd/system/"
)

// kubePrograms are what the program kube is on a node.
var kubePrograms = []string{"kubeadm", "kubectl", "kubelet"}

// nodePrograms are where a node has the programs of the component node.
var nodePrograms = map[string]string{
	"node":                    "usr/local/bin/containerd",
	"containerd-shim-runc-v2": "usr/local/bin/containerd-shim-runc-v2",
	"runc":                    "usr/local/sbin/runc",
	"host-local":              "opt/cni/bin/host-local",
	"loopback":                "opt/cni/bin/loopback",
	"portmap":                 "opt/cni/bin/portmap",
	"ptp":                     "opt/cni/bin/ptp",
}

// services are what a node's systemd starts.
var services = []string{"containerd.service", "kubelet.service", "undo-mount-hacks.service"}

// base is the Debian root without the services that a machine needs and a node
// must not run: terminals, logins, devices, timers.
func (r *root) base() tree {
	const lib = "usr/lib/systemd/system/"
	unwanted := []string{
		lib + "sysinit.target.wants/systemd-tmpfiles-setup.service",
		lib + "multi-user.target.wants/*",
		lib + "local-fs.target.wants/*",
		lib + "basic.target.wants/*",
		lib + "sockets.target.wants/*udev*",
		lib + "sockets.target.wants/*initctl*",
		units + "*.wants/*",
	}
	out := maps.Clone(r.tree)
	maps.DeleteFunc(out, func(name string, _ filetree.Entry) bool {
		for _, pattern := range unwanted {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
		return false
	})
	out.Link("usr/sbin/init", "/usr/lib/systemd/systemd")
	return out
}

// nodeFiles are kind's files for a node and our own.
func nodeFiles(kindDir, version string, spec []byte) (tree, error) {
	out := tree{}
	mode := func(name string) int64 {
		if strings.Contains(name, "bin/") {
			return 0o755
		}
		return 0o644
	}
	if err := out.Files("", os.DirFS(filepath.Join(kindDir, "images", "base", "files")), mode); err != nil {
		return nil, fmt.Errorf("kind's files of a node: %w", err)
	}
	own, err := fs.Sub(source, "files")
	if err != nil {
		return nil, err
	}
	if err := out.Files("", own, mode); err != nil {
		return nil, err
	}
	for _, s := range services {
		if err := enable(out, s); err != nil {
			return nil, err
		}
	}
	// it would register programs with the machine's kernel
	out.Link(units+"systemd-binfmt.service", "/dev/null")
	out.Folder("etc/kubernetes/manifests", 0o755, 0)
	out.File("kind/version", 0o644, []byte(version))
	out.File("etc/containerd/cri-base.json", 0o644, spec)
	// where a container gets addresses from is known when the node is
	if err := extend(out, containerdConfig, "\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  conf_template = \"/kind/cni.conflist.template\"\n"); err != nil {
		return nil, err
	}
	return out, replace(out, kubeletDefaults, "KUBELET_EXTRA_ARGS=",
		// since 1.35 it refuses machines that have the first version of control groups
		"KUBELET_EXTRA_ARGS=--fail-cgroupv1=false ")
}

// enable makes systemd start a unit, as `systemctl enable` does.
func enable(t tree, unit string) error {
	content, err := contentOf(t, units+unit)
	if err != nil {
		return err
	}
	wanted := regexp.MustCompile(`(?m)^WantedBy=(\S+)$`).FindSubmatch(content)
	if wanted == nil {
		return fmt.Errorf("%s: nothing wants it", unit)
	}
	t.Link(units+string(wanted[1])+".wants/"+unit, "/"+units+unit)
	return nil
}

func extend(t tree, name, more string) error {
	old, err := contentOf(t, name)
	if err != nil {
		return err
	}
	t.File(name, t[name].Mode, append(old, more...))
	return nil
}

func replace(t tree, name, old, with string) error {
	content, err := contentOf(t, name)
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte(old)) {
		return fmt.Errorf("%s: has no %q", name, old)
	}
	t.File(name, t[name].Mode, bytes.Replace(content, []byte(old), []byte(with), 1))
	return nil
}

// programs are kalypso's own programs in a node's places.
func programs(kube, node, crictl string) (tree, error) {
	out := tree{}
	for to, from := range map[string]string{"usr/bin/kube": filepath.Join(kube, "kube"), "usr/local/bin/crictl": crictl} {
		if err := out.Disk(to, 0o755, from); err != nil {
			return nil, err
		}
	}
	for _, p := range kubePrograms {
		out.Link("usr/bin/"+p, "kube")
	}
	for name, to := range nodePrograms {
		if err := out.Disk(to, 0o755, filepath.Join(node, name)); err != nil {
			return nil, err
		}
	}
	out.Link("usr/local/bin/ctr", "containerd")
	return out, nil
}

// containerSpec is what all containers of a node begin with: ctr's default,
// with kind's hook, and without limits of its own.
func containerSpec(ctx context.Context, node string) ([]byte, error) {
	out, err := tool{path: node, args: []string{"ctr", "oci", "spec"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	return changeSpec(out)
}

func changeSpec(spec []byte) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(spec, &all); err != nil {
		return nil, fmt.Errorf("ctr oci spec: %w", err)
	}
	process, ok := all["process"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("ctr oci spec: has no process")
	}
	delete(process, "rlimits")
	hooks, _ := all["hooks"].(map[string]any)
	if hooks == nil {
		hooks = map[string]any{}
	}
	before, _ := hooks["createContainer"].([]any)
	hooks["createContainer"] = append(before, map[string]any{"path": "/kind/bin/mount-product-files.sh"})
	all["hooks"] = hooks
	return json.MarshalIndent(all, "", "  ")
}

// sandboxImage finds the image in containerd's configuration that holds a
// pod's namespaces.
func sandboxImage(config []byte) (string, error) {
	found := regexp.MustCompile(`(?m)^\s*sandbox_image\s*=\s*"([^"]+)"`).FindSubmatch(config)
	if found == nil {
		return "", fmt.Errorf("%s: has no sandbox_image", containerdConfig)
	}
	return string(found[1]), nil
}
