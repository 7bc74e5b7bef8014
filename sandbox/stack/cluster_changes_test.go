package stack

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

func extraCluster() workshop.Cluster {
	return workshop.Cluster{
		Name: "extra", Type: "large", Kind: workshop.RealCluster, Reconciler: workshop.ArgoCD, Node: workshop.SimulatedNode,
		Follows: []workshop.Subscription{{Name: "dev", Repository: "kalypso-gitops", Branch: "dev", Path: "large"}},
	}
}

// ofGroup are the names of a cluster's units.
func ofGroup(all []supervisor.Status, group string) (names []string) {
	for _, s := range all {
		if s.Group == group {
			names = append(names, s.Name)
		}
	}
	return names
}

// TestAddedClusterIsThereAtTheNextStart adds a cluster, and removes it with a daemon
// that is killed before anything has ended.
func TestAddedClusterIsThereAtTheNextStart(t *testing.T) {
	h := state.Home(t.TempDir())
	s := ensured(t, h, state.Choice{Workshop: "hello-world"})
	log := slog.New(slog.DiscardHandler)
	start := func(s *state.State) (*Stack, *supervisor.Supervisor) {
		t.Helper()
		st := New(h, s, log)
		units, err := supervisor.New(log, st.Units()...)
		if err != nil {
			t.Fatal(err)
		}
		return st, units
	}
	st, units := start(s)
	answer, err := st.ChangeClusters(t.Context(), units, ClusterRequest{Add: []workshop.Cluster{extraCluster()}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"extra", "node-extra", "addons-extra", "kubeconfig-extra", "argocd-extra", "subscription-extra"}
	if diff := cmp.Diff(want, ofGroup(units.Status(), "extra")); diff != "" {
		t.Error(diff)
	}
	for _, name := range want {
		if !slices.Contains(answer.Components, name) {
			t.Errorf("no %s among %q", name, answer.Components)
		}
	}
	if names := (arcClusters{st}).Names(); slices.Contains(names, "extra") || new(Status).URLs(s)["extra"] == "" {
		t.Errorf("Azure has %q", names)
	}

	read, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	st, units = start(read)
	if diff := cmp.Diff(want, ofGroup(units.Status(), "extra")); diff != "" {
		t.Error(diff)
	}
	files.Fill(t, string(h), map[string]string{"clusters/extra/pki/ca.crt": "", "argocd/extra/x": "", "logs/extra.log": "", "logs/extra-2.log": "", "arc/extra.json": ""})
	if _, err := h.SetStopped("extra", true); err != nil {
		t.Fatal(err)
	}
	killed, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := st.ChangeClusters(killed, units, ClusterRequest{Remove: []string{"extra"}}); err == nil {
		t.Error("removed, although its components did not end")
	}

	if read, err = h.Load(); err != nil {
		t.Fatal(err)
	}
	st, units = start(read)
	if names := ofGroup(units.Status(), "extra"); len(names) > 0 {
		t.Errorf("%q", names)
	}
	all := st.Units()
	i := slices.IndexFunc(all, func(u supervisor.Unit) bool { return u.Name == "removed-clusters" })
	if i < 0 || !slices.Contains(all[i].Needs, "etcd") {
		t.Fatalf("nothing takes away what is left: %d", i)
	}
	if err := st.eraseRemoved(t.Context()); err != nil { // not by its unit, which gives back memory that a test still needs
		t.Fatal(err)
	}
	for _, gone := range []string{"clusters/extra", "argocd/extra", "logs/extra.log", "arc/extra.json"} {
		if _, err := os.Stat(h.Path(gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	if _, err := os.Stat(h.Path("logs/extra-2.log")); err != nil {
		t.Error(err)
	}
	if stopped, err := h.StoppedClusters(); err != nil || len(stopped) > 0 {
		t.Errorf("%q, %v", stopped, err)
	}
	if slices.ContainsFunc(st.Units(), func(u supervisor.Unit) bool { return u.Name == "removed-clusters" }) {
		t.Error("there is still something left")
	}
}

func TestClustersThatCannotBeChanged(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	named := func(name string) ClusterRequest {
		c := extraCluster()
		c.Name = name
		return ClusterRequest{Add: []workshop.Cluster{c}}
	}
	for title, c := range map[string]struct {
		choice  state.Choice
		request ClusterRequest
		says    string
	}{
		"the name of a component":       {state.Choice{}, named("scheduler"), "scheduler"},
		"that of a cluster":             {state.Choice{}, named("large"), "large"},
		"that of a component's end":     {state.Choice{}, named("relay"), "argocd-relay"},
		"too long":                      {state.Choice{}, named(strings.Repeat("x", workshop.MaxClusterName+1)), "40"},
		"none of that name":             {state.Choice{}, ClusterRequest{Remove: []string{"larg"}}, "did you mean large?"},
		"kind":                          {state.Choice{Provider: state.ProviderKind}, named("extra"), "--virtual"},
		"removal of an attached one":    {state.Choice{Contexts: map[string]string{"drone": "edge"}, Kubeconfig: []string{"/kubeconfig"}}, ClusterRequest{Remove: []string{"drone"}}, "attached"},
		"removal of one that is kind's": {state.Choice{Provider: state.ProviderKind}, ClusterRequest{Remove: []string{"drone"}}, "kind"},
	} {
		t.Run(title, func(t *testing.T) {
			h := state.Home(t.TempDir())
			c.choice.Workshop = "hello-world"
			s, err := c.choice.Draft()
			if err != nil {
				t.Fatal(err)
			}
			st := New(h, s, log)
			units, err := supervisor.New(log, supervisor.Unit{Name: "scheduler", Component: supervisor.Task{}}, supervisor.Unit{Name: "argocd-relay", Component: supervisor.Task{}})
			if err != nil {
				t.Fatal(err)
			}
			var mistake *usage.Error
			if _, err := st.ChangeClusters(t.Context(), units, c.request); !errors.As(err, &mistake) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if changes, err := h.ClusterChanges(); err != nil || len(changes.Added)+len(changes.Removed) > 0 || len(units.Status()) != 2 {
				t.Errorf("%+v, %v", changes, err)
			}
		})
	}
}

// The API server of a cluster with any kind of node, also none, knows where it asks
// for connections to it.
func TestEgressOfEveryNode(t *testing.T) {
	for _, kind := range []workshop.Node{workshop.RealNode, workshop.SimulatedNode, workshop.NoNode} {
		h := state.Home(t.TempDir())
		s := ensured(t, h, state.Choice{Workshop: "hello-world"})
		st := New(h, s, slog.New(slog.DiscardHandler))
		extra := extraCluster()
		extra.Node = kind
		if err := h.ChangeClusters(s, state.ClusterChanges{Added: []workshop.Cluster{extra}}); err != nil {
			t.Fatal(err)
		}
		if file, content := st.embedded.Egress(extra.Name); file == "" || len(content) == 0 {
			t.Errorf("node %s: %q, %s", kind, file, content)
		}
	}
}
