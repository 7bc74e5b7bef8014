package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	leases "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
)

// cluster is the part of a Kubernetes API that an election uses: one Lease, which
// refuses updates of what has changed meanwhile, and labels of pods.
type cluster struct {
	mu     sync.Mutex
	lease  *leases.Lease
	labels map[string]string // of pods: the patch that came last
}

func (c *cluster) leader() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease == nil || c.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *c.lease.Spec.HolderIdentity
}

// labelled lists the pods that the Service sends webhooks to.
func (c *cluster) labelled() (pods []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pod, patch := range c.labels {
		if strings.Contains(patch, `"scheduler.kalypso.io/leader":"true"`) {
			pods = append(pods, pod)
		}
	}
	slices.Sort(pods)
	return pods
}

// connection is how one scheduler reaches the cluster.
type connection struct {
	*cluster

	mu   sync.Mutex
	fail func(context.Context) error // before every request; nil for none
}

func (c *connection) Leases(string) coordinationv1.LeaseInterface { return leaseClient{connection: c} }
func (c *connection) Pods(string) corev1.PodInterface             { return podClient{connection: c} }

func (c *connection) cut(fail func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

func (c *connection) reach(ctx context.Context) error {
	c.mu.Lock()
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		return fail(ctx)
	}
	return ctx.Err()
}

type leaseClient struct {
	coordinationv1.LeaseInterface
	*connection
}

func (l leaseClient) request(ctx context.Context, do func(*cluster) error) (*leases.Lease, error) {
	if err := l.reach(ctx); err != nil {
		return nil, err
	}
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	if err := do(l.cluster); err != nil {
		return nil, err
	}
	return l.lease.DeepCopy(), nil
}

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (l leaseClient) Get(ctx context.Context, name string, _ meta.GetOptions) (*leases.Lease, error) {
	return l.request(ctx, func(c *cluster) error {
		if c.lease == nil {
			return apierrors.NewNotFound(leaseResource, name)
		}
		return nil
	})
}

func (l leaseClient) Create(ctx context.Context, lease *leases.Lease, _ meta.CreateOptions) (*leases.Lease, error) {
	return l.request(ctx, func(c *cluster) error {
		if c.lease != nil {
			return apierrors.NewAlreadyExists(leaseResource, lease.Name)
		}
		c.lease = lease.DeepCopy()
		c.lease.ResourceVersion = "1"
		return nil
	})
}

func (l leaseClient) Update(ctx context.Context, lease *leases.Lease, _ meta.UpdateOptions) (*leases.Lease, error) {
	return l.request(ctx, func(c *cluster) error {
		if c.lease == nil {
			return apierrors.NewNotFound(leaseResource, lease.Name)
		}
		if c.lease.ResourceVersion != lease.ResourceVersion {
			return apierrors.NewConflict(leaseResource, lease.Name, errors.New("it has changed"))
		}
		version, err := strconv.Atoi(c.lease.ResourceVersion)
		c.lease = lease.DeepCopy()
		c.lease.ResourceVersion = strconv.Itoa(version + 1)
		return err
	})
}

type podClient struct {
	corev1.PodInterface
	*connection
}

func (p podClient) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ meta.PatchOptions, _ ...string) (*core.Pod, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	if p.labels == nil {
		p.labels = map[string]string{}
	}
	p.labels[name] = string(data)
	return &core.Pod{}, nil
}

func contender(c *cluster, name string) (*Election, *connection) {
	reach := &connection{cluster: c}
	return &Election{
		Leases: reach, Pods: reach, Namespace: "kalypso", Lease: DefaultLease, Pod: name, Holder: name, Length: DefaultElectionLength,
		Log: slog.New(slog.DiscardHandler),
	}, reach
}

// terms is work that notes who works when, and fails the test when two do at the
// same time.
type terms struct {
	*testing.T
	mu      sync.Mutex
	working []string
	began   []string
}

