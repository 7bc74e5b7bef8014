package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/cluster/attached"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// personsClusters is a kubeconfig that leads to a server, under two names.
func personsClusters(t *testing.T, server string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {token: t}}],
contexts: [{name: edge, context: {cluster: c, user: u}}, {name: big, context: {cluster: c, user: u}}]}`, server)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestChoiceOfContexts(t *testing.T) {
	file := personsClusters(t, "http://127.0.0.1:1")
	t.Setenv("KUBECONFIG", file)
	h := Home(filepath.Join(t.TempDir(), "home"))
	for _, c := range []struct {
		workshop string
		contexts map[string]string
		says     string // "" for fine
	}{
		{"", nil, ""},
		{"", map[string]string{"drone": "edge"}, ""},
		{"", map[string]string{"drone": "edge", "large": "big"}, ""},
		{"basic-inference", map[string]string{"arc-cluster": "edge"}, ""},
		{"", map[string]string{"dron": "edge"}, "there is no cluster \"dron\", did you mean drone?\nChoose one of drone, large"},
		{"basic-inference", map[string]string{"drone": "edge"}, "there is no cluster \"drone\"\nChoose one of arc-cluster"},
		{"", map[string]string{"drone": "edgy"}, "there is no context \"edgy\", did you mean edge?\nChoose one of big, edge, of " + file},
		{"", map[string]string{"drone": "edge", "large": "edge"}, "the context edge cannot be both drone and large"},
	} {
		o := Options{Home: h, Workshop: c.workshop, Choice: Choice{Contexts: c.contexts}}
		err := o.check()
		var usage *UsageError
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%v: %v", c.contexts, err)
		case c.says != "" && (!errors.As(err, &usage) || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%v: says %v, want %s", c.contexts, err, c.says)
		case c.says == "" && len(c.contexts) > 0 && !slices.Equal(o.Kubeconfig, []string{file}):
			t.Errorf("%v: files %q", c.contexts, o.Kubeconfig)
		}
	}
	for value, says := range map[string]string{
		filepath.Join(string(h), "kubeconfig"):  "is the sandbox's own",
		filepath.Join(t.TempDir(), "not-there"): "has no contexts: let KUBECONFIG name",
	} {
		t.Setenv("KUBECONFIG", value)
		o := Options{Home: h, Choice: Choice{Contexts: map[string]string{"drone": "edge"}}}
		if err := o.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// given makes the state of a sandbox with clusters of the person's.
func given(t *testing.T, h Home, workshop, file string, contexts map[string]string) *State {
	t.Helper()
	s, err := h.ensureState(workshop, Choice{Contexts: contexts, Kubeconfig: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGivenClustersStayTheSame(t *testing.T) {
	h := Home(t.TempDir())
	file := personsClusters(t, "http://127.0.0.1:1")
	given(t, h, "hello-world", file, map[string]string{"drone": "edge"})
	s, err := h.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]attached.Source{"drone": {Files: []string{file}, Context: "edge"}}, s.Existing); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		contexts map[string]string
		says     string
	}{
		{nil, ""},
		{map[string]string{"drone": "edge"}, ""},
		{map[string]string{"drone": "big"}, "holds as cluster drone that of context edge of " + file},
		{map[string]string{"large": "big"}, "holds a cluster large that it has made itself"},
		{map[string]string{"huge": "big"}, `there is no cluster "huge"`},
	} {
		o := Options{Home: h, Choice: Choice{Contexts: c.contexts}}
		err := o.check()
		var usage *UsageError
		if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: says %v, want %s", c.contexts, err, c.says)
		}
	}
}

func TestDaemonGetsTheContexts(t *testing.T) {
	c := Choice{Provider: ProviderKind, Contexts: map[string]string{"large": "big", "drone": "edge"}, Kubeconfig: []string{"/a", "/b"}}
	want := []string{"--provider", "kind", "--cluster", "drone=edge", "--cluster", "large=big", "--kubeconfig", "/a", "--kubeconfig", "/b"}
	if diff := cmp.Diff(want, c.flags()); diff != "" {
		t.Error(diff)
	}
}

// TestWorldWithGivenClusters: what serves made clusters is there for these only.
func TestWorldWithGivenClusters(t *testing.T) {
	file := personsClusters(t, "http://127.0.0.1:1")
	for title, c := range map[string]struct {
		contexts map[string]string
		without  []string
	}{
		"one": {map[string]string{"drone": "edge"}, []string{"node-drone"}},
		"all": {map[string]string{"drone": "edge", "large": "big"}, []string{"node-drone", "node-large", "etcd"}},
	} {
		t.Run(title, func(t *testing.T) {
			h := Home(t.TempDir())
			s := given(t, h, "hello-world", file, c.contexts)
			w, err := findWorkshop(s.Workshop)
			if err != nil {
				t.Fatal(err)
			}
			world := newWorld(h, s, w, slog.New(slog.DiscardHandler))
			units := world.units()
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
			urls := s.urls(w)
			if urls["drone"] != "" || urls["flux-drone"] == "" {
				t.Errorf("addresses %v", urls)
			}
			var usage *UsageError
			if err := s.checkSnapshots(); !errors.As(err, &usage) {
				t.Errorf("snapshots: %v", err)
			}
			if got := subject(h); got.Clusters != 2-len(c.contexts) || got.Ports["drone"] != 0 || got.Ports["flux-drone"] == 0 {
				t.Errorf("for the doctor: %+v", got)
			}
		})
	}
}

// TestNamesThatAreNeeded are looked for before anything is changed.
func TestNamesThatAreNeeded(t *testing.T) {
	s := &State{}
	names := func(workshop string, i int) string {
		w, err := findWorkshop(workshop)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.requirements(w.clusters[i])
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

func TestPreflightLooksAtGivenClusters(t *testing.T) {
	h := Home(filepath.Join(t.TempDir(), "home"))
	file := personsClusters(t, "http://127.0.0.1:1")
	o := &Options{Home: h, Choice: Choice{Contexts: map[string]string{"drone": "edge"}, Kubeconfig: []string{file}}}
	err := preflight(t.Context(), o)
	var refused *PreflightError
	if !errors.As(err, &refused) || !slices.ContainsFunc(refused.Findings, func(f doctor.Finding) bool {
		return f.Check == "cluster drone" && strings.Contains(f.Found, "does not answer") && strings.Contains(f.Fix, "kubectl --context edge version")
	}) {
		t.Error(err)
	}
	if h.Exists() {
		t.Error("looking has made the sandbox")
	}
	// one that is stopped is not needed
	s := given(t, h, "hello-world", file, map[string]string{"drone": "edge", "large": "big"})
	if _, err := h.setAway("drone", true); err != nil {
		t.Fatal(err)
	}
	r := &doctor.Report{}
	h.lookAtExisting(t.Context(), s, r)
	if len(r.Findings) != 1 || r.Findings[0].Check != "cluster large" || r.Severity != doctor.Fatal {
		t.Errorf("%+v", r)
	}
}

func TestFindingsOfProblems(t *testing.T) {
	one, two := &attached.Problem{Found: "a", Lost: "b", Fix: "c"}, &attached.Problem{Found: "d"}
	all := findingsOf("cluster x", errors.Join(one, errors.Join(two, errors.New("e"))))
	if len(all) != 3 || all[0].Fix != "c" || all[1].Found != "d" || all[2].Found != "e" || all[2].Fix == "" {
		t.Errorf("%+v", all)
	}
}

// TestDownOfGivenClusters: nothing is forgotten as long as it can be removed.
func TestDownOfGivenClusters(t *testing.T) {
	h := Home(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	file := personsClusters(t, server.URL)
	given(t, h, "basic-inference", file, map[string]string{"arc-cluster": "edge"})
	record := attached.RecordFile(h.Path("clusters"), "arc-cluster")
	fill(t, string(h), map[string]string{"clusters/arc-cluster/made.json": fmt.Sprintf(
		`{"sandbox": "x", "name": "arc-cluster", "source": {"files": [%q], "context": "edge"}, "cluster": "u", "made": [{"version": "v1", "kind": "ConfigMap", "namespace": "a", "name": "b", "uid": "c"}]}`, file)})
	var notes []string
	down := func(remove bool) error {
		ctx, cancel := context.WithTimeout(t.Context(), glanceLimit)
		defer cancel()
		notes = nil
		did, err := Down(ctx, DownOptions{Home: h, Delete: remove, Note: func(n string) { notes = append(notes, n) }})
		if !did {
			t.Error("says that there was nothing to do")
		}
		return err
	}
	for _, remove := range []bool{false, true} {
		err := down(remove)
		var left *attached.LeftError
		if !errors.As(err, &left) || !strings.Contains(err.Error(), "(ConfigMap a/b)") {
			t.Errorf("--delete=%v: %v", remove, err)
		}
		if _, err := os.Stat(record); err != nil || !h.Exists() {
			t.Errorf("--delete=%v: it is forgotten", remove)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := down(false); err == nil || !strings.Contains(err.Error(), "there is no context edge in "+file+" any more") {
		t.Error(err)
	}
	if err := down(true); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "still has what the sandbox has put there (ConfigMap a/b)") {
		t.Errorf("%v, %q", err, notes)
	}
	if h.Exists() {
		t.Error("the sandbox is still there")
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

func TestReconcilerYields(t *testing.T) {
	theirs, ours := true, &recorded{}
	y := &yielding{ours: ours, theirs: func() bool { return theirs }}
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

func TestStatusTellsOfGivenClusters(t *testing.T) {
	s := &Status{Existing: []ExistingCluster{{Name: "drone", Server: "https://there"}, {Name: "large", Server: "https://over", Theirs: "argocd"}}}
	urls := map[string]string{"gitea": "g", "flux-drone": "f", "argocd-large": "a"}
	want := map[string]string{"gitea": "g", "flux-drone": "f", "drone": "https://there", "large": "https://over"}
	if diff := cmp.Diff(want, s.addresses(urls)); diff != "" || urls["argocd-large"] == "" {
		t.Error(diff)
	}
}
