package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
	"github.com/kalypso-dev/kalypso/workshop"
)

const fluxToken = "t0ken"

// forgeOf serves the repository gitops at a sandbox's forge, to the reconcilers'
// account alone, and returns what makes a commit on its branch dev.
func forgeOf(t *testing.T, h state.Home, s *state.State) (push func(content string) (commit string)) {
	t.Helper()
	root := t.TempDir()
	bare := filepath.Join(root, state.Organisation, "gitops.git")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, bare, "init", "--quiet", "--bare", "--initial-branch", "dev", ".")
	git := gitkit.Handler(t, root)
	listener, err := net.Listen("tcp", s.Address("gitea"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != reconcilerUser || password != fluxToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		git.ServeHTTP(w, r)
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	g := gitea.Server{Dir: h.Path("gitea")}
	if err := os.MkdirAll(filepath.Dir(g.TokenFile(gitea.FluxToken)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(g.TokenFile(gitea.FluxToken), []byte(fluxToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(content string) string {
		stream := fmt.Sprintf("commit refs/heads/dev\ncommitter ann <ann@example.com> now\ndata 0\nM 100644 inline large/a.yaml\ndata %d\n%s\n", len(content), content)
		if _, err := gitkit.Git(bare, stream, "fast-import", "--quiet", "--force", "--date-format=now"); err != nil {
			t.Fatal(err)
		}
		return gitkit.Run(t, bare, "rev-parse", "refs/heads/dev")
	}
}

// startVirtual runs the unit of the virtual clusters until the test or stop ends it.
func startVirtual(t *testing.T, st *Stack) (stop func()) {
	t.Helper()
	c := st.virtualUnit().Component
	if err := errors.Join(c.Init(t.Context()), c.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := retry.Until(t.Context(), "the unit", time.Minute, c.Ready); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestVirtualClustersOfASandbox(t *testing.T) {
	h := state.Home(t.TempDir())
	s := ensured(t, h, state.Choice{})
	push := forgeOf(t, h, s)
	first := push("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	st := New(h, s, slog.New(slog.DiscardHandler))
	stop := startVirtual(t, st)

	added, err := workshop.Cluster{
		Name: "store-{001..300}", Type: "large", Kind: workshop.VirtualCluster, Reconciler: workshop.ArgoCD, Virtual: &workshop.Virtual{Seed: 3},
		Follows: []workshop.Subscription{{Name: "dev", Repository: "gitops", Branch: "dev", Path: "large"}},
	}.Expand()
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := st.ChangeClusters(t.Context(), nil, ClusterRequest{Add: added}); err != nil || answer.Virtual != 300 {
		t.Fatalf("%+v %v", answer, err)
	}
	await := func(st *Stack, commit string, n int) {
		t.Helper()
		err := retry.Until(t.Context(), commit, time.Minute, func(context.Context) error {
			has := 0
			for _, r := range st.virtual.Reports() {
				if r.State == virtual.Ready && r.Sources[0].Applied == commit {
					has++
				}
			}
			if has != n {
				return fmt.Errorf("%d have it, %d are to", has, n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	await(st, first, 300)
	second := push("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	st.virtual.Notify(state.Organisation+"/gitops", "dev")
	await(st, second, 300)

	server := httptest.NewServer(endpoint.Handler(st.virtual, s.ArmToken()))
	defer server.Close()
	observed, err := endpoint.Client{URL: server.URL, Token: s.ArmToken()}.Observe(t.Context(), fleet.Source{Repo: s.OrgURL() + "/gitops", Branch: "dev"})
	if v := fleet.Judge(observed, second); err != nil || v.Decision != fleet.Arrived || v.All != 300 {
		t.Errorf("%v %+v", err, v.Decision)
	}

	var mistake *usage.Error
	for name, wrong := range map[string]ClusterRequest{
		"a name that is taken":   {Add: added[:1]},
		"that of a real cluster": {Add: []workshop.Cluster{{Name: s.ClusterNames()[0], Kind: workshop.VirtualCluster}}},
		"none of that name":      {Remove: []string{"store-001", "store-999"}},
	} {
		if _, err := st.ChangeClusters(t.Context(), nil, wrong); !errors.As(err, &mistake) || len(st.virtual.Clusters()) != 300 {
			t.Errorf("%s: %v, and there are %d", name, err, len(st.virtual.Clusters()))
		}
	}

	stop()
	st = New(h, s, slog.New(slog.DiscardHandler)) // as after down and up
	stop = startVirtual(t, st)
	await(st, second, 300)
	if answer, err := st.ChangeClusters(t.Context(), nil, ClusterRequest{Remove: []string{"store-001", "store-300"}}); err != nil || answer.Virtual != 298 {
		t.Errorf("%+v %v", answer, err)
	}
	await(st, second, 298)
	status := &Status{}
	applied := map[string]bool{}
	st.fillVirtual(status, []controller.EnvironmentStatus{{Name: "dev", GitOpsHead: second}, {Name: "stage", GitOpsHead: second}}, applied)
	if len(status.Virtual) != 1 || status.Virtual[0].Ready != 298 || len(status.Problems) > 0 || !applied["dev"] || len(applied) != 1 {
		t.Errorf("%+v %+v %v", status.Virtual, status.Problems, applied)
	}
	st.fillVirtual(status, []controller.EnvironmentStatus{{Name: "dev", GitOpsHead: first}}, applied)
	if applied["dev"] {
		t.Error("the environment is applied, and its clusters have another commit")
	}
	stop()
}

func TestListOfClusters(t *testing.T) {
	h := state.Home(t.TempDir())
	s := ensured(t, h, state.Choice{})
	st := New(h, s, slog.New(slog.DiscardHandler))
	st.virtual.Set([]workshop.Cluster{{
		Name: "one", Type: "large", Kind: workshop.VirtualCluster, Reconciler: workshop.Flux,
		Follows: []workshop.Subscription{{Name: "dev", Repository: "gitops", Branch: "dev", Path: "large"}},
	}})
	all := st.ListClusters(nil)
	names := map[string]Cluster{}
	for _, c := range all {
		names[c.Name] = c
	}
	if len(all) != len(s.ClusterNames())+1 || names["one"].Kind != workshop.VirtualCluster || names["one"].Follows[0].Path != "large" || names["one"].State != string(virtual.Progressing) {
		t.Errorf("%+v", names["one"])
	}
	if real := names[s.ClusterNames()[0]]; real.Kind != workshop.RealCluster || len(real.Follows) == 0 || real.Reconciler == "" {
		t.Errorf("%+v", real)
	}
}
