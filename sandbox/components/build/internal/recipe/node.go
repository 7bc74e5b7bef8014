package recipe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/components/build/internal/license"
)

// nodePrograms lie beside the program node: what is started for every pod, and
// the node's first process. The published ones cannot be imported, so they are
// built as they are.
var nodePrograms = []struct {
	name, pkg string
	tags      string
	cgo       bool
}{
	{name: "init", pkg: "./init"},
	{name: "pause", pkg: "./pause"},
	{name: "containerd-shim-runc-v2", pkg: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"},
	{name: "host-local", pkg: "github.com/containernetworking/plugins/plugins/ipam/host-local"},
	{name: "loopback", pkg: "github.com/containernetworking/plugins/plugins/main/loopback"},
	{name: "ptp", pkg: "github.com/containernetworking/plugins/plugins/main/ptp"},
	{name: "portmap", pkg: "github.com/containernetworking/plugins/plugins/meta/portmap"},
	// C prepares the namespaces before Go starts, and compiles the filters of
	// system calls, without which RuntimeDefault fails
	{name: "runc", pkg: "github.com/opencontainers/runc", tags: "seccomp,netgo,osusergo", cgo: true},
}

// seccompLicenses are where the packages of Debian and Fedora have it.
var seccompLicenses = []string{"/usr/share/doc/libseccomp-dev/copyright", "/usr/share/licenses/libseccomp/LICENSE"}

// machines are the first words of the names of Debian's compilers, by architecture.
var machines = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// crossCompiler is the environment in which C is compiled for another
// architecture than this machine's, with the compiler and libraries where Debian
// has them. What the user has set counts.
func crossCompiler(goarch string) []string {
	machine, ok := machines[goarch]
	if !ok || goarch == runtime.GOARCH || os.Getenv("CC") != "" {
		return nil
	}
	return []string{"CC=" + machine + "-gcc", "PKG_CONFIG_LIBDIR=/usr/lib/" + machine + "/pkgconfig"}
}

// Node is what an embedded cluster's node runs beside kubelet and kube-proxy.
func Node() Recipe {
	return Recipe{
		Name:     "node",
		Revision: 2,
		Lists:    []string{fmt.Sprint(nodePrograms)},
		Versions: map[string]string{
			"containerd": "github.com/containerd/containerd/v2",
			"CoreDNS":    "github.com/coredns/coredns",
		},
		Finish: finishNode,
	}
}

func finishNode(ctx context.Context, b Bench) ([]components.License, error) {
	had, err := license.Modules(ctx, b.Source, goEnv, ".")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range had {
		known[m.Path] = true
	}
	var seccomp []byte
	for _, path := range seccompLicenses {
		if seccomp, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the licence of libseccomp, which runc is linked with: %w", err)
	}
	licenses := []components.License{{Module: "libseccomp", Version: "the distribution's", Files: []components.LicenseFile{{Name: "copyright", Text: string(seccomp)}}}}
	for _, p := range nodePrograms {
		env, link := goEnv, linkFlags
		if p.cgo {
			env, link = append(GoEnv(), "CGO_ENABLED=1", "GOFLAGS=-tags="+p.tags), linkFlags+" -extldflags -static"
			env = append(env, crossCompiler(os.Getenv("GOARCH"))...)
		}
		flags := append(slices.Clone(buildFlags), "-ldflags", link)
		if err := (Compilation{Dir: b.Source, Env: env, Flags: flags, Package: p.pkg, Out: filepath.Join(b.Out, p.name), Component: b.Component, Track: b.Track}).Run(ctx); err != nil {
			return nil, err
		}
		modules, err := license.Modules(ctx, b.Source, env, p.pkg)
		if err != nil {
			return nil, err
		}
		var fresh []license.Linked
		for _, m := range modules {
			if !known[m.Path] {
				known[m.Path] = true
				fresh = append(fresh, m)
			}
		}
		texts, _, err := license.Collect("node", fresh)
		if err != nil {
			return nil, err
		}
		licenses = append(licenses, texts...)
	}
	return licenses, nil
}
