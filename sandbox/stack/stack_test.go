package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/workshop"
)

func ensured(t *testing.T, h state.Home, c state.Choice) *state.State {
	t.Helper()
	s, err := h.Ensure(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestComponentsFitTogether checks what no compiler does: that the units' needs
// are met, that each has a deadline, and that the fixtures name every
// repository and environment that the workshop uses.
func TestComponentsFitTogether(t *testing.T) {
	for _, name := range workshop.Builtin() {
		h := state.Home(t.TempDir())
		s := ensured(t, h, state.Choice{Workshop: name})
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		units := New(h, s, log).Units()
		if _, err := supervisor.New(log, units...); err != nil {
			t.Error(err)
		}
		for _, u := range units {
			if u.Deadline == 0 || u.Title == "" {
				t.Errorf("unit %s has no deadline or no title", u.Name)
			}
		}
		content := workshoptest.Load(t, name, s.OrgURL())
		if _, ok := content.Repository(s.Spec().ControlPlane.Repository); !ok {
			t.Errorf("no repository %s", s.Spec().ControlPlane.Repository)
		}
		for _, c := range s.Clusters() {
			for _, sub := range c.Follows {
				r, ok := content.Repository(sub.Repository)
				if !ok {
					t.Errorf("no repository %s", sub.Repository)
				}
				if _, ok := r.Branch(sub.Branch); !ok {
					t.Errorf("no branch %s of %s", sub.Branch, sub.Repository)
				}
			}
		}
	}
}

func TestSchedulerConfigIsTaken(t *testing.T) {
	h := state.Home(t.TempDir())
	s := ensured(t, h, state.Choice{Workshop: "basic-inference"})
	b, err := New(h, s, slog.Default()).schedulerConfig(s.Scheduler.User, gitea.SchedulerToken)
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.ParseConfig("config.yaml", b)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != s.Address("scheduler") || c.PromoteTo != "" || c.ControlPlane.Repo != s.OrgURL()+"/kalypso-control-plane" {
		t.Errorf("%+v", c)
	}
}

func TestChildrenGetNoProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy:1")
	t.Setenv("KUBECONFIG", "/mine")
	t.Setenv("GIT_DIR", "/mine")
	for _, kv := range newHost("/h", &state.State{}).Env {
		name, _, _ := strings.Cut(kv, "=")
		if name == "HTTPS_PROXY" || name == "KUBECONFIG" || name == "GIT_DIR" {
			t.Errorf("%s reaches the children", name)
		}
	}
}

// TestComponentsWithAttachedClusters: what serves made clusters is there for these only.
func TestComponentsWithAttachedClusters(t *testing.T) {
	file := "/kubeconfig"
	for title, c := range map[string]struct {
		contexts map[string]string
		without  []string
	}{
		"one": {map[string]string{"drone": "edge"}, []string{"node-drone"}},
		"all": {map[string]string{"drone": "edge", "large": "big"}, []string{"node-drone", "node-large", "etcd"}},
	} {
		t.Run(title, func(t *testing.T) {
			h := state.Home(t.TempDir())
			s := ensured(t, h, state.Choice{Contexts: c.contexts, Kubeconfig: []string{file}})
			stack := New(h, s, slog.New(slog.DiscardHandler))
			units := stack.Units()
			if _, err := supervisor.New(slog.New(slog.DiscardHandler), units...); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, u := range units {
				names = append(names, u.Name)
			}
			for _, want := range []string{"drone", "large", "flux-drone", "argocd-large", "subscription-drone", "samples", "unpack-kube"} {
				if !slices.Contains(names, want) && !slices.Contains(names, "unpack-"+want) {
					t.Errorf("no %s among %q", want, names)
				}
			}
			for _, no := range c.without {
				if slices.Contains(names, no) {
					t.Errorf("%s among %q", no, names)
				}
			}
			urls := new(Status).URLs(s)
			if urls["drone"] != "" || urls["flux-drone"] == "" {
				t.Errorf("addresses %v", urls)
			}
		})
	}
}

// TestNamesThatAreNeeded are looked for before anything is changed.
func TestNamesThatAreNeeded(t *testing.T) {
	names := func(workshop string, i int) string {
		s, err := state.Choice{Workshop: workshop}.Draft()
		if err != nil {
			t.Fatal(err)
		}
		d, err := requirements(s, s.Clusters()[i])
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, o := range slices.Concat(d.Subscription, d.Settings) {
			all = append(all, cluster.Describe(o.GetKind(), o.GetNamespace(), o.GetName()))
		}
		return string(d.Reconciler) + " in " + d.Namespace + ": " + strings.Join(all, ", ")
	}
	for _, c := range []struct {
		workshop string
		i        int
		want     string
	}{
		{"basic-inference", 0, "Flux in flux-system: Secret flux-system/platform-dev-auth, GitRepository flux-system/platform-dev, Kustomization flux-system/platform-dev-platform-dev"},
		{"hello-world", 0, "Flux in flux-system: Secret flux-system/dev-auth, GitRepository flux-system/dev, Kustomization flux-system/dev-dev, " +
			"Secret flux-system/stage-auth, GitRepository flux-system/stage, Kustomization flux-system/stage-stage, Secret flux-system/repo-secret"},
		{"hello-world", 1, "Argo CD in argocd: Secret argocd/kalypso-gitops, Secret argocd/kalypso-app-gitops, Secret argocd/kalypso-svc-gitops, Application argocd/dev, Application argocd/stage, " +
			"Namespace argocd, ConfigMap argocd/argocd-cm, ConfigMap argocd/argocd-rbac-cm, AppProject argocd/default, Secret argocd/argocd-secret, Secret argocd/argocd-initial-admin-secret"},
	} {
		if got := names(c.workshop, c.i); got != c.want {
			t.Errorf("%s", cmp.Diff(c.want, got))
		}
	}
}

type recorded struct {
	supervisor.Component
	calls []string
}

func (r *recorded) Init(context.Context) error  { r.calls = append(r.calls, "init"); return nil }
func (r *recorded) Start(context.Context) error { r.calls = append(r.calls, "start"); return nil }
func (r *recorded) Ready(context.Context) error { r.calls = append(r.calls, "ready"); return nil }
func (r *recorded) Exited() <-chan struct{}     { return make(chan struct{}) }
func (r *recorded) Stop(context.Context) error  { r.calls = append(r.calls, "stop"); return nil }
func (r *recorded) PID() int                    { return 7 }

func TestSkipIfPresent(t *testing.T) {
	theirs, ours := true, &recorded{}
	y := &skipIfPresent{Component: ours, present: func() bool { return theirs }}
	run := func() {
		t.Helper()
		if err := errors.Join(y.Init(t.Context()), y.Start(t.Context()), y.Ready(t.Context())); err != nil {
			t.Error(err)
		}
	}
	run()
	if len(ours.calls) > 0 || y.PID() != 0 || y.Exited() != nil {
		t.Errorf("%q, %d", ours.calls, y.PID())
	}
	theirs = false
	run()
	if err := y.Stop(t.Context()); err != nil || y.PID() != 7 || y.Exited() == nil || strings.Join(ours.calls, " ") != "init start ready stop" {
		t.Errorf("%v, %q", err, ours.calls)
	}
}

// TestHubConfigIsTaken also reads the files that it names.
func TestHubConfigIsTaken(t *testing.T) {
	h := state.Home(t.TempDir())
	s := ensured(t, h, state.Choice{Workshop: "hello-world"})
	b, err := New(h, s, slog.Default()).hubConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := h.Path(state.Hub, "hub.yaml")
	if err := state.WriteFile(file, b); err != nil {
		t.Fatal(err)
	}
	c, err := hub.LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != s.Address(state.Hub) || c.Store.SQLite != h.Path("hub", "hub.db") || !slices.Equal(c.Chain, []string{"dev", "stage"}) || len(c.Observe) != 2 || c.Observe[0].Kubeconfig != h.Kubeconfig() {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{c.Scheduler.Config, c.Observe[1].Endpoint.TokenFile} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestAddressesOfAttachedClusters(t *testing.T) {
	s := ensured(t, state.Home(t.TempDir()), state.Choice{Contexts: map[string]string{"drone": "edge", "large": "big"}})
	st := &Status{Existing: []AttachedCluster{{Name: "drone", Server: "https://there"}, {Name: "large", Server: "https://over", Theirs: "argocd"}}}
	urls := st.URLs(s)
	if urls["drone"] != "https://there" || urls["large"] != "https://over" || urls["flux-drone"] == "" || urls["argocd-large"] != "" {
		t.Errorf("%v", urls)
	}
}

func TestAddressesOfComponents(t *testing.T) {
	h := state.Home(t.TempDir())
	s := ensured(t, h, state.Choice{})
	urls := new(Status).URLs(s)
	for name, want := range map[string]string{
		"gitea":        s.ForgeURL(),
		"drone":        fmt.Sprintf("https://127.0.0.1:%d", s.Port("drone")),
		"flux-drone":   fmt.Sprintf("http://127.0.0.1:%d", s.Port("flux-drone")),
		"argocd-large": fmt.Sprintf("http://localhost:%d", s.Port("argocd-large")),
		"scheduler":    fmt.Sprintf("http://127.0.0.1:%d", s.Port("scheduler")),
		"repositories": "",
	} {
		if urls[name] != want {
			t.Errorf("%s: %q, want %q", name, urls[name], want)
		}
	}
	for _, u := range New(h, s, slog.New(slog.DiscardHandler)).Units() {
		if u.Log != "" && urls[u.Name] == "" && !strings.HasPrefix(u.Name, "node-") && u.Name != "etcd" { // on a socket
			t.Errorf("component %s has no address", u.Name)
		}
	}
}
