package gitops

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

var errNotCompared = errors.New("not compared with the repository yet")

// inCluster is how an application names the cluster that Argo CD runs for.
const inCluster = "https://kubernetes.default.svc"

var applicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// ArgoCDSubscription makes a cluster follow folders of GitOps repositories
// with Argo CD, as the tutorial's deploy script does it: a secret for each
// repository, an Application for each branch.
type ArgoCDSubscription struct {
	Repositories []ArgoCDRepository
	Applications []ArgoCDApplication
}

// ArgoCDRepository is a repository that needs credentials, also those of the
// workloads that applications put on the cluster.
type ArgoCDRepository struct {
	URL   string
	User  string
	Token string
}

// ArgoCDApplication is a folder that the cluster follows.
type ArgoCDApplication struct {
	Name   string // the environment's, e.g. dev
	URL    string
	Branch string
	Path   string // the cluster type's, e.g. large
}

// Manifests are the objects that the deploy script makes
// (github.com/microsoft/kalypso/blob/main/deploy/deploy.sh, function
// create_argo_cluster_type). A repository's secret is called after it. Unlike
// there, the credentials go with the first request to it, since git would ask
// a helper program for them after a first refusal.
func (s ArgoCDSubscription) Manifests() ([]byte, error) {
	var objects []map[string]any
	for _, r := range s.Repositories {
		objects = append(objects, r.secret())
	}
	for _, a := range s.Applications {
		objects = append(objects, argoCDObject("argoproj.io/v1alpha1", "Application", a.Name, map[string]any{
			"spec": map[string]any{
				"destination": map[string]any{"server": inCluster, "namespace": ArgoCDNamespace},
				"project":     "default",
				"source": map[string]any{
					"path":           a.Path,
					"repoURL":        a.URL,
					"targetRevision": a.Branch,
					"directory":      map[string]any{"recurse": true, "include": "*.yaml"},
				},
				"syncPolicy": map[string]any{
					"automated":   map[string]any{"prune": true, "selfHeal": true, "allowEmpty": false},
					"syncOptions": []any{"CreateNamespace=true"},
					// without refresh, a commit that cannot be applied keeps the one that
					// mends it waiting until all its retries are over
					"retry": map[string]any{
						"limit": int64(5), "refresh": true,
						"backoff": map[string]any{"duration": "2s", "factor": int64(2), "maxDuration": "5s"},
					},
				},
			},
		}, nil))
	}
	return manifests(objects...)
}

func (r ArgoCDRepository) secret() map[string]any {
	return argoCDObject("v1", "Secret", repositoryName(r.URL), map[string]any{
		"type": "Opaque",
		"stringData": map[string]any{
			"type": "git", "url": r.URL, "username": r.User, "password": r.Token, "forceHttpBasicAuth": "true",
		},
	}, map[string]any{"argocd.argoproj.io/secret-type": "repository"})
}

func repositoryName(url string) string {
	return strings.ToLower(strings.TrimSuffix(path.Base(strings.TrimSuffix(url, "/")), ".git"))
}

