package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	maxEvent  = 8 << 20
	pokeLimit = 10 * time.Second

	// requestedAt is the annotation whose change makes Flux reconcile at once
	// (fluxcd.io/flux/components/source/gitrepositories, "Triggering a reconcile").
	requestedAt = "reconcile.fluxcd.io/requestedAt"
)

// Notifier tells the reconcilers of all clusters about pushes, so that they
// fetch at once instead of at their next interval. It serves the forge's
// webhook, and is a supervisor.Component.
type Notifier struct {
	Address string // on loopback
	Secret  string // of the webhook
	// Clusters are those that follow repositories of the forge; asked at each
	// event.
	Clusters func() []*cluster.Client
	Log      *slog.Logger

	server *http.Server
	ended  chan struct{}
}

// Init does nothing.
func (n *Notifier) Init(context.Context) error { return nil }

// Start listens.
func (n *Notifier) Start(context.Context) error {
	l, err := net.Listen("tcp", n.Address)
	if err != nil {
		return err
	}
	n.server = &http.Server{Handler: n, ReadHeaderTimeout: 10 * time.Second}
	n.ended = make(chan struct{})
	go func() {
		defer close(n.ended)
		if err := n.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			n.Log.Error("notifier ended", "reason", err)
		}
	}()
	return nil
}

// Ready returns nil: a listener takes connections as soon as it is there.
func (n *Notifier) Ready(context.Context) error { return nil }

// Exited is closed when the listener has ended.
func (n *Notifier) Exited() <-chan struct{} { return n.ended }

// Stop closes the listener and waits for requests under way.
func (n *Notifier) Stop(ctx context.Context) error {
	if n.server == nil {
		return nil
	}
	return n.server.Shutdown(ctx)
}

// push is what is used of Gitea's push event.
type push struct {
	Ref        string `json:"ref"`
	After      string `json:"after"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

// ServeHTTP takes a push event that is signed with the secret.
func (n *Notifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		http.Error(w, "cannot read the event: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !forge.Signed(n.Secret, r.Header, body) {
		http.Error(w, "the signature does not match the webhook's secret", http.StatusForbidden)
		return
	}
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
}

func (n *Notifier) poke(p push) {
	ctx, cancel := context.WithTimeout(context.Background(), pokeLimit)
	defer cancel()
	branch := strings.TrimPrefix(p.Ref, "refs/heads/")
	for _, c := range n.Clusters() {
		// a poke that is lost is made up for by the reconciler's own interval
		if err := pokeFlux(ctx, c, p.Repository.FullName, branch, p.After); err != nil {
			n.Log.Warn("reconciler not poked", "repository", p.Repository.FullName, "branch", branch, "reason", err)
		}
	}
}

// pokeFlux makes Flux fetch every GitRepository that follows the branch.
func pokeFlux(ctx context.Context, c *cluster.Client, repository, branch, commit string) error {
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
