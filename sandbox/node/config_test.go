package node

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testNode() Node {
	return Node{
		Cluster: "drone", Dir: "/srv/a/.kalypso/clusters/drone/node", PKI: "/srv/a/.kalypso/clusters/drone/pki",
		Host: supervisor.Host{
			Staged: func(name string) string { return "/srv/a/.kalypso/components/" + name + "-1" },
			Ports:  map[string]int{"drone": 16443, "gitea": 13000},
		},
	}
}

func TestConfigs(t *testing.T) {
	n := testNode()
	files, err := settings{Node: n, Cgroup: cgroupOf(n.Dir), ProxyMode: "nftables", Snapshotter: "overlayfs"}.configs()
	if err != nil {
		t.Fatal(err)
	}
	if files["spec.json"], err = json.MarshalIndent(n.spec(), "", "  "); err != nil {
		t.Fatal(err)
	}
	_, files["egress.yaml"] = n.EgressConfig()
	files["manifests.yaml"] = n.manifests()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "-- %s --\n%s\n", name, strings.TrimRight(string(files[name]), "\n"))
	}
	const golden = "testdata/configs.txtar"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("configurations (-want +got); -update rewrites them:\n%s", d)
	}
}

// what is written as text must be what it is called
func TestConfigsParse(t *testing.T) {
	for _, forge := range []int{0, 13000} {
		n := testNode()
		n.Ports["gitea"] = forge
		files, err := settings{Node: n, Cgroup: "x/y", ProxyMode: "iptables", Snapshotter: "native"}.configs()
		if err != nil {
			t.Fatal(err)
		}
		_, files["egress.yaml"] = n.EgressConfig()
		for name, content := range files {
			var v map[string]any
			switch {
			case strings.HasSuffix(name, ".yaml"):
				err = yaml.UnmarshalStrict(content, &v)
			case strings.HasSuffix(name, ".conflist"):
				err = json.Unmarshal(content, &v)
			default:
				continue
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, content)
			}
		}
		hasForge := strings.Contains(string(files["Corefile"]), ForgeName)
		if hasForge != (forge != 0) {
			t.Errorf("forge at port %d; DNS knows it: %v", forge, hasForge)
		}
		if got := len(n.spec().Forwards); got != 1 && forge == 0 || got != 2 && forge != 0 {
			t.Errorf("forge at port %d: %d forwards", forge, got)
		}
		objects, err := cluster.Decode(n.manifests())
		if err != nil || len(objects) != 5 {
			t.Errorf("manifests: %d objects, %v", len(objects), err)
		}
	}
}

// the node may not see the authority's key, nor anything else of the sandbox
// but its own folder and the programs
func TestSeen(t *testing.T) {
	want := []string{"/srv/a/.kalypso/components/kube-1", "/srv/a/.kalypso/components/node-1"}
	if d := cmp.Diff(want, testNode().spec().Seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestHeartbeat(t *testing.T) {
	objects, err := cluster.Decode([]byte(`{"apiVersion":"v1","kind":"Node","status":{"conditions":[
{"type":"MemoryPressure","lastHeartbeatTime":"2020-01-01T00:00:00Z"},{"type":"Ready","lastHeartbeatTime":"2021-02-03T04:05:06Z"}]}}
---
{"apiVersion":"v1","kind":"Node"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2021-02-03T04:05:06Z", "0001-01-01T00:00:00Z"} {
		if got := heartbeat(objects[i]).Format("2006-01-02T15:04:05Z07:00"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
