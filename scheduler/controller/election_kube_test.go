package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

// manifest reads an object of deploy/kubernetes.
func manifest[T any](t *testing.T, file string) *T {
	t.Helper()
	data, err := os.ReadFile("../../deploy/kubernetes/" + file)
	object := new(T)
	if err == nil {
		err = yaml.UnmarshalStrict(data, object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// TestElectionOnKubernetes holds elections on a real API server, with the rights
// that deploy/kubernetes gives: one of two is cut off, and the other takes over
// within the election's length.
func TestElectionOnKubernetes(t *testing.T) {
	kubeconfig := os.Getenv("KALYPSO_TEST_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("KALYPSO_TEST_KUBECONFIG names no cluster")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	space, err := admin.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{GenerateName: "kalypso-election-"}}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := space.Name
	defer func() { // ctx may be over; who looks at the cluster next is to find nothing of this
		namespaces := admin.CoreV1().Namespaces()
		if err := namespaces.Delete(context.Background(), name, meta.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := retry.Until(context.Background(), "the end of namespace "+name, time.Minute, func(ctx context.Context) error {
			_, err := namespaces.Get(ctx, name, meta.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is still there (%w)", cmp.Or(err, errors.New("being deleted")))
		}); err != nil {
			t.Error(err)
		}
	}()
	account := manifest[core.ServiceAccount](t, "serviceaccount.yaml")
	binding := manifest[rbac.RoleBinding](t, "rolebinding.yaml")
	binding.Subjects[0].Namespace = name
	_, failedAccount := admin.CoreV1().ServiceAccounts(name).Create(ctx, account, meta.CreateOptions{})
	_, failedRole := admin.RbacV1().Roles(name).Create(ctx, manifest[rbac.Role](t, "role.yaml"), meta.CreateOptions{})
	_, failedBinding := admin.RbacV1().RoleBindings(name).Create(ctx, binding, meta.CreateOptions{})
	if err := errors.Join(failedAccount, failedRole, failedBinding); err != nil {
		t.Fatal(err)
	}

	w := &terms{T: t}
	contend := func(holder string) (cut *atomic.Bool, stop func()) {
		pod := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: holder}, Spec: core.PodSpec{
			ServiceAccountName: account.Name, SchedulerName: "none", Containers: []core.Container{{Name: "scheduler", Image: "none"}},
		}}
		if _, err := admin.CoreV1().Pods(name).Create(ctx, pod, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		cut = new(atomic.Bool)
		own := rest.CopyConfig(config)
		own.Impersonate.UserName = "system:serviceaccount:" + name + ":" + account.Name
		own.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if cut.Load() {
					return nil, errors.New("no route to the API server")
				}
				return next.RoundTrip(r)
			})
		})
		e := &Election{Namespace: name, Lease: DefaultLease, Pod: holder, Holder: holder, Length: minElectionLength, Log: slog.New(slog.DiscardHandler)}
		var err error
		if e.Leases, err = coordinationv1.NewForConfig(own); err != nil {
			t.Fatal(err)
		}
		if e.Pods, err = corev1.NewForConfig(own); err != nil {
			t.Fatal(err)
		}
		running, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- e.Run(running, w.of(holder)) }()
		return cut, func() {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s ended with %v", holder, err)
			}
		}
	}
	leads := func(holder string, within time.Duration) {
		t.Helper()
		labelled := meta.ListOptions{LabelSelector: LeaderLabel + "=true"}
		deadline := time.After(within)
		for {
			pods, err := admin.CoreV1().Pods(name).List(ctx, labelled)
			if err == nil && w.now() == holder && slices.ContainsFunc(pods.Items, func(p core.Pod) bool { return p.Name == holder }) {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("%q works after %s, not %q: %v", w.now(), within, holder, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	cutA, stopA := contend("a")
	leads("a", 5*time.Second)
	_, stopB := contend("b")
	cutA.Store(true)
	leads("b", minElectionLength)
	cutA.Store(false)
	stopB()
	leads("a", minElectionLength)
	stopA()
	lease, err := admin.CoordinationV1().Leases(name).Get(ctx, DefaultLease, meta.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("in the end the lease is %+v, %v", lease, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