func (w *terms) of(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		w.mu.Lock()
		w.working, w.began = append(w.working, name), append(w.began, name)
		if len(w.working) > 1 {
			w.Errorf("at the same time: %q", w.working)
		}
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.working = slices.DeleteFunc(w.working, func(n string) bool { return n == name })
		return context.Cause(ctx)
	}
}

func (w *terms) now() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.working, " ")
}

// contend runs an election until stop, which returns when it has ended.
func contend(t *testing.T, e *Election, work func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx, work) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v", e.Holder, err)
		}
	}
}

// until lets time pass, a second at a time, until now works, and returns how
// long that took.
func (w *terms) until(now string, most time.Duration) time.Duration {
	w.Helper()
	start := time.Now()
	for synctest.Wait(); w.now() != now; synctest.Wait() {
		if time.Since(start) > most {
			w.Fatalf("%q works after %s, not %q", w.now(), time.Since(start), now)
		}
		time.Sleep(time.Second)
	}
	return time.Since(start)
}

func TestOneLeadsAndTheOtherTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := &cluster{}, &terms{T: t}
		a, _ := contender(c, "a")
		b, _ := contender(c, "b")
		stopA := contend(t, a, w.of("a"))
		w.until("a", time.Second)
		stopB := contend(t, b, w.of("b"))
		time.Sleep(10 * time.Minute)
		w.until("a", 0)
		if s, o := a.Status(), b.Status(); !s.Held || o.Held || s.Holder != "a" || o.Holder != "a" || s.Error+o.Error != "" {
			t.Errorf("%+v and %+v", s, o)
		}
		if pods := c.labelled(); !slices.Equal(pods, []string{"a"}) {
			t.Errorf("labelled are %q", pods)
		}
		stopA()
		if took := w.until("b", DefaultElectionLength); took > 5*time.Second {
			t.Errorf("b began %s after a's orderly end", took)
		}
		synctest.Wait()
		if pods := c.labelled(); !slices.Contains(pods, "b") {
			t.Errorf("labelled are %q", pods)
		}
		again, _ := contender(c, "a")
		stopA = contend(t, again, w.of("a")) // the container was started again
		time.Sleep(3 * time.Minute)
		w.until("b", 0)
		if pods := c.labelled(); !slices.Equal(pods, []string{"b"}) {
			t.Errorf("labelled are %q", pods)
		}
		stopB()
		w.until("a", DefaultElectionLength)
		stopA()
		if c.leader() != "" {
			t.Errorf("the lease is still held by %s", c.leader())
		}
	})
}

// TestLeaderThatIsCutOff cannot reach the API server any more: its work ends
// before that of the other begins, which is within the election's length. It
// stands by when it can reach the server again.
func TestLeaderThatIsCutOff(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"refused": func(context.Context) error { return errors.New("no route to the API server") },
		"hangs": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, DefaultElectionLength/6) // as in NewElection
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, w := &cluster{}, &terms{T: t}
				a, reach := contender(c, "a")
				b, _ := contender(c, "b")
				stopA := contend(t, a, w.of("a"))
				w.until("a", time.Second)
				stopB := contend(t, b, w.of("b"))
				time.Sleep(time.Minute)
				reach.cut(fail)
				if took := w.until("b", DefaultElectionLength); took < DefaultElectionLength/2 {
					t.Errorf("b took over after %s: a request that is late costs the lead", took)
				}
				if s := a.Status(); s.Held || s.Error == "" {
					t.Errorf("a: %+v", s)
				}
				reach.cut(nil)
				time.Sleep(time.Minute)
				w.until("b", 0)
				if s := a.Status(); s.Held || s.Holder != "b" || s.Error != "" {
					t.Errorf("a: %+v", s)
				}
				if pods := c.labelled(); !slices.Equal(pods, []string{"b"}) {
					t.Errorf("labelled are %q", pods)
				}
				stopB()
				stopA()
			})
		})
	}
}

