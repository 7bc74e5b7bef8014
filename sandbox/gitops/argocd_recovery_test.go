package gitops

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/kubefake"
)

// syncing is the application dev of a repository with the state of its last sync.
func syncing(repository, rest, compared, phase, sync string, ended time.Time) string {
	return strings.TrimSuffix(application(repository), "}\n") +
		fmt.Sprintf(", syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [A=b]}}\n%sstatus: {sync: {status: OutOfSync, revision: %s}, operationState: {phase: %s, finishedAt: %q, %s}}\n",
			rest, compared, phase, ended.UTC().Format(time.RFC3339), sync)
}

func TestRecoverArgoCD(t *testing.T) {
	const goesOn = "operation: {sync: {revision: old}}\n"
	const healing = "operation: {sync: {revision: new, resources: [{kind: ConfigMap, name: c}]}}\n"
	const missing = "}, resources: [{version: v1, kind: Namespace, name: x, status: OutOfSync}, {version: v1, kind: ConfigMap, name: c, namespace: x, status: OutOfSync}], rest: {a: b"
	long, now := time.Now().Add(-time.Hour), time.Now()
	const ofOld, ofNew = "syncResult: {revision: old}", "syncResult: {revision: new}"
	for name, c := range map[string]struct {
		object string
		want   map[string]any // of the application, after
	}{
		"an old commit is tried again":           {syncing("gitops", goesOn, "new", "Running", "retryCount: 1, "+ofOld, now), map[string]any{"phase": "Terminating"}},
		"an old commit that was never rendered":  {syncing("gitops", goesOn, "new", "Running", "retryCount: 1, operation: {sync: {revision: old}}", now), map[string]any{"phase": "Terminating"}},
		"the latest commit is about to be tried": {syncing("gitops", goesOn, "new", "Running", "retryCount: 1, operation: {sync: {}}", now), nil},
		"an old commit is being applied":         {syncing("gitops", goesOn, "new", "Running", "retryCount: 0, "+ofOld, now), nil},
		"the present commit is tried again":      {syncing("gitops", goesOn, "new", "Running", "retryCount: 1, "+ofNew, now), nil},
		"the namespace is not healed":            {syncing("gitops", healing, "new", "Running", "retryCount: 1, "+ofNew+missing, now), map[string]any{"phase": "Terminating"}},
		"all is healed":                          {syncing("gitops", strings.Replace(healing, "}]", "}, {kind: Namespace, name: x}]", 1), "new", "Running", "retryCount: 1, "+ofNew+missing, now), nil},
		"given up":                               {syncing("gitops", "", "new", "Failed", ofNew, long), map[string]any{"revision": "new"}},
		"failed a moment ago":                    {syncing("gitops", "", "new", "Failed", ofNew, now), nil},
		"failed before the present commit":       {syncing("gitops", "", "new", "Failed", ofOld, long), nil},
		"succeeded, and something else is wrong": {syncing("gitops", "", "new", "Succeeded", ofNew, long), nil},
		"does not heal":                          {strings.Replace(syncing("gitops", "", "new", "Failed", ofNew, long), "selfHeal: true", "selfHeal: false", 1), nil},
		"switched off":                           {strings.Replace(syncing("gitops", "", "new", "Failed", ofNew, long), "selfHeal: true", "selfHeal: true, enabled: false", 1), nil},
		"of another forge":                       {syncing("theirs", "", "new", "Failed", ofNew, long), nil},
	} {
		t.Run(name, func(t *testing.T) {
			api := kubefake.New(t, applicationKind)
			api.Put(t, c.object)
			api.Writes = nil
			recovered, err := RecoverArgoCD(t.Context(), api.Client(t), func(url string) bool { return !strings.HasSuffix(url, "/theirs") })
			if err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				if len(recovered)+len(api.Writes) > 0 {
					t.Errorf("recovered %q, wrote %q", recovered, api.Writes)
				}
				return
			}
			if !slices.Equal(recovered, []string{"dev"}) {
				t.Errorf("recovered %q", recovered)
			}
			o := api.Get(t, devPath)
			got := map[string]any{}
			if operation, ok := o["operation"].(map[string]any); ok && c.want["revision"] != nil {
				sync := operation["sync"].(map[string]any)
				got["revision"] = sync["revision"]
				if diff := cmp.Diff(map[string]any{"revision": "new", "prune": true, "syncOptions": []any{"A=b"}}, sync); diff != "" {
					t.Error(diff)
				}
			} else {
				got["phase"] = o["status"].(map[string]any)["operationState"].(map[string]any)["phase"]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A push ends the retries of the commit before it at once.
func TestRefreshArgoCDEndsRetriesOfAnOldCommit(t *testing.T) {
	api, refresh := comparing(t, "new")
	api.Put(t, syncing("gitops", "operation: {sync: {revision: old}}\n", "old", "Running", "retryCount: 2, syncResult: {revision: old}", time.Now()))
	ended := false
	api.Written = func(path string, o map[string]any) {
		status := o["status"].(map[string]any)
		state := status["operationState"].(map[string]any)
		if state["phase"] == "Terminating" {
			ended = true
			state["phase"] = "Failed"
			delete(o, "operation")
			delete(o["metadata"].(map[string]any), "annotations")
			status["sync"] = map[string]any{"revision": "new"}
		}
	}
	if err := refresh(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	if !ended {
		t.Error("the sync of the old commit goes on")
	}
}
