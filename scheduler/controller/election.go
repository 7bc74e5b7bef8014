package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

const (
	// DefaultElectionLength is how long a leader may be silent when the
	// configuration does not say.
	DefaultElectionLength = 20 * time.Second
	minElectionLength     = 15 * time.Second
	// DefaultLease is the name of the Lease when the configuration does not say.
	DefaultLease = "kalypso-scheduler"

	// LeaderLabel is on the pods: "true" on that of the scheduler that leads, for
	// the Service that webhooks come through.
	LeaderLabel = "scheduler.kalypso.io/leader"
	// namespaceFile has the pod's namespace (kubernetes.io/docs/tasks/run-application/access-api-from-pod).
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// Election chooses one of several schedulers by a Lease in Kubernetes: one works,
// the others stand by. A leader that cannot renew the Lease stops its work before
// another may begin, and one that ends gives the Lease up when its work has
// ended. Make one with NewElection or by the fields.
type Election struct {
	Leases    coordinationv1.LeasesGetter
	Pods      corev1.PodsGetter
	Namespace string
	Lease     string
	Pod       string        // that gets LeaderLabel; "" for none
	Holder    string        // what this scheduler is called; unique
	Length    time.Duration // after which another takes over
	Log       *slog.Logger

	mu     sync.Mutex
	status LeaseStatus
}

// LeaseStatus is what is known of the Lease.
type LeaseStatus struct {
	Held   bool      `json:"held"`             // by this scheduler
	Holder string    `json:"holder,omitempty"` // the leader's name
	Since  time.Time `json:"since"`            // when Held changed last
	Error  string    `json:"error,omitempty"`  // why the Lease could not be read or written
}

// NewElection returns the election of a process in a pod, or
// rest.ErrNotInCluster outside of Kubernetes. POD_NAME names the pod.
func NewElection(c LeaderElectionConfig, log *slog.Logger) (*Election, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("leader election: %w (the pod needs its account's token, and the account the rights in deploy/kubernetes)", err)
	}
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	e := &Election{
		Namespace: strings.TrimSpace(string(namespace)), Pod: os.Getenv("POD_NAME"), Holder: newHolder(),
		Lease: cmp.Or(c.Lease, DefaultLease), Length: cmp.Or(c.Length, DefaultElectionLength), Log: log,
	}
	config.Timeout = e.Length / 6 // so that a request that hangs can be repeated before the Lease is lost
	if e.Leases, err = coordinationv1.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	if e.Pods, err = corev1.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return e, nil
}

// newHolder is a name for this process that no other has.
func newHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "scheduler"
	}
	return fmt.Sprintf("%s-%d-%.6s", host, os.Getpid(), rand.Text())
}

// Status returns what is known now.
func (e *Election) Status() LeaseStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *Election) change(do func(*LeaseStatus)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.status.Held
	do(&e.status)
	if e.status.Held != held || e.status.Since.IsZero() {
		e.status.Since = time.Now()
	}
}

// standsBy reports whether another scheduler is to work, and the Lease.
func (c *Controller) standsBy() (LeaseStatus, bool) {
	if c.options.Election == nil {
		return LeaseStatus{}, false
	}
	s := c.options.Election.Status()
	return s, !s.Held
}

// errLost ends the work of a scheduler that holds the Lease no more.
var errLost = errors.New("the lease is lost")

// Run waits for the Lease and works as long as it is held, again and again, until
// ctx ends or work does. The context of work ends, with the reason as its cause,
// before another may begin. Run returns work's error, or the reason that ctx
// ended for.
func (e *Election) Run(ctx context.Context, work func(context.Context) error) error {
	e.change(func(*LeaseStatus) {})
	for {
		err := e.term(ctx, work)
		if !errors.Is(err, errLost) {
			return err
		}
		e.Log.Warn("this scheduler leads no more", "reason", err)
	}
}

// term waits for the Lease and works while it is held.
func (e *Election) term(ctx context.Context, work func(context.Context) error) error {
	// The Lease is held on to until the work has ended, even when ctx ends first.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.FromSlogHandler(e.Log.Handler())))
	defer stop()
	lock := &leaseLock{election: e, Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Lease}, Client: e.Leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Holder},
	}}
	defer context.AfterFunc(ctx, func() {
		if !lock.working.Load() {
			stop()
		}
	})()
	standing, lead := context.WithCancel(ctx)
	defer lead()
	var labelling sync.WaitGroup
	labelling.Go(func() { e.label(standing, false) })
	ended := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock,
		// One that stands by asks every 1 to 2.2 RetryPeriods. It may see the last
		// renewal that late, and the end of LeaseDuration after that as late again.
		LeaseDuration: e.Length * 7 / 10, RenewDeadline: e.Length / 2, RetryPeriod: e.Length / 16,
		Name: e.Lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				lock.working.Store(true)
				defer stop()
				lead()
				labelling.Wait()
				working, end := context.WithCancelCause(ctx)
				defer end(nil)
				defer context.AfterFunc(leading, func() { end(errLost) })()
				labelling.Go(func() { e.label(working, true) })
				e.change(func(s *LeaseStatus) { s.Held, s.Holder, s.Error = true, e.Holder, "" })
				e.Log.Info("this scheduler leads", "holder", e.Holder)
				err := work(working)
				e.change(func(s *LeaseStatus) { s.Held, s.Holder = false, "" })
				ended <- err
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(holder string) { e.change(func(s *LeaseStatus) { s.Holder = holder }) },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elector.Run(electing)
	if !lock.taken {
		return context.Cause(ctx)
	}
	err = <-ended
	labelling.Wait()
	if !errors.Is(err, errLost) {
		lock.release(ctx)
	}
	return err
}

// label sets LeaderLabel on the pod, and repeats that until it succeeds.
func (e *Election) label(ctx context.Context, leads bool) {
	if e.Pod == "" {
		return
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"%t"}}}`, LeaderLabel, leads)
	warned := false
	_ = wait.PollUntilContextCancel(ctx, e.Length/12, true, func(ctx context.Context) (bool, error) {
		_, err := e.Pods.Pods(e.Namespace).Patch(ctx, e.Pod, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !warned && ctx.Err() == nil {
			warned = true
			e.Log.Warn("the pod cannot be labelled, by which the Service knows the leader", "pod", e.Pod, "label", LeaderLabel, "error", err)
		}
		return err == nil, nil
	}) // fails when ctx ends
}

// leaseLock is a Lease whose errors are seen in the status.
type leaseLock struct {
	resourcelock.Interface
	election *Election
	taken    bool
	working  atomic.Bool
}

// release gives the Lease up. The library's own release would come before the
// work has ended where renewing has failed, and can take as long as that.
func (l *leaseLock) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.election.Length/4)
	defer cancel()
	record, _, err := l.Get(ctx)
	if err == nil && record.HolderIdentity == l.Identity() {
		now := metav1.Now()
		err = l.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	}
	if err != nil {
		l.election.Log.Warn("the lease cannot be given up: another scheduler begins when it expires", "error", err)
	}
}

func (l *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if !apierrors.IsNotFound(err) {
		l.report(err)
	}
	return record, raw, err
}

func (l *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(l.Interface.Create(ctx, record))
}

func (l *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(l.Interface.Update(ctx, record))
}

func (l *leaseLock) wrote(err error) error {
	l.taken = l.taken || err == nil
	l.report(err)
	return err
}

func (l *leaseLock) report(err error) {
	l.election.change(func(s *LeaseStatus) {
		if s.Error = ""; err != nil {
			s.Error = err.Error()
		}
	})
}
