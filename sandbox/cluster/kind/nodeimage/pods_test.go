package main

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// script is a program that prints.
func script(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n"), 0o755))
	return path
}

func TestImageNames(t *testing.T) {
	kubeadm := script(t,
		`[ "$*" = "config images list --kubernetes-version v1.2.3" ] || exit 1`,
		`echo example.test/kube-proxy:v1.2.3; echo example.test/coredns/coredns:v1.0; echo example.test/pause:3.10.1`)
	got, err := imageNames(t.Context(), kubeadm, "v1.2.3")
	must(t, err)
	addName(got, "example.test/pause:3.10")
	addName(got, "example.test/pause:3.10")
	want := map[string][]string{
		"kube-proxy": {"example.test/kube-proxy:v1.2.3"},
		"coredns":    {"example.test/coredns/coredns:v1.0"},
		"pause":      {"example.test/pause:3.10.1", "example.test/pause:3.10"},
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q", got)
	}
}

func TestImageNamesOfAKubeadmThatFails(t *testing.T) {
	_, err := imageNames(t.Context(), script(t, "echo broken >&2; exit 1"), "v1")
	if err == nil || !strings.Contains(err.Error(), "kubeadm config images") {
		t.Errorf("error is %v", err)
	}
}

// podBuilder has a Debian root in which the tools of kube-proxy are this
// machine's shell.
func podBuilder(t *testing.T) (b builder, r *root, kube, node string) {
	t.Helper()
	files := map[string]string{"lib": ">usr/lib", "sbin": ">usr/sbin"}
	for _, name := range proxyNeeds {
		files[clean(name)] = "#!/bin/sh\n"
	}
	files["usr/lib/"+triplet()+"/xtables/libxt_a.so"] = "library"
	files["usr/lib/"+triplet()+"/xtables/libxt_b.so"] = ">libxt_a.so"
	kube, node = t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(kube, "kube"), filepath.Join(node, "node"), filepath.Join(node, "pause")} {
		must(t, os.WriteFile(path, []byte(filepath.Base(path)), 0o755))
	}
	return builder{work: t.TempDir(), report: quiet(), in: inputs{Kubernetes: "v1.2.3"}}, writeRoot(t, files), kube, node
}

func TestPodImages(t *testing.T) {
	b, r, kube, node := podBuilder(t)
	images, err := b.podImages(r, kube, node)
	must(t, err)
	names := map[string][]string{}
	for _, n := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns", "pause"} {
		names[n] = []string{"example.test/" + n + ":v1"}
	}
	must(t, missing(names, images))
	var shared v1.Hash
	for _, p := range podPrograms {
		layers, err := images[p].Layers()
		must(t, err)
		first, err := layers[0].Digest()
		must(t, err)
		if shared != (v1.Hash{}) && first != shared {
			t.Errorf("%s has a first layer of its own", p)
		}
		shared = first
		if kind, _ := layers[0].MediaType(); kind != types.OCILayerZStd {
			t.Errorf("%s has a layer of type %s", p, kind)
		}
		content, err := layers[0].Uncompressed()
		must(t, err)
		entries, _ := unpack(t, content)
		must(t, content.Close())
		if !slices.Contains(entries, "usr/local/bin/"+p+" -> kube") {
			t.Errorf("%s is not in its image: %q", p, entries)
		}
		config, err := images[p].ConfigFile()
		must(t, err)
		if !slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/" + p}) || config.OS != "linux" || !strings.Contains(config.Config.Env[0], "/usr/local/bin") {
			t.Errorf("%s: %+v", p, config)
		}
	}
	proxy, err := images["kube-proxy"].Layers()
	must(t, err)
	content, err := proxy[1].Uncompressed()
	must(t, err)
	entries, _ := unpack(t, content)
	for _, want := range []string{"lib -> usr/lib", "usr/sbin/iptables -> iptables-nft", "usr/sbin/ip6tables-restore -> ip6tables-nft-restore", "usr/lib/" + triplet() + "/xtables/libxt_b.so -> libxt_a.so", "usr/sbin/conntrack"} {
		if !slices.Contains(entries, want) {
			t.Errorf("kube-proxy has no %s: %q", want, entries)
		}
	}
}

func TestMissing(t *testing.T) {
	err := missing(map[string][]string{"new-thing": {"example.test/new-thing:v1"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "example.test/new-thing:v1") {
		t.Errorf("error is %v", err)
	}
}

// An image may have several names; containerd reads them from annotations.
func TestWriteLayout(t *testing.T) {
	b, r, kube, node := podBuilder(t)
	images, err := b.podImages(r, kube, node)
	must(t, err)
	archive := filepath.Join(t.TempDir(), "pods.tar")
	must(t, b.writeLayout(archive, map[string][]string{"pause": {"example.test/pause:1", "example.test/pause:2"}, "etcd": {"example.test/etcd:1"}}, images))
	f, err := os.Open(archive)
	must(t, err)
	defer f.Close()
	_, content := unpack(t, f)
	dir := t.TempDir()
	for name, data := range content {
		if strings.HasSuffix(name, "/") {
			continue
		}
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(data), 0o600))
	}
	index, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	m, err := index.IndexManifest()
	must(t, err)
	var names []string
	for _, d := range m.Manifests {
		names = append(names, d.Annotations["io.containerd.image.name"])
		if _, err := index.Image(d.Digest); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"example.test/etcd:1", "example.test/pause:1", "example.test/pause:2"}) {
		t.Errorf("got %q", names)
	}
}

// The closure is tested with a shell of this machine, since that is linked with
// a library and needs a loader.
func TestClosure(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	program, err := elf.Open(shell)
	must(t, err)
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	must(t, err)
	if len(libraries) == 0 {
		t.Skip("this machine's shell is linked with no library")
	}
	in := tree{}
	must(t, in.Disk("usr/bin/sh1", 0o755, shell))
	in.Link("usr/bin/sh", "sh1")
	in.Link("lib64", "usr/lib64")
	in.Link("lib", "usr/lib")
	in.File("usr/lib/other.so", 0o644, []byte("not needed"))
	for _, l := range libraries {
		in.File("usr/lib/"+triplet()+"/"+l+".real", 0o644, []byte("library"))
		in.Link("usr/lib/"+triplet()+"/"+l, l+".real")
	}
	loader := interpreter(t, program)
	in.File("usr"+loader, 0o755, []byte("loader"))
	r := rootOf(t, in)
	got, err := r.closure("/usr/bin/sh")
	must(t, err)
	for _, want := range []string{"usr/bin/sh", "usr/bin/sh1", "usr" + loader, strings.Split(loader, "/")[1], "usr/lib/" + triplet() + "/" + libraries[0], "usr/lib/" + triplet() + "/" + libraries[0] + ".real"} {
		if _, ok := got[want]; !ok {
			t.Errorf("%s is missing: %q", want, slices.Sorted(maps.Keys(got)))
		}
	}
	if _, ok := got["usr/lib/other.so"]; ok {
		t.Error("what is not needed is there")
	}
	delete(r.tree, "usr/lib/"+triplet()+"/"+libraries[0])
	if _, err := r.closure("/usr/bin/sh"); err == nil || !strings.Contains(err.Error(), libraries[0]) {
		t.Errorf("a missing library makes the error %v", err)
	}
}

func interpreter(t *testing.T, f *elf.File) string {
	t.Helper()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			data := make([]byte, p.Filesz)
			_, err := p.ReadAt(data, 0)
			must(t, err)
			return strings.TrimRight(string(data), "\x00")
		}
	}
	t.Skip("this machine's shell has no loader")
	return ""
}