// TestWorkThatDoesNotEnd keeps the lease from being given up.
func TestWorkThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := &cluster{}, &terms{T: t}
		a, _ := contender(c, "a")
		b, _ := contender(c, "b")
		stopping, hold := make(chan struct{}), make(chan struct{})
		stopA := contend(t, a, func(ctx context.Context) error {
			<-ctx.Done()
			close(stopping)
			<-hold
			return context.Cause(ctx)
		})
		synctest.Wait()
		stopB := contend(t, b, w.of("b"))
		go stopA()
		<-stopping
		time.Sleep(10 * time.Minute)
		if w.now() != "" {
			t.Errorf("%s works while the other's work goes on", w.now())
		}
		close(hold)
		w.until("b", DefaultElectionLength)
		stopB()
	})
}

// TestManyBeginTogether: one works, and when it ends, one of the others.
func TestManyBeginTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := &cluster{}, &terms{T: t}
		stops := map[string]func(){}
		for i := range 5 {
			name := fmt.Sprint("c", i)
			e, _ := contender(c, name)
			stops[name] = contend(t, e, w.of(name))
		}
		for range 5 {
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			now := w.now()
			if stops[now] == nil {
				t.Fatalf("%q works", now)
			}
			stops[now]()
			delete(stops, now)
		}
		if len(w.began) != 5 {
			t.Errorf("terms of %q", w.began)
		}
	})
}

// elected starts a Controller of which one in the cluster works.
func elected(t *testing.T, f *forgefake.Forge, c *cluster, name string) (r *running, reach *connection, stop func()) {
	e, reach := contender(c, name)
	r = newRunning(t, f, func(o *Options) { o.Election = e })
	return r, reach, contend(t, e, r.Controller.Run)
}

// TestTwoSchedulers: one works, the other takes over when the first one is
// killed, and the forge looks as if one had done all.
func TestTwoSchedulers(t *testing.T) {
	alone := newPlatform("dev", "stage")
	bubble(t, alone, nil, func(r *running) {
		r.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		r.pass(time.Minute)
		r.push(platform, "stage", map[string]string{"config.yaml": config("north")})
		r.pass(time.Minute)
	})
	f, c := newPlatform("dev", "stage"), &cluster{}
	synctest.Test(t, func(t *testing.T) {
		a, reach, stopA := elected(t, f, c, "a")
		a.pass(time.Second)
		b, _, stopB := elected(t, f, c, "b")
		b.pass(time.Minute)
		if s := a.Status(); len(s.Environments) != 2 || s.ControlPlane.Lease == nil || !s.ControlPlane.Lease.Held {
			t.Errorf("a: %+v", s)
		}
		a.wantReady(http.StatusOK, "ok")
		if s := b.Status(); len(s.Environments) != 0 || s.ControlPlane.Lease == nil || s.ControlPlane.Lease.Held || s.ControlPlane.Lease.Holder != "a" {
			t.Errorf("b: %+v", s)
		}
		b.wantReady(http.StatusOK, "ok")
		if text := b.metrics("kalypso_leads"); text != "kalypso_leads{control_plane=\"acme/platform@main\"} 0\n" {
			t.Error(text)
		}

		t.Log("a webhook that comes to the one that stands by is refused, and found by the other")
		b.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		body := webhook(t, "push", platform, "dev")
		if code := answered(b.Handler(), signed("push", body)); code != http.StatusServiceUnavailable {
			t.Errorf("answered %d", code)
		}
		if text := b.metrics("kalypso_webhooks_total"); text != "kalypso_webhooks_total{outcome=\"lost\"} 1\n" {
			t.Error(text)
		}
		runs := a.status("dev").Runs
		a.pass(DefaultPoll + time.Second)
		if got := a.status("dev").Runs; got != runs+1 {
			t.Errorf("%d runs of the leader, want %d", got, runs+1)
		}

		t.Log("a is killed: it does nothing more, and cannot give up the lease")
		reach.cut(func(context.Context) error { return errors.New("killed") })
		stopA()
		b.push(platform, "stage", map[string]string{"config.yaml": config("north")})
		b.pass(DefaultElectionLength)
		if s := b.Status(); len(s.Environments) != 2 || !s.ControlPlane.Lease.Held || b.status("stage").Runs != 1 {
			t.Errorf("b has not taken over: %+v", s)
		}
		b.wantReady(http.StatusOK, "ok")
		if text := b.metrics("kalypso_leads"); text != "kalypso_leads{control_plane=\"acme/platform@main\"} 1\n" {
			t.Error(text)
		}
		stopB()
	})
	if diff := cmp.Diff(seen(alone), seen(f)); diff != "" {
		t.Errorf("differs from what one does (-one +two):\n%s", diff)
	}
}

