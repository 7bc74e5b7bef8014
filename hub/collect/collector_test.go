package collect

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

const webhookSecret = "s3cret"

// platform is a forge with a control plane, and a fleet of two clusters, of which one has
// Flux and one Argo CD.
type platform struct {
	t     *testing.T
	forge *giteafake.Server
	repos map[string]*giteafake.Repository
	heads map[string]string // by repository@branch
	file  string            // of the store

	mu     sync.Mutex // for the fleet, which is asked at any time
	fleet  []fleet.Cluster
	failed error
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	t.Setenv("KALYPSO_TEST_TOKEN", giteafake.Token)
	p := &platform{t: t, forge: giteafake.Start(t), repos: map[string]*giteafake.Repository{}, heads: map[string]string{}, file: filepath.Join(t.TempDir(), "hub.db")}
	archive, err := txtar.ParseFile("testdata/platform.txtar")
	if err != nil {
		t.Fatal(err)
	}
	branches := map[string]map[string]string{}
	var order []string
	for _, f := range archive.Files {
		branch, path, _ := strings.Cut(f.Name, "/")
		if branches[branch] == nil {
			branches[branch] = map[string]string{}
			order = append(order, branch)
		}
		branches[branch][path] = strings.ReplaceAll(string(f.Data), "FORGE", p.forge.URL)
	}
	for _, b := range order {
		name, branch, _ := strings.Cut(b, "@")
		if p.repos[name] == nil {
			initial := "main"
			if name != "control" {
				initial = branch
			}
			p.repos[name] = p.forge.Create("acme/"+name, initial)
		}
		p.heads[b] = p.repos[name].Push(branch, branches[b])
	}
	p.setFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	return p
}

// cluster is one of a type that has the heads of all that it follows.
func (p *platform) cluster(clusterType, name string) fleet.Cluster {
	platform, app := p.heads["gitops@dev"], p.heads["shop-gitops@dev"]
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	one := fleet.Cluster{Name: name, Labels: map[string]string{"region": "west"}, LastSeen: time.Now().UTC()}
	root := fleet.Subscription{
		Kind: fleet.Kustomization, Ref: fleet.Ref{Namespace: "flux-system", Name: "dev"}, Source: &fleet.Ref{Namespace: "flux-system", Name: "dev"},
		Repo: p.forge.URL + "/acme/gitops", Branch: "dev", Path: clusterType, Commit: platform, Applied: platform, State: fleet.Compliant, At: at,
	}
	child := root
	child.Name, child.Source, child.Parent = "shop-test", &fleet.Ref{Namespace: "flux-system", Name: "shop-test"}, &root.Ref
	child.Repo, child.Path, child.Commit, child.Applied = p.forge.URL+"/acme/shop-gitops", "./test", app, app
	if clusterType == "large" {
		for _, s := range []*fleet.Subscription{&root, &child} {
			s.Kind, s.Namespace, s.Source, s.Parent = fleet.Application, "argocd", nil, nil
		}
	}
	one.Subscriptions = []fleet.Subscription{root, child}
	return one
}

func (p *platform) setFleet(all ...fleet.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fleet = all
}

func (p *platform) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
}

// Inventory implements fleet.Reader.
func (p *platform) Inventory(context.Context) (fleet.Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fleet.Snapshot{At: time.Now().UTC(), Clusters: slices.Clone(p.fleet)}, p.failed
}

// run runs a collector until the test ends, or stop is called.
func (p *platform) run(change func(*Options)) (c *Collector, s *store.Store, stop func()) {
	p.t.Helper()
	s, err := store.Open(p.t.Context(), store.Options{SQLite: p.file})
	if err != nil {
		p.t.Fatal(err)
	}
	o := Options{
		Store: s, Poll: time.Hour, Chain: []string{"dev"}, Mirrors: filepath.Join(filepath.Dir(p.file), "mirrors"), Log: slog.New(slog.NewTextHandler(p.t.Output(), nil)), Retention: store.Retention{Events: time.Hour, Audit: time.Hour},
		Scheduler: controller.Config{
			Forge:         controller.ForgeConfig{Type: controller.Gitea, URL: p.forge.URL, User: giteafake.User, TokenEnv: "KALYPSO_TEST_TOKEN"},
			ControlPlane:  controller.ControlPlaneConfig{Repo: p.forge.URL + "/acme/control"},
			WebhookSecret: webhookSecret,
		},
		Fleet: []Fleet{{Name: "test", Open: func() (fleet.Reader, error) { return p, nil }, Interval: 20 * time.Millisecond}},
	}
	if change != nil {
		change(&o)
	}
	if o.Store != s { // of the other engine
		if err := s.Close(); err != nil {
			p.t.Fatal(err)
		}
		s = o.Store
	}
	if c, err = New(o); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			p.t.Errorf("the collector ends with %v", err)
		}
		if err := s.Close(); err != nil {
			p.t.Error(err)
		}
	})
	p.t.Cleanup(stop)
	return c, s, stop
}