// SubscribeArgoCD puts the subscription on the cluster and waits until Argo CD
// has read each application's repository once. The folder itself need not be
// there yet. One that follows the branch of a wave goes on with that.
func SubscribeArgoCD(ctx context.Context, client *cluster.Client, s ArgoCDSubscription, limit time.Duration) error {
	s.Applications = slices.Clone(s.Applications)
	for i := range s.Applications {
		a := &s.Applications[i]
		var err error
		if a.Branch, err = waveOr(ctx, client, a.Branch, applicationKind, ArgoCDNamespace, a.Name, "spec", "source", "targetRevision"); err != nil {
			return err
		}
	}
	m, err := s.Manifests()
	if err != nil {
		return err
	}
	if err := client.Apply(ctx, m); err != nil {
		return err
	}
	for _, a := range s.Applications {
		err := retry.Until(ctx, "Application "+a.Name, limit, func(ctx context.Context) error {
			o, err := client.Get(ctx, applicationKind, ArgoCDNamespace, a.Name)
			if err != nil {
				return err
			}
			return compared(o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compared returns nil when Argo CD has compared the application with its
// repository as it is written now, and the reason when it cannot.
func compared(o *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		kind, _ := m["type"].(string)
		message, _ := m["message"].(string)
		if strings.HasSuffix(kind, "Error") && !strings.Contains(message, "app path does not exist") {
			return fmt.Errorf("%s: %s", kind, message)
		}
	}
	at, _, _ := unstructured.NestedString(o.Object, "status", "reconciledAt")
	want, _, _ := unstructured.NestedMap(o.Object, "spec", "source")
	got, _, _ := unstructured.NestedMap(o.Object, "status", "sync", "comparedTo", "source")
	if at == "" || got["repoURL"] != want["repoURL"] || got["path"] != want["path"] || got["targetRevision"] != want["targetRevision"] {
		return errNotCompared
	}
	return nil
}

const (
	// refreshAnnotation makes Argo CD compare with the repository at once, and is
	// removed after that
	// (argo-cd.readthedocs.io/en/stable/user-guide/annotations-and-labels).
	refreshAnnotation = "argocd.argoproj.io/refresh"

	refreshPoll     = 100 * time.Millisecond
	refreshAttempts = 3
)

var refreshPatch = []byte(`{"metadata":{"annotations":{"` + refreshAnnotation + `":"normal"}}}`)

// RefreshArgoCD makes Argo CD compare every application that follows the
// branch, and returns when each has seen the commit, or has compared three times
// without it, as when a later commit is there already.
//
// The annotation does what Argo CD's webhook would do in the end, but needs no
// address and no secret, and is kept while Argo CD is down. Its trap: Argo CD
// removes it at the end of a comparison, so a second request within that one is
// lost, and with it the second push. So the commit that it has compared counts.
//
// A sync of another commit that fails and is retried would keep this one waiting:
// it is ended.
func RefreshArgoCD(ctx context.Context, c *cluster.Client, repository, branch, commit string) error {
	requested, err := patchAll(ctx, c, applicationKind, refreshPatch, func(o *unstructured.Unstructured) bool { return appFollows(o, repository, branch) })
	failed := []error{err}
	for _, o := range requested {
		failed = append(failed, refreshed(ctx, c, o, commit))
	}
	return errors.Join(failed...)
}

// refreshed waits until an application has been compared, and requests another
// comparison when that was without the commit.
func refreshed(ctx context.Context, c *cluster.Client, application *unstructured.Unstructured, commit string) error {
	attempt := 1
	return retry.Until(ctx, "refresh of Application "+application.GetName(), pokeLimit, func(ctx context.Context) error {
		o, err := c.Get(ctx, applicationKind, application.GetNamespace(), application.GetName())
		if err != nil {
			return retry.Permanent(err)
		}
		if commit != "" && len(appSources(o)) == 1 && retriesOld(o, []string{commit}) {
			if _, err := endSync(ctx, c, o, "a later commit is there"); err != nil {
				return retry.Permanent(err)
			}
		}
		if _, pending := o.GetAnnotations()[refreshAnnotation]; pending {
			return errNotCompared
		}
		if commit == "" || slices.Contains(revisions(o), commit) || attempt == refreshAttempts {
			return nil
		}
		attempt++
		if err := mergePatch(ctx, c, o, refreshPatch); err != nil {
			return retry.Permanent(err)
		}
		return fmt.Errorf("compared without the commit %s", commit)
	}, retry.Every(refreshPoll))
}

// revisions are the commits that the application was last compared with.
func revisions(o *unstructured.Unstructured) []string {
	all, _, _ := unstructured.NestedStringSlice(o.Object, "status", "sync", "revisions")
	one, _, _ := unstructured.NestedString(o.Object, "status", "sync", "revision")
	return append(all, one)
}

// appFollows reports whether a source of the application is that branch. One
// that names no branch follows the repository's default branch, which is not
// known here: it follows any.
func appFollows(o *unstructured.Unstructured, repository, branch string) bool {
	return slices.ContainsFunc(appSources(o), func(source map[string]any) bool {
		url, _ := source["repoURL"].(string)
		revision, _ := source["targetRevision"].(string)
		url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
		revision = strings.TrimPrefix(revision, "refs/heads/")
		return strings.HasSuffix(url, "/"+repository) && (revision == branch || revision == "" || revision == "HEAD")
	})
}

// appSources are the folders of repositories that an application is made of.
func appSources(o *unstructured.Unstructured) []map[string]any {
	several, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
	if one, ok, _ := unstructured.NestedMap(o.Object, "spec", "source"); ok {
		several = append(several, one)
	}
	var all []map[string]any
	for _, s := range several {
		if source, ok := s.(map[string]any); ok {
			all = append(all, source)
		}
	}
	return all
}