// TestLosingTheLeadStopsTheRun: a run that goes on writes nothing more.
func TestLosingTheLeadStopsTheRun(t *testing.T) {
	f, c := newPlatform("dev"), &cluster{}
	synctest.Test(t, func(t *testing.T) {
		a, reach, stop := elected(t, f, c, "a")
		a.pass(time.Second)
		hung := make(chan struct{})
		f.OnCall(func(c forgefake.Call) {
			if c.Method == "Read" && c.Repo == forgefake.URL(gitOps) {
				time.Sleep(5 * time.Minute) // as long as a forge may take
				close(hung)
			}
		})
		a.push(platform, "dev", map[string]string{"config.yaml": config("west")})
		a.notify("push", platform, "dev")
		reach.cut(func(context.Context) error { return errors.New("no route to the API server") })
		<-hung
		f.OnCall(nil)
		f.Calls()
		synctest.Wait()
		if calls := f.Calls(); slices.ContainsFunc(calls, func(c forgefake.Call) bool { return c.Write }) {
			t.Errorf("went on: %+v", calls)
		}
		if text := a.metrics("kalypso_leads"); text != "kalypso_leads{control_plane=\"acme/platform@main\"} 0\n" {
			t.Error(text)
		}
		a.wantReady(http.StatusServiceUnavailable, "the lease cannot be read")
		stop()
	})
}

func TestElectionIsConfigured(t *testing.T) {
	text := func(more string) []byte { return []byte(strings.Replace(goodConfig, "poll: 10s", more, 1)) }
	for _, more := range []string{"leaderElection:", "leaderElection: {}", "leaderElection: {length: 30s, lease: other, advertiseEnv: U}"} {
		c, err := ParseConfig("c.yaml", text(more))
		if err != nil || c.LeaderElection == nil {
			t.Fatalf("%s: %+v, %v", more, c, err)
		}
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		var log strings.Builder
		if e, err := c.election(slog.New(slog.NewTextHandler(&log, nil))); e != nil || err != nil || strings.Count(log.String(), "level=WARN") != 1+strings.Count(more, "advertiseEnv") {
			t.Errorf("outside of Kubernetes: %+v, %v, %s", e, err, log.String())
		}
		t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
		t.Setenv("KUBERNETES_SERVICE_PORT", "1")
		if e, err := c.election(slog.New(slog.DiscardHandler)); e != nil || err == nil {
			t.Errorf("in Kubernetes without the account's token: %+v, %v", e, err)
		}
	}
	if a, b := newHolder(), newHolder(); a == b {
		t.Errorf("two are called %s", a)
	}
}

// TestTwoProcessesServeOneConfiguration: the second one ends with an error that
// names the file, and can begin when the first has ended.
func TestTwoProcessesServeOneConfiguration(t *testing.T) {
	t.Setenv("FORGE_TOKEN", "t")
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	text := "forge: {type: gitea, url: http://127.0.0.1:1, tokenEnv: FORGE_TOKEN}\ncontrolPlane: {repo: http://127.0.0.1:1/acme/cp}\nlisten: 127.0.0.1:0\nwebhookSecret: s\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(ctx context.Context, log io.Writer) error {
		return Serve(ctx, c, slog.New(slog.NewTextHandler(log, nil)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	listens, log := io.Pipe()
	ended := make(chan error, 1)
	go func() { defer log.Close(); ended <- serve(ctx, log) }()
	if _, err := listens.Read(make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, listens) }()
	if err := serve(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the second process: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(over, io.Discard); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}