// await waits for something in the store.
func await(t *testing.T, what string, look func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := look()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// awaitPlacements waits until the placements are in these states and versions, by cluster.
func awaitPlacements(t *testing.T, s *store.Store, want map[string]string) (all map[string]store.Placement) {
	t.Helper()
	await(t, fmt.Sprint(want), func() error {
		list, err := s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{Environments: []string{"dev"}}, store.Page{})
		if err != nil {
			return err
		}
		all = map[string]store.Placement{}
		got := map[string]string{}
		for _, p := range list.Items {
			all[p.Cluster] = p
			got[p.Cluster] = fmt.Sprintf("%s %s", p.State, p.Actual.Version)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	return all
}

func TestCollector(t *testing.T) {
	p := newPlatform(t)
	c, s, stop := p.run(nil)
	all := awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	one := all["edge-1"]
	if one.Workload != "shop" || one.Workspace != "team" || !slices.Equal(one.Policies, []string{"tests"}) || one.Target != "shop-test" || one.ClusterType != "small" || one.Labels["region"] != "west" {
		t.Errorf("%+v", one)
	}
	environments, err := s.Environments(t.Context(), store.Scope{})
	if err != nil || len(environments) != 1 || environments[0].Commit != p.heads["control@dev"] || environments[0].GitOpsCommit != p.heads["gitops@dev"] || environments[0].Counts[placement.OK] != 2 {
		t.Errorf("%+v, %v", environments, err)
	}
	e, err := c.Explain(t.Context(), "dev", "shop-test", "large")
	if err != nil || len(e.Assigned) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	var input *explain.InputError
	if _, err := c.Explain(t.Context(), "dev", "shop-tset", ""); !errors.As(err, &input) {
		t.Errorf("%v", err)
	}
	if _, err := c.Explain(t.Context(), "deb", "shop-test", ""); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "dev?") {
		t.Errorf("%v", err)
	}
	objects, err := c.Objects(t.Context(), "dev", "assignments")
	if err != nil || len(objects) != 2 || objects[0].(view.AssignmentDocument).Target != "shop-test" {
		t.Errorf("%+v, %v", objects, err)
	}
	if _, err := c.Objects(t.Context(), "dev", "environments"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}

	// a push is seen by its webhook: the poll is an hour away
	p.heads["shop-gitops@dev"] = p.repos["shop-gitops"].Push("dev", map[string]string{
		"test/deployment.yaml":       "kind: Deployment\nspec: {}\n",
		"descriptors/shop-test.yaml": strings.Replace(descriptor, "1.0", "2.0", 1),
	})
	if code := p.webhook(c, "push", "acme/shop-gitops", webhookSecret); code != http.StatusAccepted {
		t.Errorf("the webhook is answered with %d", code)
	}
	awaitPlacements(t, s, map[string]string{"edge-1": "rolling 1.0", "edge-2": "rolling 1.0"})
	p.setFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 2.0", "edge-2": "ok 2.0"})
	if code := p.webhook(c, "push", "acme/shop-gitops", "guess"); code != http.StatusForbidden {
		t.Errorf("an unsigned webhook is answered with %d", code)
	}

	// a cluster that cannot be asked is unknown, with what it had, and the other is not
	p.setFleet(p.cluster("small", "edge-1"), fleet.UnknownCluster("edge-2", errors.New("connection refused")))
	all = awaitPlacements(t, s, map[string]string{"edge-1": "ok 2.0", "edge-2": "unknown 2.0"})
	if two := all["edge-2"]; two.Reason != "connection refused" || two.Target != "shop-test" || two.AsOf.IsZero() || time.Since(two.AsOf) > time.Minute {
		t.Errorf("%+v", two)
	}

	// also for a hub that was started only then
	stop()
	_, s, stop = p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 2.0", "edge-2": "unknown 2.0"})

	// nothing of a part of the fleet that fails is certain, and it says why
	p.fail(errors.New("access denied"))
	awaitPlacements(t, s, map[string]string{"edge-1": "unknown 2.0", "edge-2": "unknown 2.0"})
	await(t, "the source fails", func() error {
		sources, err := s.Sources(t.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(sources, func(s store.Source) bool { return s.Name == "clusters by test" })
		if i < 0 || sources[i].State != "failing" || sources[i].Reason != "access denied" || sources[i].LastOK.IsZero() {
			return fmt.Errorf("%+v", sources)
		}
		return nil
	})
	stop()
	p.fail(nil)

	// a cluster that is gone is gone
	p.setFleet(p.cluster("small", "edge-1"))
	_, s, _ = p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 2.0"})
}

// TestClustersInWaves: a cluster that follows the branch of a wave is compared with the environment's
// branch. It waits for its wave, and says so.
func TestClustersInWaves(t *testing.T) {
	p := newPlatform(t)
	gitops := p.repos["gitops"]
	const branch = "kalypso-rollout/dev/small/canary"
	bring := func() (commit string) {
		mark, err := rollout.Wave{Environment: "dev", Branch: "dev", ClusterType: "small", Rollout: "small", Wave: "canary", Commit: p.heads["gitops@dev"]}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return gitops.Push(branch, map[string]string{rollout.WaveFile: string(mark)})
	}
	inWave := func(commit string) fleet.Cluster {
		c := p.cluster("small", "edge-1")
		root := &c.Subscriptions[0]
		root.Branch, root.Commit, root.Applied = branch, commit, commit
		return c
	}
	held := bring()
	p.setFleet(inWave(held), p.cluster("large", "edge-2"))
	c, s, _ := p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})

	p.heads["gitops@dev"] = gitops.Push("dev", map[string]string{"small/shop-test/more.yaml": "kind: ConfigMap\n"})
	p.webhook(c, "push", "acme/gitops", webhookSecret)
	all := awaitPlacements(t, s, map[string]string{"edge-1": "rolling 1.0", "edge-2": "ok 1.0"})
	if !strings.Contains(all["edge-1"].Reason, "canary") {
		t.Errorf("%+v", all["edge-1"])
	}
	p.setFleet(inWave(bring()), p.cluster("large", "edge-2"))
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
}

const descriptor = `kind: DeploymentDescriptor
spec: {workload: {name: shop}, deploymentTarget: {name: test, environment: dev}, workloadVersion: {version: "1.0", commit: c}}
`

// webhook delivers an event about a repository, signed with a secret, and returns the
// answer's code.
func (p *platform) webhook(c *Collector, event, repo, secret string) int {
	p.t.Helper()
	body := fmt.Appendf(nil, `{"ref": "refs/heads/dev", "repository": {"clone_url": "%s/%s.git"}}`, p.forge.URL, repo)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	r := httptest.NewRequest(http.MethodPost, "/hooks/forge", bytes.NewReader(body))
	r.Header.Set("X-Gitea-Event", event)
	r.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	c.Webhook().ServeHTTP(w, r)
	return w.Code
}

// TestPoll finds what no webhook has announced, and a control plane that cannot be read
// keeps what is known.
func TestPoll(t *testing.T) {
	p := newPlatform(t)
	_, s, _ := p.run(func(o *Options) { o.Poll = 50 * time.Millisecond })
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	p.heads["gitops@dev"] = p.repos["gitops"].Push("dev", map[string]string{"small/shop-test/namespace.yaml": "kind: Namespace\n"})
	awaitPlacements(t, s, map[string]string{"edge-1": "rolling 1.0", "edge-2": "ok 1.0"})
	await(t, "the environment's commit", func() error {
		all, err := s.Environments(t.Context(), store.Scope{})
		if err == nil && all[0].GitOpsCommit != p.heads["gitops@dev"] {
			err = fmt.Errorf("%+v", all)
		}
		return err
	})
	p.forge.Fail(giteafake.Fault{
		On: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/acme/control.git") }, Times: -1, Answer: httpfault.Page(http.StatusInternalServerError),
	})
	await(t, "the control plane fails", func() error {
		sources, err := s.Sources(t.Context())
		if i := slices.IndexFunc(sources, func(s store.Source) bool { return strings.HasPrefix(s.Name, "control plane") && s.State == "failing" }); err == nil && i < 0 {
			err = fmt.Errorf("%+v", sources)
		}
		return err
	})
	awaitPlacements(t, s, map[string]string{"edge-1": "rolling 1.0", "edge-2": "ok 1.0"})
}

// TestWrongClocks: what a cluster says of times that cannot be is not shown, and ends
// nothing. These two are RFC 3339, and in UTC in no year that JSON can have.
func TestWrongClocks(t *testing.T) {
	p := newPlatform(t)
	var clusters []fleet.Cluster
	for name, text := range map[string]string{"edge-1": "9999-12-31T23:59:59-23:59", "edge-2": "0000-01-01T00:00:00+23:59"} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		one := p.cluster("small", name)
		one.LastSeen = at.UTC()
		for i := range one.Subscriptions {
			one.Subscriptions[i].At = at.UTC()
		}
		clusters = append(clusters, one)
	}
	p.setFleet(clusters...)
	_, s, _ := p.run(nil)
	for name, one := range awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"}) {
		if time.Until(one.Since) > time.Minute || one.Since.Year() < 1 {
			t.Errorf("%s is so since %v", name, one.Since)
		}
	}
}

