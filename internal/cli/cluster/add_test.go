package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/daemon"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/workshop"
)

const apiVersion = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// controlPlane has an environment dev with the cluster types drone and large, and
// what it publishes to.
func controlPlane(t *testing.T, root, orgURL string) {
	t.Helper()
	bare := filepath.Join(root, state.Organisation, "kalypso-control-plane.git")
	if err := os.MkdirAll(bare, 0o755); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, bare, "init", "--quiet", "--bare", "--initial-branch", "main", ".")
	clusterType := func(name, reconciler string) string {
		return apiVersion + "kind: ClusterType\nmetadata: {name: " + name + "}\nspec: {reconciler: " + reconciler + ", namespaceService: default}\n"
	}
	template := func(name, text string) string {
		return apiVersion + "kind: Template\nmetadata: {name: " + name + "}\nspec:\n  type: reconciler\n  manifests: ['" + text + "']\n"
	}
	var stream strings.Builder
	for branch, files := range map[string]map[string]string{
		"main": {".environments/dev.yaml": apiVersion + "kind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: " + orgURL + "/kalypso-control-plane, branch: dev}}\n"},
		"dev": {
			"gitops-repo.yaml":         apiVersion + "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: " + orgURL + "/kalypso-gitops, branch: dev, path: fleet}\n",
			"cluster-types/drone.yaml": clusterType("drone", "arc-flux"), "cluster-types/large.yaml": clusterType("large", "argo"),
			"templates/flux.yaml": template("arc-flux", "kind: GitRepository"), "templates/argo.yaml": template("argo", "apiVersion: argoproj.io/v1alpha1"),
		},
	} {
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter ann <ann@example.com> now\ndata 0\n", branch)
		for path, content := range files {
			fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
		}
	}
	if _, err := gitkit.Git(bare, stream.String(), "fast-import", "--quiet", "--date-format=now"); err != nil {
		t.Fatal(err)
	}
}

