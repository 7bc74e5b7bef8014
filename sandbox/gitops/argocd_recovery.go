package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// syncAgainAfter is how long a sync has failed before another one is started.
const syncAgainAfter = 10 * time.Second

// RecoverArgoCD gets those applications going again that Argo CD leaves as they
// are, and returns their names.
//
// A sync that fails is retried a few times, each time with the same commit unless
// the application says otherwise. Until that is over, which takes minutes, no later
// commit is applied: such a sync is ended here. And when it is over, Argo CD never
// tries that commit again, also when the cause has gone, as the end of a namespace
// does: an application that heals itself gets another sync here.
//
// ours picks the applications to look at, by the URL of a repository.
func RecoverArgoCD(ctx context.Context, c *cluster.Client, ours func(url string) bool) (recovered []string, err error) {
	all, err := c.List(ctx, applicationKind, metav1.NamespaceAll, metav1.ListOptions{})
	failed := []error{err}
	for i := range all {
		o := &all[i]
		if !slices.ContainsFunc(appSources(o), func(source map[string]any) bool {
			url, _ := source["repoURL"].(string)
			return ours(url)
		}) {
			continue
		}
		var done bool
		switch {
		case retriesOld(o, comparedRevisions(o)):
			done, err = endSync(ctx, c, o, "a later commit is there")
		case healsTooLittle(o):
			done, err = endSync(ctx, c, o, "more is to be healed")
		case givenUp(o, time.Now()):
			done, err = syncAgain(ctx, c, o)
		default:
			continue
		}
		if done {
			recovered = append(recovered, o.GetName())
		}
		failed = append(failed, err)
	}
	return recovered, errors.Join(failed...)
}

// comparedRevisions are the commits of all sources that the application was last
// compared with.
func comparedRevisions(o *unstructured.Unstructured) []string {
	return commitsIn(o, []string{"status", "sync"})
}

// commitsIn reads the commits of all sources, where there may be one or several.
func commitsIn(o *unstructured.Unstructured, path []string) []string {
	if several, _, _ := unstructured.NestedStringSlice(o.Object, append(slices.Clone(path), "revisions")...); len(several) > 0 {
		return several
	}
	if one, _, _ := unstructured.NestedString(o.Object, append(slices.Clone(path), "revision")...); one != "" {
		return []string{one}
	}
	return nil
}

// attempted are the commits of the last sync.
func attempted(o *unstructured.Unstructured) []string {
	if result := commitsIn(o, []string{"status", "operationState", "syncResult"}); result != nil {
		return result
	}
	return commitsIn(o, []string{"status", "operationState", "operation", "sync"})
}

// retriesOld reports whether a sync goes on that has failed at least once, and is
// of other commits than those. One that is to take the latest knows none at first.
func retriesOld(o *unstructured.Unstructured, commits []string) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "phase")
	retries, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
	_, goesOn := o.Object["operation"]
	of := attempted(o)
	return goesOn && phase == "Running" && retries > 0 && len(of) > 0 && len(commits) > 0 && !slices.Equal(of, commits)
}

// givenUp reports whether Argo CD does not sync an application any more that is to
// be healed.
func givenUp(o *unstructured.Unstructured, now time.Time) bool {
	if _, goesOn := o.Object["operation"]; goesOn || o.GetDeletionTimestamp() != nil {
		return false
	}
	heals, _, _ := unstructured.NestedBool(o.Object, "spec", "syncPolicy", "automated", "selfHeal")
	if enabled, set, _ := unstructured.NestedBool(o.Object, "spec", "syncPolicy", "automated", "enabled"); !heals || set && !enabled {
		return false
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "phase")
	synced, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
	ended, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "finishedAt")
	at, err := time.Parse(time.RFC3339, ended)
	return (phase == "Failed" || phase == "Error") && synced == "OutOfSync" &&
		slices.Equal(attempted(o), comparedRevisions(o)) && err == nil && now.Sub(at) >= syncAgainAfter
}

// healsTooLittle reports whether a sync goes on that has failed at least once, and
// does not apply all that is out of sync by now. One that begins while a namespace
// is still ending applies what was in it, over and over, but not the namespace.
func healsTooLittle(o *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "phase")
	retries, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
	applied, _, _ := unstructured.NestedSlice(o.Object, "operation", "sync", "resources")
	if phase != "Running" || retries == 0 || len(applied) == 0 {
		return false
	}
	key := func(r any) [3]any {
		fields, _ := r.(map[string]any)
		return [3]any{fields["group"], fields["kind"], fields["name"]}
	}
	resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
	return slices.ContainsFunc(resources, func(r any) bool {
		fields, _ := r.(map[string]any)
		return fields["status"] == "OutOfSync" && !slices.ContainsFunc(applied, func(a any) bool { return key(a) == key(r) })
	})
}

// endSync ends the sync that goes on, as Argo CD's API does it. The next
// comparison, which follows at once, starts another one.
func endSync(ctx context.Context, c *cluster.Client, o *unstructured.Unstructured, why string) (bool, error) {
	return patchUnchanged(ctx, c, o, map[string]any{"status": map[string]any{"operationState": map[string]any{
		"phase": "Terminating", "message": why,
	}}})
}

// syncAgain starts a sync as Argo CD itself does.
func syncAgain(ctx context.Context, c *cluster.Client, o *unstructured.Unstructured) (bool, error) {
	prune, _, _ := unstructured.NestedBool(o.Object, "spec", "syncPolicy", "automated", "prune")
	sync := map[string]any{"prune": prune}
	for _, field := range []string{"revision", "revisions"} {
		if v, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "sync", field); ok {
			sync[field] = v
		}
	}
	if v, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "syncPolicy", "syncOptions"); ok {
		sync["syncOptions"] = v
	}
	return patchUnchanged(ctx, c, o, map[string]any{"operation": map[string]any{
		"initiatedBy": map[string]any{"automated": true}, "sync": sync,
	}})
}

// patchUnchanged merges a patch into an object unless it has changed meanwhile;
// then the patch is about what is over.
func patchUnchanged(ctx context.Context, c *cluster.Client, o *unstructured.Unstructured, patch map[string]any) (bool, error) {
	patch["metadata"] = map[string]any{"resourceVersion": o.GetResourceVersion()}
	b, err := json.Marshal(patch)
	if err != nil {
		return false, err
	}
	err = mergePatch(ctx, c, o, b)
	if apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