// TestPullRequests are those of the platform, and of the applications that it assigns.
func TestPullRequests(t *testing.T) {
	p := newPlatform(t)
	opened := time.Now().UTC().Truncate(time.Second)
	add := func(repo, title, head string) {
		p.forge.Lock()
		defer p.forge.Unlock()
		pr := p.repos[repo].Open(title, "dev", head, p.heads[repo+"@dev"])
		pr.Created = &opened
	}
	add("gitops", "dev: 1 assignment", "kalypso/dev")
	c, s, _ := p.run(nil)
	awaitPulls := func(want map[string]string) {
		t.Helper()
		await(t, fmt.Sprint(want), func() error {
			list, err := s.PullRequests(t.Context(), store.Scope{}, nil, nil, store.Page{})
			if err != nil {
				return err
			}
			got := map[string]string{}
			for _, pr := range list.Items {
				if pr.Environment != "dev" || !pr.Opened.Equal(opened) || pr.State != "open" {
					return fmt.Errorf("%+v", pr)
				}
				got[pr.Title] = pr.Kind
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("%v", got)
			}
			return nil
		})
	}
	awaitPulls(map[string]string{"dev: 1 assignment": "platform"})
	add("shop-gitops", "shop 2.0", "kalypso/shop-to-dev")
	p.webhook(c, "pull_request", "acme/shop-gitops", webhookSecret)
	awaitPulls(map[string]string{"dev: 1 assignment": "platform", "shop 2.0": "application"})
	p.forge.Lock()
	p.repos["gitops"].Merge(p.repos["gitops"].Pulls[0])
	p.forge.Unlock()
	p.webhook(c, "pull_request", "acme/gitops", webhookSecret)
	await(t, "the pull request is merged by somebody", func() error {
		list, err := s.PullRequests(t.Context(), store.Scope{}, nil, []string{"merged"}, store.Page{})
		if err == nil && (len(list.Items) != 1 || list.Items[0].MergedBy != giteafake.Merger) {
			err = fmt.Errorf("%+v", list.Items)
		}
		return err
	})
}

