package simulated

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func testNode(home string) Node {
	return Node{
		Cluster: "drone", Dir: filepath.Join(home, "clusters/drone/node"), Clusters: filepath.Join(home, "clusters"),
		Why: "a real node needs root", Host: supervisor.Host{Log: func(string) string { return filepath.Join(home, "log") }},
	}
}

// A user who looks at the node must see that it is none.
func TestNodeSaysThatItIsSimulated(t *testing.T) {
	n := testNode(t.TempDir())
	b, err := n.object()
	if err != nil {
		t.Fatal(err)
	}
	all, err := cluster.Decode(b)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	o := all[0]
	if o.GetName() != "drone" || o.GetLabels()[Mark] != "true" || o.GetAnnotations()[Mark] != "true" {
		t.Errorf("%v", o)
	}
	if _, role := o.GetLabels()["node-role.kubernetes.io/simulated"]; !role {
		t.Error("kubectl get nodes shows no role")
	}
	if why := o.GetAnnotations()[because]; why != n.Why {
		t.Errorf("says %q for why", why)
	}
	if u := n.Unit("drone"); u.Name != "node-drone" || !strings.Contains(u.Title, "simulated") || u.Needs[0] != "drone" {
		t.Errorf("%+v", u)
	}
}

// a socket's path can be 103 characters long on every system, and a home's can
// be nearly that
func TestEgressSocketOfALongHome(t *testing.T) {
	n := testNode("/" + strings.Repeat("h", 90))
	file, content := n.EgressConfig()
	if !strings.HasPrefix(file, n.Dir) {
		t.Errorf("file %s", file)
	}
	var config struct {
		EgressSelections []struct {
			Name       string
			Connection struct {
				ProxyProtocol string
				Transport     struct{ UDS struct{ UDSName string } }
			}
		}
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	s := config.EgressSelections[0]
	if s.Name != "cluster" || s.Connection.Transport.UDS.UDSName != "drone/node/egress" {
		t.Errorf("%+v", s)
	}
}

func TestRenewed(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-02T03:04:05.678901Z": time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC),
		"":                            {},
		"soon":                        {},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"renewTime": text}}}
		if got := renewed(o); !got.Equal(want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}
