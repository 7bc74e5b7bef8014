package state

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/workshop"
)

func clusterNames(all []workshop.Cluster) (names []string) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

func TestChangesOfClusters(t *testing.T) {
	h := Home(t.TempDir())
	entries := []workshop.Cluster{{Name: "large"}, {Name: "s-{1..4}", Kind: workshop.VirtualCluster}}
	load := func() (ClusterChanges, []workshop.Cluster) {
		t.Helper()
		c, err := h.ClusterChanges()
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.Virtual(entries)
		if err != nil {
			t.Fatal(err)
		}
		return c, all
	}
	c, all := load()
	if diff := cmp.Diff([]string{"s-1", "s-2", "s-3", "s-4"}, clusterNames(all)); diff != "" {
		t.Error(diff)
	}
	added := workshop.Cluster{
		Name: "extra", Type: "t", Kind: workshop.VirtualCluster, Reconciler: workshop.Flux,
		Follows: []workshop.Subscription{{Name: "dev", Repository: "r", Branch: "dev", Path: "t"}},
		Virtual: &workshop.Virtual{Seed: 1<<63 + 1, Delay: 90 * time.Second, Failing: 0.25},
	}
	if err := c.Remove([]string{"s-2"}, all); err != nil {
		t.Fatal(err)
	}
	if err := c.Add([]workshop.Cluster{added}, all); err != nil {
		t.Fatal(err)
	}
	if err := h.ChangeClusters(&State{workshop: &workshop.Workshop{Clusters: entries}, Ports: map[string]int{}}, c); err != nil {
		t.Fatal(err)
	}
	c, all = load()
	if diff := cmp.Diff([]string{"s-1", "s-3", "s-4", "extra"}, clusterNames(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(added, all[3]); diff != "" {
		t.Error(diff)
	}
	var mistake *usage.Error
	if err := c.Add([]workshop.Cluster{added}, all); !errors.As(err, &mistake) {
		t.Errorf("%v", err)
	}
	if err := c.Remove([]string{"s-1", "s-2"}, all); !errors.As(err, &mistake) {
		t.Errorf("%v", err)
	}
	c, all = load()
	if err := c.Remove([]string{"extra"}, all); err != nil || len(c.Added) != 0 || cmp.Diff([]string{"s-2"}, c.Removed) != "" {
		t.Errorf("%v %+v", err, c)
	}
}

func TestBrokenListOfChanges(t *testing.T) {
	h := Home(t.TempDir())
	files.Fill(t, string(h), map[string]string{changesFile: "["})
	if _, err := h.ClusterChanges(); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Error(err)
	}
	if err := os.Remove(h.Path(changesFile)); err != nil {
		t.Fatal(err)
	}
	if c, err := h.ClusterChanges(); err != nil || len(c.Added)+len(c.Removed) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRealClustersComeAndGo holds that each has ports while it is there, that they
// stay the same, and that what another process reads is what was changed.
func TestRealClustersComeAndGo(t *testing.T) {
	h := Home(t.TempDir())
	s, err := h.Ensure(t.Context(), Choice{Workshop: "hello-world"})
	if err != nil {
		t.Fatal(err)
	}
	before := maps.Clone(s.Ports)
	change := func(edit func(*ClusterChanges) error) {
		t.Helper()
		c, err := h.ClusterChanges()
		if err == nil {
			err = edit(&c)
		}
		if err == nil {
			err = h.ChangeClusters(s, c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	extra := workshop.Cluster{Name: "extra", Type: "large", Reconciler: workshop.ArgoCD, Node: workshop.SimulatedNode}
	change(func(c *ClusterChanges) error {
		return c.Add([]workshop.Cluster{extra, {Name: "v", Kind: workshop.VirtualCluster}}, s.Clusters())
	})
	port := s.Port("extra")
	if port == 0 || s.Port("argocd-extra") == 0 || !s.IsAdded("extra") || s.IsAdded("large") || s.IsAdded("v") {
		t.Errorf("%v", s.Ports)
	}
	read, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"drone", "large", "extra"}, read.ClusterNames()); diff != "" || read.Port("extra") != port {
		t.Errorf("port %d: %s", read.Port("extra"), diff)
	}
	for name := range before {
		if s.Port(name) != before[name] {
			t.Errorf("%s has another port", name)
		}
	}

	change(func(c *ClusterChanges) error { return c.Remove([]string{"drone", "extra"}, s.Clusters()) })
	if s.Port("extra") != port { // its components may still be ending
		t.Errorf("port %d", s.Port("extra"))
	}
	files.Fill(t, string(h), map[string]string{"clusters/extra/pki/ca.crt": "", "clusters/large/pki/ca.crt": "", "clusters/etcd/member": "", "clusters/etcd.answered": ""})
	if left, err := h.RemovedClusters(s); err != nil || cmp.Diff([]string{"extra"}, left) != "" {
		t.Errorf("%q, %v", left, err)
	}
	if err := h.Refresh(s); err != nil {
		t.Fatal(err)
	}
	if read, err = h.Load(); err != nil || read.Port("extra")+read.Port("argocd-extra")+read.Port("drone") != 0 || cmp.Diff([]string{"large"}, read.ClusterNames()) != "" {
		t.Errorf("%v, %v, %v", read.ClusterNames(), read.Ports, err)
	}

	if err := os.Remove(h.Path(changesFile)); err != nil { // as a reset does
		t.Fatal(err)
	}
	if err := h.Refresh(s); err != nil || s.Port("drone") == 0 || cmp.Diff([]string{"drone", "large"}, s.ClusterNames()) != "" {
		t.Errorf("%v, %v, %v", s.ClusterNames(), s.Ports, err)
	}
}