// running is a sandbox that runs, whose daemon notes what it is asked for.
func running(t *testing.T) (asked *stack.ClusterRequest) {
	t.Helper()
	dir, err := os.MkdirTemp("", "kalypso-") // its path is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("KALYPSO_HOME", dir)
	h := state.Home(dir)
	s, err := h.Ensure(t.Context(), state.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	controlPlane(t, root, s.OrgURL())
	listener, err := net.Listen("tcp", s.Address("gitea"))
	if err != nil {
		t.Fatal(err)
	}
	forge := &http.Server{Handler: gitkit.Handler(t, root)}
	go func() { _ = forge.Serve(listener) }()
	t.Cleanup(func() { forge.Close() })

	asked = &stack.ClusterRequest{}
	server := &daemon.Server{Home: h, State: s, Log: slog.New(slog.DiscardHandler), Build: func() daemon.Parts {
		return daemon.Parts{Units: []supervisor.Unit{daemontest.Steady("gitea")}, Clusters: daemon.Clusters{
			Change: func(_ context.Context, units *supervisor.Supervisor, r stack.ClusterRequest) (stack.ClusterAnswer, error) {
				if len(r.Add) > 0 && r.Add[0].Name == "taken" {
					return stack.ClusterAnswer{}, usage.New("taken is taken")
				}
				*asked = r
				answer := stack.ClusterAnswer{Virtual: len(r.Add)}
				for _, c := range r.Add {
					if c.Kind == workshop.VirtualCluster {
						continue
					}
					u := daemontest.Steady(c.Name)
					u.Group = c.Name
					if err := units.Add(u); err != nil {
						return answer, err
					}
					answer.Components = append(answer.Components, c.Name)
				}
				return answer, nil
			},
			List: func([]supervisor.Status) []stack.Cluster {
				return []stack.Cluster{{
					Name: "drone", Type: "drone", Kind: workshop.RealCluster, Reconciler: workshop.Flux, State: "ready",
					Follows: []stack.ClusterFollows{{Name: "platform-dev", Repository: "kalypso-gitops", Branch: "dev", Path: "fleet/drone"}},
				}}
			},
		}}
	}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	client := daemon.NewClient(h)
	if err := retry.Until(t.Context(), "the daemon", time.Minute, func(ctx context.Context) error {
		_, err := client.Components(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return asked
}

func command(args ...string) (out, talk string, err error) {
	var stdout, stderr bytes.Buffer
	c := NewCommand(&cmdutil.App{Out: &stdout, Err: &stderr})
	c.SetArgs(args)
	c.SetContext(context.Background())
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.Execute()
	return stdout.String(), stderr.String(), err
}

// TestAddTakesTheFolderOfTheType has what is added follow what the platform model,
// and the clusters that there are, say.
func TestAddTakesTheFolderOfTheType(t *testing.T) {
	asked := running(t)
	if _, talk, err := command("add", "store-{01..12}", "--virtual", "--type", "large", "-e", "dev", "--failing", "0.5", "--seed", "9"); err != nil {
		t.Fatalf("%v\n%s", err, talk)
	}
	if len(asked.Add) != 12 {
		t.Fatalf("%d are added", len(asked.Add))
	}
	want := workshop.Cluster{
		Name: "store-12", Type: "large", Kind: workshop.VirtualCluster, Reconciler: workshop.ArgoCD,
		Follows: []workshop.Subscription{{Name: "platform-dev", Repository: "kalypso-gitops", Branch: "dev", Path: "fleet/large"}},
		Virtual: &workshop.Virtual{Seed: 9, Failing: 0.5},
	}
	if diff := cmp.Diff(want, asked.Add[11]); diff != "" {
		t.Error(diff)
	}
	if _, talk, err := command("add", "one", "--virtual", "--type", "drone", "-e", "dev", "--reconciler", "argocd"); err != nil || asked.Add[0].Reconciler != workshop.ArgoCD {
		t.Errorf("%v\n%s", err, talk)
	}
	*asked = stack.ClusterRequest{}
	var mistake *usage.Error
	for name, args := range map[string][]string{
		"no such type":        {"add", "one", "--virtual", "--type", "larg", "-e", "dev"},
		"a name that is used": {"add", "taken", "--virtual", "--type", "large", "-e", "dev"},
	} {
		if _, _, err := command(args...); !errors.As(err, &mistake) || len(asked.Add) > 0 {
			t.Errorf("%s: %v, %v", name, err, asked.Add)
		}
	}
	if _, _, err := command("add", "one", "--virtual", "--type", "large", "-e", "prod"); err == nil || len(asked.Add) > 0 {
		t.Errorf("no such environment: %v", err)
	}
	if _, _, err := command("remove", "store-{01..12}"); err != nil || len(asked.Remove) != 12 {
		t.Errorf("%v %v", err, asked.Remove)
	}
	if _, _, err := command("remove", "drone"); !errors.As(err, &mistake) || len(asked.Remove) != 12 {
		t.Errorf("without a terminal to ask at: %v %v", err, asked.Remove)
	}
	if _, _, err := command("remove", "drone", "--yes"); err != nil || len(asked.Remove) != 1 {
		t.Errorf("%v %v", err, asked.Remove)
	}
	if out, _, err := command("list"); err != nil || !strings.Contains(out, "drone") || len(strings.Split(strings.TrimSpace(out), "\n")) != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAddIsAsTheOthers has a cluster that is not virtual have what others of its
// type, or with its reconciler, have, and waits for it.
func TestAddIsAsTheOthers(t *testing.T) {
	asked := running(t)
	for name, c := range map[string]struct {
		args []string
		want workshop.Cluster
	}{
		"of a type that is there": {
			[]string{"--type", "drone"},
			workshop.Cluster{Type: "drone", Reconciler: workshop.Flux, Credentials: "repo-secret"},
		},
		"with a reconciler that is there": {
			[]string{"--type", "large", "--node", "simulated"},
			workshop.Cluster{Type: "large", Reconciler: workshop.ArgoCD, Node: workshop.SimulatedNode, Repositories: []string{"kalypso-gitops", "kalypso-app-gitops", "kalypso-svc-gitops"}},
		},
	} {
		_, talk, err := command(append([]string{"add", "one-" + c.want.Type, "-e", "dev"}, c.args...)...)
		if err != nil || !strings.Contains(talk, "one-"+c.want.Type+" is ready") {
			t.Errorf("%s: %v\n%s", name, err, talk)
			continue
		}
		c.want.Name, c.want.Kind = "one-"+c.want.Type, workshop.RealCluster
		c.want.Follows = []workshop.Subscription{{Name: "platform-dev", Repository: "kalypso-gitops", Branch: "dev", Path: "fleet/" + c.want.Type}}
		if diff := cmp.Diff(c.want, asked.Add[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
