package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	pokeLimit = 10 * time.Second

	// requestedAt is the annotation whose change makes Flux reconcile at once
	// (fluxcd.io/flux/components/source/gitrepositories, "Triggering a reconcile").
	requestedAt = "reconcile.fluxcd.io/requestedAt"
)

// Notifier hands the forge's pushes to the reconcilers of all clusters, so that
// they fetch at once instead of at their next interval.
type Notifier struct {
	// Followers returns those that may follow the branch that was pushed to; called
	// for each event.
	Followers func() []Follower
	// Others is called first, for virtual clusters and hosts, which have no API; may be
	// nil.
	Others func(repository, branch string)
	Log    *slog.Logger
}

// Follower is a cluster with what makes its reconciler fetch a branch of a
// repository at once: [PokeFlux] or [RefreshArgoCD].
type Follower struct {
	Cluster string
	Client  *cluster.Client
	Poke    func(ctx context.Context, c *cluster.Client, repository, branch, commit string) error
}

// push is what is used of Gitea's push event.
type push struct {
	Ref        string `json:"ref"`
	After      string `json:"after"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

// Notify takes the body of a push webhook, and returns when all reconcilers have
// been asked to fetch.
func (n *Notifier) Notify(body []byte) {
	var p push
	if err := json.Unmarshal(body, &p); err != nil {
		n.Log.Warn("webhook of a push cannot be read", "reason", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pokeLimit)
	defer cancel()
	branch := strings.TrimPrefix(p.Ref, "refs/heads/")
	if n.Others != nil {
		n.Others(p.Repository.FullName, branch)
	}
	var all sync.WaitGroup
	for _, f := range n.Followers() {
		all.Go(func() {
			// a poke that is lost is made up for by the reconciler's own interval
			if err := f.Poke(ctx, f.Client, p.Repository.FullName, branch, p.After); err != nil {
				n.Log.Warn("reconciler not poked", "cluster", f.Cluster, "repository", p.Repository.FullName, "branch", branch, "reason", err)
			}
		})
	}
	all.Wait()
}

// PokeFlux makes Flux fetch every GitRepository that follows the branch.
func PokeFlux(ctx context.Context, c *cluster.Client, repository, branch, commit string) error {
	patch, err := reconcilePatch(commit)
	if err != nil {
		return err
	}
	_, err = patchAll(ctx, c, gitRepository, patch, func(o *unstructured.Unstructured) bool { return follows(o, repository, branch) })
	return err
}

// patchAll merges a patch into all objects of a kind that are picked, and returns
// those into which it could.
func patchAll(ctx context.Context, c *cluster.Client, kind schema.GroupVersionKind, patch []byte, pick func(*unstructured.Unstructured) bool) (patched []*unstructured.Unstructured, err error) {
	all, err := c.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{})
	failed := []error{err}
	for i := range all {
		if !pick(&all[i]) {
			continue
		}
		if err := mergePatch(ctx, c, &all[i], patch); err != nil {
			failed = append(failed, err)
			continue
		}
		patched = append(patched, &all[i])
	}
	return patched, errors.Join(failed...)
}

func mergePatch(ctx context.Context, c *cluster.Client, o *unstructured.Unstructured, patch []byte) error {
	resource, err := c.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err == nil {
		_, err = resource.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kalypso-notifier"})
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

func follows(o *unstructured.Unstructured, repository, branch string) bool {
	url, _, _ := unstructured.NestedString(o.Object, "spec", "url")
	followed, _, _ := unstructured.NestedString(o.Object, "spec", "ref", "branch")
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
	return followed == branch && strings.HasSuffix(url, "/"+repository)
}
