package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

// kindFiles lays files as kind's module has them.
func kindFiles(t *testing.T, change map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"etc/containerd/config.toml":                    "version = 2\n[x]\n  sandbox_image = \"example.test/pause:3\"\n  restrict_oom_score_adj = false\n",
		"etc/default/kubelet":                           "KUBELET_EXTRA_ARGS=--runtime-cgroups=/x\n",
		"etc/systemd/system/containerd.service":         "[Install]\nWantedBy=multi-user.target\n",
		"etc/systemd/system/kubelet.service":            "[Install]\nWantedBy=multi-user.target\n",
		"etc/systemd/system/undo-mount-hacks.service":   "[Install]\nWantedBy=multi-user.target\n",
		"kind/bin/mount-product-files.sh":               "#!/bin/bash\n",
		"usr/local/bin/entrypoint":                      "#!/bin/bash\n",
		"etc/systemd/system/kubelet.service.d/one.conf": "",
	}
	for name, content := range change {
		files[name] = content
	}
	for name, content := range files {
		path := filepath.Join(dir, "images", "base", "files", filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func TestNodeFiles(t *testing.T) {
	got, err := nodeFiles(kindFiles(t, nil), "v1.2.3", []byte("{}"))
	must(t, err)
	for name, mode := range map[string]int64{
		"usr/local/bin/entrypoint":           0o755,
		"kind/bin/mount-product-files.sh":    0o755,
		"kind/bin/restrict-oom-score.sh":     0o755,
		"kind/manifests/default-cni.yaml":    0o644,
		"etc/containerd/config.toml":         0o644,
		"etc/systemd/system/kubelet.service": 0o644,
		"kind/cni.conflist.template":         0o644,
	} {
		if got[name].Mode != mode {
			t.Errorf("%s has mode %o", name, got[name].Mode)
		}
	}
	for name, want := range map[string]string{
		"kind/version":               "v1.2.3",
		"etc/default/kubelet":        "KUBELET_EXTRA_ARGS=--fail-cgroupv1=false --runtime-cgroups=/x\n",
		"etc/containerd/config.toml": "conf_template = \"/kind/cni.conflist.template\"",
	} {
		content, err := contentOf(got, name)
		must(t, err)
		if !strings.Contains(string(content), want) {
			t.Errorf("%s has %q", name, content)
		}
	}
	for link, to := range map[string]string{
		"etc/systemd/system/multi-user.target.wants/kubelet.service":    "/etc/systemd/system/kubelet.service",
		"etc/systemd/system/multi-user.target.wants/containerd.service": "/etc/systemd/system/containerd.service",
		"etc/systemd/system/systemd-binfmt.service":                     "/dev/null",
	} {
		if got[link].Linkname != to {
			t.Errorf("%s leads to %q", link, got[link].Linkname)
		}
	}
}

// Another version of kind may have other files: what is changed in them must
// not get lost without a word.
func TestNodeFilesThatAreNotAsKnown(t *testing.T) {
	for name, content := range map[string]string{
		"etc/default/kubelet":                "",
		"etc/systemd/system/kubelet.service": "[Service]\n",
	} {
		if _, err := nodeFiles(kindFiles(t, map[string]string{name: content}), "v1", nil); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := nodeFiles(t.TempDir(), "v1", nil); err == nil {
		t.Error("no files were taken")
	}
}

func TestSandboxImage(t *testing.T) {
	got, err := sandboxImage([]byte("# sandbox_image\n[a]\n  sandbox_image = \"example.test/pause:3.10\"\n"))
	must(t, err)
	if got != "example.test/pause:3.10" {
		t.Errorf("got %q", got)
	}
	if _, err := sandboxImage([]byte("# sandbox_image = \"x\"")); err == nil {
		t.Error("a comment was taken")
	}
}

func TestManifests(t *testing.T) {
	for name, want := range map[string]string{"default-cni.yaml": "ConfigMap", "default-storage.yaml": "StorageClass"} {
		data, err := fs.ReadFile(source, "files/kind/manifests/"+name)
		must(t, err)
		var object struct {
			APIVersion, Kind string
			Metadata         struct {
				Name        string
				Annotations map[string]string
			}
		}
		must(t, yaml.UnmarshalStrict(data, new(map[string]any)))
		must(t, yaml.Unmarshal(data, &object))
		if object.Kind != want || object.APIVersion == "" || object.Metadata.Name == "" {
			t.Errorf("%s is %+v", name, object)
		}
		if want == "StorageClass" && object.Metadata.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
			t.Error("claims that name no class get none")
		}
		// kind would take these words for its own
		if strings.Contains(string(data), "would you kindly") {
			t.Errorf("%s asks kind to change it", name)
		}
	}
}

// containerd fills the template with what Kubernetes says about the node.
func TestNetworkTemplate(t *testing.T) {
	text, err := fs.ReadFile(source, "files/kind/cni.conflist.template")
	must(t, err)
	for _, cidrs := range [][]string{{"10.244.0.0/24"}, {"10.244.0.0/24", "fd00:10:244::/64"}} {
		routes := []string{"0.0.0.0/0", "::/0"}[:len(cidrs)]
		var out strings.Builder
		must(t, template.Must(template.New("").Parse(string(text))).Execute(&out, map[string]any{"PodCIDR": cidrs[0], "PodCIDRRanges": cidrs, "Routes": routes}))
		var list struct {
			CNIVersion string
			Plugins    []struct {
				Type string
				IPAM struct {
					Ranges [][]struct{ Subnet string }
					Routes []struct{ Dst string }
				}
			}
		}
		must(t, json.Unmarshal([]byte(out.String()), &list))
		first := list.Plugins[0].IPAM
		if len(first.Ranges) != len(cidrs) || first.Ranges[len(cidrs)-1][0].Subnet != cidrs[len(cidrs)-1] || len(first.Routes) != len(routes) {
			t.Errorf("%v make %s", cidrs, out.String())
		}
		for _, p := range list.Plugins {
			if nodePrograms[p.Type] != "opt/cni/bin/"+p.Type {
				t.Errorf("the node has no plugin %s", p.Type)
			}
		}
	}
}

func TestChangeSpec(t *testing.T) {
	out, err := changeSpec([]byte(`{"process": {"args": ["sh"], "rlimits": [{}]}, "linux": {"x": 1}}`))
	must(t, err)
	const want = `{"hooks":{"createContainer":[{"path":"/kind/bin/mount-product-files.sh"}]},"linux":{"x":1},"process":{"args":["sh"]}}`
	var a, b any
	must(t, json.Unmarshal(out, &a))
	must(t, json.Unmarshal([]byte(want), &b))
	one, _ := json.Marshal(a)
	two, _ := json.Marshal(b)
	if string(one) != string(two) {
		t.Errorf("got %s", one)
	}
	if _, err := changeSpec([]byte(`{}`)); err == nil {
		t.Error("a specification without process was taken")
	}
}

func TestPrograms(t *testing.T) {
	kube, node := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(kube, "kube"), nil, 0o755))
	crictl := script(t, "crictl")
	for name := range nodePrograms {
		if _, err := programs(kube, node, crictl); err == nil {
			t.Errorf("%s is not needed", name)
		}
		must(t, os.WriteFile(filepath.Join(node, name), nil, 0o755))
	}
	got, err := programs(kube, node, crictl)
	must(t, err)
	for _, p := range append(slices.Clone(kubePrograms), "../local/bin/ctr") {
		if e := got["usr/"+strings.TrimPrefix("bin/"+p, "bin/../")]; e.Linkname == "" {
			t.Errorf("%s is missing", p)
		}
	}
	// kind calls it when it collects logs
	if got["usr/local/bin/crictl"].Open == nil {
		t.Error("crictl is missing")
	}
}

