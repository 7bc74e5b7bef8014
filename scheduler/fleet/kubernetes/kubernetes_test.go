package kubernetes_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/kubernetes"
)

var (
	repository    = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	application   = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

const objects = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: dev, namespace: flux-system}
spec: {url: "https://forge/gitops", ref: {branch: dev}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: dev, namespace: flux-system}
spec: {path: ./drone, sourceRef: {kind: GitRepository, name: dev}}
`

const path = "kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/dev"

func cluster(t *testing.T, api *kubefake.API) kubernetes.Cluster {
	t.Helper()
	c, err := kubernetes.New("drone", &rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// signs are what a watch says.
type signs chan bool

func (s signs) await(t *testing.T, what string, want bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	last := "nothing"
	for {
		select {
		case got := <-s:
			if got == want {
				return
			}
			last = fmt.Sprint(got)
		case <-deadline:
			t.Fatalf("%s: no %t within 20 s, last %s", what, want, last)
		}
	}
}

// drain takes what is said until nothing is for a moment.
func (s signs) drain() {
	for {
		select {
		case <-s:
		case <-time.After(200 * time.Millisecond):
			return
		}
	}
}

func watch(t *testing.T, c kubernetes.Cluster) (s signs, stop func()) {
	t.Helper()
	s = make(signs, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Watch(ctx, func(connected bool) { s <- connected })
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return s, stop
}

// TestWatch: what changes is said, also when the connection was lost in between.
func TestWatch(t *testing.T) {
	api := kubefake.New(t, repository, kustomization, application)
	api.Put(t, objects)
	c := cluster(t, api)
	s, _ := watch(t, c)
	s.await(t, "begun", true)
	s.drain()
	api.Merge(t, path, "status: {lastAppliedRevision: 'dev@sha1:1'}")
	s.await(t, "changed", true)
	s.drain()
	api.CloseClientConnections()
	s.await(t, "cut off", false)
	s.await(t, "connected again", true)
	s.drain()
	api.Drop(path)
	s.await(t, "gone", true)
}

// TestWatchDenied: where a watch is not allowed it says so again and again, so that the cluster is
// asked all the same.
func TestWatchDenied(t *testing.T) {
	api := kubefake.New(t, repository, kustomization, application)
	api.Denied["watch applications.argoproj.io"] = true
	s, _ := watch(t, cluster(t, api))
	for range 4 { // of the two kinds that may be watched, and tries of the other
		select {
		case connected := <-s:
			if connected {
				t.Fatal("it is not connected as a whole")
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it is not tried again")
		}
	}
}

// TestAbsentKinds: a cluster without Argo CD is connected, and follows what it has.
func TestAbsentKinds(t *testing.T) {
	api := kubefake.New(t, repository, kustomization)
	api.Put(t, objects)
	c := cluster(t, api)
	s, _ := watch(t, c)
	s.await(t, "begun", true)
	found, err := c.Look(t.Context())
	if err != nil || found.Name != "drone" || found.Unknown != "" || len(found.Subscriptions) != 1 || found.Subscriptions[0].Path != "./drone" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestGone: a cluster that does not answer is unknown, and its look says why.
func TestGone(t *testing.T) {
	api := kubefake.New(t)
	c := cluster(t, api)
	api.Close()
	found, err := c.Look(t.Context())
	if err == nil || found.Unknown != err.Error() {
		t.Errorf("%+v, %v", found, err)
	}
	s, stop := watch(t, c)
	s.await(t, "gone", false)
	stop()
	all, err := kubernetes.Clusters{c}.Inventory(t.Context())
	if err != nil || len(all.Clusters) != 1 || all.Clusters[0].Unknown == "" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := (kubernetes.Clusters{c}).Observe(t.Context(), fleet.Source{Repo: "https://forge/gitops", Branch: "dev"}); err == nil {
		t.Error("a cluster that cannot be asked follows nothing")
	}
}
