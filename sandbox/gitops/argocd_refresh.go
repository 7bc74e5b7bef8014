package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	// refreshAnnotation makes Argo CD look at the repository at once, and is
	// taken away when it has
	// (argo-cd.readthedocs.io/en/stable/user-guide/annotations-and-labels).
	refreshAnnotation = "argocd.argoproj.io/refresh"

	refreshPoll     = 100 * time.Millisecond
	refreshAttempts = 3
)

var refreshPatch = []byte(`{"metadata":{"annotations":{"` + refreshAnnotation + `":"normal"}}}`)

// RefreshArgoCD makes Argo CD compare every application that follows the
// branch, and returns when each has seen the commit, or has looked three times
// and not found it, which is so when a later one is there already.
//
// The annotation does what Argo CD's webhook would do in the end, with less in
// between: it needs no address and no secret, and one that is set while Argo CD
// is down is found when it comes back. Its trap is that Argo CD takes it away
// at the end of a comparison: asked twice within one, it has looked only once,
// perhaps before the second push. So the commit it has seen is what counts.
func RefreshArgoCD(ctx context.Context, c *cluster.Client, repository, branch, commit string) error {
	all, err := c.Resource(applicationKind, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var asked []refresh
	var failed []error
	for _, o := range list.Items {
		if !appFollows(&o, repository, branch) {
			continue
		}
		one, err := c.Resource(applicationKind, o.GetNamespace())
		if err != nil {
			return err
		}
		r := refresh{applications: one, name: o.GetName(), commit: commit}
		if err := r.ask(ctx); err != nil {
			failed = append(failed, err)
			continue
		}
		asked = append(asked, r)
	}
	for _, r := range asked {
		if err := r.seen(ctx); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// refresh is one application that must see one commit.
type refresh struct {
	applications dynamic.ResourceInterface
	name, commit string
}

func (r refresh) ask(ctx context.Context) error {
	_, err := r.applications.Patch(ctx, r.name, types.MergePatchType, refreshPatch, metav1.PatchOptions{FieldManager: "kalypso-notifier"})
	if err != nil {
		return fmt.Errorf("ask for a refresh of Application %s: %w", r.name, err)
	}
	return nil
}

// seen waits until the application has been compared, and asks again when that
// was without the commit.
func (r refresh) seen(ctx context.Context) error {
	tick := time.NewTicker(refreshPoll)
	defer tick.Stop()
	for attempt := 1; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("Application %s: refresh under way: %w", r.name, ctx.Err())
		case <-tick.C:
		}
		o, err := r.applications.Get(ctx, r.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("Application %s: %w", r.name, err)
		}
		if _, pending := o.GetAnnotations()[refreshAnnotation]; pending {
			continue
		}
		if r.commit == "" || slices.Contains(revisions(o), r.commit) || attempt == refreshAttempts {
			return nil
		}
		attempt++
		if err := r.ask(ctx); err != nil {
			return err
		}
	}
}

// revisions are the commits that the application was last compared with.
func revisions(o *unstructured.Unstructured) []string {
	all, _, _ := unstructured.NestedStringSlice(o.Object, "status", "sync", "revisions")
	one, _, _ := unstructured.NestedString(o.Object, "status", "sync", "revision")
	return append(all, one)
}

// appFollows tells whether a source of the application is that branch. One
// that names no branch follows the repository's default branch, which is not
// known here: it follows any.
func appFollows(o *unstructured.Unstructured, repository, branch string) bool {
	sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
	if one, ok, _ := unstructured.NestedMap(o.Object, "spec", "source"); ok {
		sources = append(sources, one)
	}
	return slices.ContainsFunc(sources, func(s any) bool {
		source, _ := s.(map[string]any)
		url, _ := source["repoURL"].(string)
		revision, _ := source["targetRevision"].(string)
		url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
		revision = strings.TrimPrefix(revision, "refs/heads/")
		return strings.HasSuffix(url, "/"+repository) && (revision == branch || revision == "" || revision == "HEAD")
	})
}
