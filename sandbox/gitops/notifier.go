package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	pokeLimit = 10 * time.Second

	// requestedAt is the annotation whose change makes Flux reconcile at once
	// (fluxcd.io/flux/components/source/gitrepositories, "Triggering a reconcile").
	requestedAt = "reconcile.fluxcd.io/requestedAt"
)

// Notifier hands the forge's push webhooks to the reconcilers of all clusters, so
// that they fetch at once instead of at their next interval.
type Notifier struct {
	Secret string // of the webhook
	// Followers returns those that may follow the branch that was pushed to; called
	// for each event.
	Followers func() []Follower
	Log       *slog.Logger
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

// Handler takes push events that are signed with the secret.
func (n *Notifier) Handler() http.Handler {
	return forge.Webhooks(n.Secret, nil, func(w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Header.Get("X-Gitea-Event") != "push" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		var p push
		if err := json.Unmarshal(body, &p); err != nil {
			http.Error(w, "not a push event: "+err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		go n.poke(p)
	})
}

func (n *Notifier) poke(p push) {
	ctx, cancel := context.WithTimeout(context.Background(), pokeLimit)
	defer cancel()
	branch := strings.TrimPrefix(p.Ref, "refs/heads/")
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
	all, err := c.Resource(gitRepository, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		requestedAt: time.Now().UTC().Format(time.RFC3339Nano) + " " + commit,
	}}})
	if err != nil {
		return err
	}
	var failed []error
	for _, o := range list.Items {
		if !follows(&o, repository, branch) {
			continue
		}
		one, err := c.Resource(gitRepository, o.GetNamespace())
		if err == nil {
			_, err = one.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kalypso-notifier"})
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", o.GetName(), err))
		}
	}
	return errors.Join(failed...)
}

func follows(o *unstructured.Unstructured, repository, branch string) bool {
	url, _, _ := unstructured.NestedString(o.Object, "spec", "url")
	followed, _, _ := unstructured.NestedString(o.Object, "spec", "ref", "branch")
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
	return followed == branch && strings.HasSuffix(url, "/"+repository)
}
