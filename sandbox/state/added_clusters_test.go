package state

import (
	"errors"
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
		all, err := c.Of(entries)
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
	if err := h.SetClusterChanges(c); err != nil {
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