// runScript runs one of the node's scripts with programs of its own in front.
func runScript(t *testing.T, name, programs string, args ...string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{filepath.Join("files", "kind", "bin", name)}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func TestRestrictOOMScore(t *testing.T) {
	const config = "[x]\n  restrict_oom_score_adj = false\n"
	for capabilities, want := range map[string]string{
		"000001ffffffffff": config,
		"000001fffeffffff": strings.Replace(config, "false", "true", 1),
	} {
		dir := t.TempDir()
		status, file := filepath.Join(dir, "status"), filepath.Join(dir, "config.toml")
		must(t, os.WriteFile(status, []byte("CapPrm:\t0000000000000000\nCapEff:\t"+capabilities+"\n"), 0o600))
		must(t, os.WriteFile(file, []byte(config), 0o600))
		runScript(t, "restrict-oom-score.sh", dir, status, file)
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("with capabilities %s: %q, %v", capabilities, got, err)
		}
	}
}

func TestRefuseUnknownServices(t *testing.T) {
	const tool = "#!/bin/sh\nline=\"$(basename $0) $*\"\ncase $line in *' -C '*) [ -n \"$HAS\" ]; exit ;; esac\necho \"$line\" >>\"$(dirname $0)/log\"\n"
	for name, tt := range map[string]struct {
		subnets, has string
		want         []string
	}{
		"one": {"  serviceSubnet: 10.96.0.0/16", "", []string{
			"iptables --wait -A FORWARD -d 10.96.0.0/16 -p tcp -j REJECT --reject-with tcp-reset",
			"iptables --wait -A FORWARD -d 10.96.0.0/16 -j REJECT"}},
		"two, in quotes": {"  serviceSubnet: \"10.1.0.0/16,fd00::/112\"", "", []string{
			"iptables --wait -A FORWARD -d 10.1.0.0/16 -p tcp -j REJECT --reject-with tcp-reset",
			"iptables --wait -A FORWARD -d 10.1.0.0/16 -j REJECT",
			"ip6tables --wait -A FORWARD -d fd00::/112 -p tcp -j REJECT --reject-with tcp-reset",
			"ip6tables --wait -A FORWARD -d fd00::/112 -j REJECT"}},
		"there already": {"  serviceSubnet: 10.96.0.0/16", "1", nil},
		"none":          {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, program := range []string{"iptables", "ip6tables"} {
				must(t, os.WriteFile(filepath.Join(dir, program), []byte(tool), 0o755))
			}
			config := filepath.Join(dir, "kubeadm.conf")
			must(t, os.WriteFile(config, []byte("networking:\n  podSubnet: 10.244.0.0/16\n"+tt.subnets+"\n"), 0o600))
			t.Setenv("HAS", tt.has)
			runScript(t, "refuse-unknown-services.sh", dir, config)
			got, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if want := strings.Join(tt.want, "\n"); strings.TrimSpace(string(got)) != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}