// TestSchedulerStatus: what the scheduler says of its runs is the environment's, as long as
// it answers.
func TestSchedulerStatus(t *testing.T) {
	p := newPlatform(t)
	var mu sync.Mutex
	status, code := `{"controlPlane": {}, "environments": [{"name": "dev", "state": "error", "error": "no such branch"}]}`, http.StatusOK
	scheduler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+webhookSecret || r.URL.Path != "/status" {
			code = http.StatusUnauthorized
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(status))
	}))
	defer scheduler.Close()
	c, s, _ := p.run(func(o *Options) { o.SchedulerURL = scheduler.URL })
	awaitPlan := func(plan, failure string) {
		t.Helper()
		await(t, "the plan is "+plan, func() error {
			all, err := s.Environments(t.Context(), store.Scope{})
			if err == nil && (len(all) != 1 || all[0].Plan != plan || all[0].Error != failure) {
				err = fmt.Errorf("%+v", all)
			}
			return err
		})
	}
	awaitPlan("error", "no such branch")
	mu.Lock()
	status = `{"controlPlanes": [{"environments": [{"name": "dev", "state": "synced"}]}]}`
	mu.Unlock()
	notify(c.scheduler.source.wake)
	awaitPlan("synced", "")
	mu.Lock()
	code = http.StatusServiceUnavailable
	mu.Unlock()
	notify(c.scheduler.source.wake)
	awaitPlan("", "")
}
