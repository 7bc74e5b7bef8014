package publish_test

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// TestTwoControlPlanes: environments of one name that share a branch would undo
// each other's work for ever. The second one gets an error, and nothing is touched.
func TestTwoControlPlanes(t *testing.T) {
	w := newFixture(t, nil)
	publishAs := func(owner string, files map[string]string, problems ...plan.Problem) (publish.Result, error) {
		return publish.Apply(t.Context(), w.forge, w.plan(files, problems...), publish.Options{Owner: owner})
	}
	problem := plan.Problem{Severity: "error", Reason: plan.TemplateFailed, ClusterType: "large", Target: "web-dev", Message: "no value"}
	if _, err := publishAs("acme/one@main", pairFiles("drone", "web-dev", "1"), problem); err != nil {
		t.Fatal(err)
	}
	first := w.forge.AllPullRequests(repo)
	w.forge.Calls()
	_, err := publishAs("acme/two@main", pairFiles("large", "app-dev", "1"))
	if err == nil || !strings.Contains(err.Error(), "acme/one@main") {
		t.Errorf("the second one: %v", err)
	}
	if writes := w.forge.Writes(); len(writes) != 0 {
		t.Errorf("wrote %v", writes)
	}
	if now := w.forge.AllPullRequests(repo); len(now) != 1 || now[0].Body != first[0].Body {
		t.Errorf("pull requests %+v", now)
	}
	if r, err := publishAs("acme/one@main", pairFiles("drone", "web-dev", "1"), problem); err != nil || r.Action != publish.Unchanged {
		t.Errorf("the first one again: %+v, %v", r, err)
	}

	// the first control plane is gone: a user closes its pull request
	closed := func(pr *forge.PullRequest) { pr.State = forge.Closed }
	w.forge.EditPullRequest(repo, 1, closed)
	r, err := publishAs("acme/two@main", pairFiles("large", "app-dev", "1"))
	if err != nil || r.Action != publish.Opened {
		t.Fatalf("after that: %+v, %v", r, err)
	}
	// even when it plans the very same
	w.forge.EditPullRequest(repo, r.PullRequest.Number, closed)
	if r, err := publishAs("acme/three@main", pairFiles("large", "app-dev", "1")); err != nil || r.Action != publish.Opened {
		t.Errorf("another one plans what the last one did: %+v, %v", r, err)
	}
}
