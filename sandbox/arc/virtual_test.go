package arc

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	client "github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// oneBranch is a repository with one branch, whose head is its content.
type oneBranch struct{ head atomic.Pointer[string] }

func (g *oneBranch) Head(context.Context, string, string) (string, error) { return *g.head.Load(), nil }

func (g *oneBranch) Tree(_ context.Context, _, _, commit string) (*model.Tree, error) {
	return &model.Tree{Commit: commit, Files: map[string][]byte{
		"large/a.yaml": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a" + commit[:4] + "}\n"),
	}}, nil
}

var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 40)
)

// virtualFixture is an emulator with virtual clusters alone.
func virtualFixture(t *testing.T, git *oneBranch, entries ...workshop.Cluster) (*fixture, *virtual.Fleet) {
	t.Helper()
	all, err := workshop.Expand(entries)
	if err != nil {
		t.Fatal(err)
	}
	f := virtual.New(virtual.Options{Git: git, Forge: "http://localhost:1", Organisation: "http://localhost:1/kalypso"})
	f.Set(all)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	server := httptest.NewServer(New(Options{
		Subscription: subscription, Tenant: "tenant", ResourceGroup: group, Location: "eastus", Token: token,
		Clusters: fakeClusters{}, Virtual: f, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	t.Cleanup(server.Close)
	arm, err := client.Settings{Endpoint: server.URL, Token: token, Subscription: subscription}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{url: server.URL, arm: arm}, f
}

func virtualEntry(name string, reconciler workshop.Reconciler, v workshop.Virtual, branches ...string) workshop.Cluster {
	c := workshop.Cluster{Name: name, Type: "large", Kind: workshop.VirtualCluster, Reconciler: reconciler, Virtual: &v}
	for _, b := range branches {
		c.Follows = append(c.Follows, workshop.Subscription{Name: b, Repository: "gitops", Branch: b, Path: "large"})
	}
	return c
}

// applied waits until every cluster that is not to fail has applied a commit.
func applied(t *testing.T, f *virtual.Fleet, commit string) {
	t.Helper()
	err := retry.Until(t.Context(), commit, 30*time.Second, func(context.Context) error {
		for _, r := range f.Reports() {
			for _, s := range r.Sources {
				if s.Fetched != commit || s.State == fleet.Pending {
					return io.ErrNoProgress
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheGateSeesAThousandVirtualClusters has more configurations than the graph's
// answer has rows on a page.
func TestTheGateSeesAThousandVirtualClusters(t *testing.T) {
	git := &oneBranch{}
	git.head.Store(&commitA)
	w, f := virtualFixture(t, git, virtualEntry("store-{0001..1100}", workshop.Flux, workshop.Virtual{}, "dev", "stage"), virtualEntry("argo", workshop.ArgoCD, workshop.Virtual{}, "dev"))
	applied(t, f, commitA)
	gate := func(commit string) (int, error) {
		return ci.WaitForDeployment(t.Context(), nil, w.arm, ci.Deployment{
			URL: "http://localhost:1/kalypso/gitops", Branch: "dev", Commit: commit, Limit: 30 * time.Second, Pace: 100 * time.Millisecond,
		})
	}
	if n, err := gate(commitA); n != 1100 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	git.head.Store(&commitB)
	f.Notify("kalypso/gitops", "dev")
	f.Notify("kalypso/gitops", "stage")
	applied(t, f, commitB)
	if n, err := gate(commitB); n != 1100 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	_, body := w.request(t, http.MethodGet, "/subscriptions/"+subscription+"/resources"+version, "")
	rows, _ := body["value"].([]any)
	if len(rows) != 1100 || rows[0].(map[string]any)["tags"].(map[string]any)[VirtualTag] != "true" {
		t.Errorf("%d resources: %v", len(rows), rows[:min(1, len(rows))])
	}
}

func TestTheGateStopsWhereVirtualClustersFail(t *testing.T) {
	git := &oneBranch{}
	git.head.Store(&commitA)
	w, f := virtualFixture(t, git, virtualEntry("store-{001..100}", workshop.Flux, workshop.Virtual{Failing: 0.1}, "dev"))
	applied(t, f, commitA)
	_, err := ci.WaitForDeployment(t.Context(), nil, w.arm, ci.Deployment{
		URL: "http://localhost:1/kalypso/gitops", Branch: "dev", Commit: commitA, Limit: 30 * time.Second, Pace: 100 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), "virtual") {
		t.Errorf("%v", err)
	}
}

func TestShapeOfAVirtualCluster(t *testing.T) {
	git := &oneBranch{}
	git.head.Store(&commitA)
	w, f := virtualFixture(t, git, virtualEntry("one", workshop.Flux, workshop.Virtual{}, "dev"), virtualEntry("off", workshop.Flux, workshop.Virtual{Offline: 1, OfflineFor: time.Minute}, "dev"))
	err := retry.Until(t.Context(), "commit", 30*time.Second, func(context.Context) error {
		if r, _ := f.Report("one"); r.State != virtual.Ready {
			return io.ErrNoProgress
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	one := armapi.Cluster{ResourceGroup: group, Type: armapi.ConnectedClusters, Name: "one"}
	clusters := strings.TrimSuffix(base1, "/drone")
	for name, connectivity := range map[string]string{"one": "Connected", "off": "Offline"} {
		_, body := w.request(t, http.MethodGet, clusters+"/"+name+version, "")
		properties, _ := body["properties"].(map[string]any)
		tags, _ := body["tags"].(map[string]any)
		if properties["connectivityStatus"] != connectivity || tags[VirtualTag] != "true" || properties["distribution"] != "virtual" || (properties["lastConnectivityTime"] == nil) != (name == "off") {
			t.Errorf("%v", body)
		}
	}
	c, err := w.arm.Get(t.Context(), one, "dev")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Properties
	if p.ComplianceState != "Compliant" || p.SourceSyncedCommitID == nil || *p.SourceSyncedCommitID != "dev@sha1:"+commitA || *p.GitRepository.RepositoryRef.Branch != "dev" || p.Kustomizations["dev"].Path != "large" {
		t.Errorf("%+v", p)
	}
	var kinds []string
	for _, s := range p.Statuses {
		kinds = append(kinds, s.Kind+" "+s.Name+" "+s.ComplianceState)
	}
	if !slices.Equal(kinds, []string{"GitRepository dev Compliant", "Kustomization dev-dev Compliant"}) {
		t.Errorf("%q", kinds)
	}
	offline, err := w.arm.Get(t.Context(), armapi.Cluster{ResourceGroup: group, Type: armapi.ConnectedClusters, Name: "off"}, "dev")
	if err != nil || offline.Properties.ComplianceState != "Pending" || offline.Properties.SourceSyncedCommitID != nil {
		t.Errorf("%v %+v", err, offline)
	}
	if _, err := w.arm.Put(t.Context(), one, "platform-qa", wanted(), true); err == nil || !strings.Contains(client.Message(err), "VirtualCluster") {
		t.Errorf("%v", err)
	}
	if err := w.arm.Delete(t.Context(), one, "dev", false, true); err == nil || !strings.Contains(client.Message(err), "VirtualCluster") {
		t.Errorf("%v", err)
	}
}
