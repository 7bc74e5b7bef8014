package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

const (
	mergeCommit  = "1111111111111111111111111111111111111111"
	sourceCommit = "2222222222222222222222222222222222222222"
)

// withChanges applies a change of the platform that has come to one of two clusters of the type
// cloud, and one of a team's application that is open.
func (h *hub) withChanges() (platform, application api.Change) {
	h.Helper()
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	on := func(cluster, clusterType string, state store.ChangeState) store.ChangeCluster {
		return store.ChangeCluster{Cluster: cluster, ClusterType: clusterType, Subscription: "flux-system/dev", State: state, Reason: reason, Since: at.Add(time.Minute)}
	}
	h.apply(store.Round{At: time.Now(), Changes: []store.Change{
		{
			Environment: "dev", Repo: "https://forge/gitops", Branch: "dev", Kind: "platform", PullRequest: 7, SHA: mergeCommit, Head: mergeCommit, Title: "dev: <b>1 assignment</b>",
			Author: "bot", MergedBy: "ada", URL: "https://forge/pr/7", Size: &store.Size{Added: 1, Removed: 2}, Stages: store.Stages{Pushed: at.Add(-time.Hour), Opened: at.Add(-time.Minute), Merged: at},
			Sources:  []store.SourceCommit{{Repo: "https://forge/platform", SHA: sourceCommit, Author: "Ann \x1b[31m", Subject: "a label", At: at.Add(-time.Hour), URL: "https://forge/c"}},
			Clusters: []store.ChangeCluster{on("large", "cloud", store.ClusterFailing), on("small", "cloud", store.ClusterApplied), on("drone", "edge", store.ClusterApplied)},
		},
		{
			Environment: "dev", Repo: "https://forge/app", Branch: "dev", Kind: "application", PullRequest: 3, SHA: "abcdef0123", Head: "abcdef0123", Title: "web 1.2.3", Author: "ci",
			State: "open", Reason: "waits for a review", Stages: store.Stages{Opened: at.Add(-time.Hour)},
		},
	}})
	list := get[api.List[api.Change]](h, "/api/v1/changes")
	if len(list.Items) != 2 || *list.Total != 2 || list.AsOf.IsZero() {
		h.Fatalf("%+v", list)
	}
	return list.Items[0], list.Items[1]
}

func TestChanges(t *testing.T) {
	h := newHub(t)
	platform, application := h.withChanges()
	if platform.State != "failing" || platform.Reached != 2 || platform.Failing != 1 || platform.Total != 3 || *platform.Size != (api.ChangeSize{Added: 1, Removed: 2}) ||
		platform.Stages.Merged.IsZero() || !platform.Stages.Planned.IsZero() || platform.MergedBy != "ada" || len(platform.Sources) != 1 || platform.Sources[0].Author != "Ann [31m" {
		t.Errorf("%+v", platform)
	}
	if application.State != "open" || application.Size != nil || application.PullRequest != 3 || len(application.Sources) != 0 {
		t.Errorf("%+v", application)
	}
	for query, want := range map[string]int{
		"env=dev": 2, "env=stage": 0, "kind=application": 1, "kind=application&kind=platform": 2, "state=failing": 1, "state=open&kind=platform": 0, "q=WEB": 1, "q=" + sourceCommit[:7]: 1,
		"q=" + mergeCommit: 1, "q=bot": 1, "q=nobody": 0, "limit=1": 1,
	} {
		if list := get[api.List[api.Change]](h, "/api/v1/changes?"+query); len(list.Items) != want {
			t.Errorf("%s: %d changes, want %d", query, len(list.Items), want)
		}
	}
	d := get[api.ChangeDetail](h, fmt.Sprintf("/api/v1/changes/%d", platform.ID))
	if len(d.Lanes) != 2 || d.Lanes[0].ClusterType != "cloud" || d.Lanes[0].Total != 2 || d.Lanes[0].Reached != 1 || !d.Lanes[0].Applied.IsZero() || d.Lanes[1].Applied.IsZero() || d.Next != nil || d.Title != platform.Title {
		t.Errorf("%+v", d)
	}
	clusters := get[api.List[api.ChangeCluster]](h, fmt.Sprintf("/api/v1/changes/%d/clusters", platform.ID))
	if len(clusters.Items) != 3 || clusters.Items[0].Cluster != "large" || clusters.Items[0].State != "failing" || strings.Contains(clusters.Items[0].Reason, "\x1b") {
		t.Errorf("%+v", clusters)
	}
	if list := get[api.List[api.ChangeCluster]](h, fmt.Sprintf("/api/v1/changes/%d/clusters?clusterType=edge", platform.ID)); len(list.Items) != 1 {
		t.Errorf("%+v", list)
	}
	csv := h.do(http.MethodGet, "/api/v1/changes?format=csv", "")
	if lines := strings.Split(strings.TrimSpace(string(csv.body)), "\n"); len(lines) != 3 || !strings.Contains(lines[1], "https://forge/platform@"+sourceCommit) {
		t.Errorf("%s", csv.body)
	}

	// the scope is one of each query, and what is out of it is not told from what is not there
	other := h.token("other", api.Viewer, store.Scope{Workspaces: []string{"team-b"}, Environments: []string{"stage"}})
	if list := get[api.List[api.Change]](h, "/api/v1/changes", as(other)); len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
	for _, path := range []string{"", "/clusters"} {
		if a := h.do(http.MethodGet, fmt.Sprintf("/api/v1/changes/%d%s", platform.ID, path), "", as(other)); a.StatusCode != http.StatusNotFound || a.problem().Type != "/problems/not-found" {
			t.Errorf("%s: %s", a.Status, a.body)
		}
	}
	if entries := h.audit(1); len(entries) != 1 || entries[0].Actor != "other" || entries[0].Outcome != "refused" {
		t.Errorf("%+v", entries)
	}
}

// TestDriftNamesItsChange: what is wrong leads to who has changed what.
func TestDriftNamesItsChange(t *testing.T) {
	h := newHub(t)
	_, application := h.withChanges()
	h.apply(fleetOf(placement.Late, "not there yet"))
	groups := get[api.List[api.DriftGroup]](h, "/api/v1/drift?env=dev&state=late")
	if len(groups.Items) != 1 || groups.Items[0].Change == nil || groups.Items[0].Change.ID != application.ID || groups.Items[0].Change.Title != "web 1.2.3" {
		t.Errorf("%+v", groups)
	}
}

func TestOutliers(t *testing.T) {
	h := newHub(t)
	r := fleetOf(placement.OK, "")
	for i := range r.Placements["dev"] {
		p := &r.Placements["dev"][i]
		if p.ClusterType = "cloud"; p.Cluster == "drone" && p.Target == "web-east" {
			p.State, p.Reason, p.Actual.Version = placement.Suspended, "it is set to", "1.0.0"
		}
	}
	h.apply(r)
	list := get[api.List[api.Outlier]](h, "/api/v1/outliers?env=dev")
	if len(list.Items) != 1 || list.Items[0].Cluster != "drone" || list.Items[0].Version != "1.0.0" || list.Items[0].Usual != "1.2.3" || list.Items[0].Share != 1 || list.Items[0].Since.IsZero() {
		t.Errorf("%+v", list)
	}
	if list := get[api.List[api.Outlier]](h, "/api/v1/outliers?env=stage"); len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
}

// followers are clusters that follow the branch dev of the platform, at a commit.
func followers(state fleet.State, sha string, names ...string) store.Round {
	r := store.Round{At: time.Now()}
	for _, name := range names {
		r.Clusters = append(r.Clusters, store.Cluster{Name: name, LastSeen: time.Now(), Subscriptions: []fleet.Subscription{{
			Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, Repo: "https://forge/gitops", Branch: "dev", Path: "edge", Commit: sha, Applied: sha, State: state, Reason: reason,
		}}})
	}
	return r
}

func TestDeploymentState(t *testing.T) {
	h := newHub(t)
	path := "/api/v1/deployment-state?repo=https%3A%2F%2Fforge%2Fgitops.git&branch=dev&commit=" + mergeCommit
	h.apply(followers(fleet.Pending, sourceCommit, "drone", "large", "small"))
	d := get[api.DeploymentState](h, path)
	if d.State != "waiting" || d.Total != 3 || d.Reached != 0 || len(d.Waiting) != 3 || len(d.Failed) != 0 || d.AsOf.IsZero() || d.Commit != mergeCommit || strings.Contains(d.Waiting[0].Reason, "\x1b") {
		t.Errorf("%+v", d)
	}

	// what waits is woken by what the collector writes, and not only at its end
	answers := make(chan api.DeploymentState)
	began := time.Now()
	go func() {
		defer close(answers)
		answers <- get[api.DeploymentState](h, path+"&wait=60s")
	}()
	for state, sha := range map[fleet.State]string{fleet.Compliant: sourceCommit, fleet.Pending: mergeCommit} {
		h.apply(followers(state, sha, "drone", "large", "small"))
	}
	select {
	case d := <-answers:
		t.Fatalf("%+v", d)
	case <-time.After(500 * time.Millisecond):
	}
	h.apply(followers(fleet.Compliant, mergeCommit, "drone", "large", "small"))
	if d := <-answers; d.State != "reached" || d.Reached != 3 || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %+v", time.Since(began), d)
	}

	// a cluster that cannot be asked has not reached it
	r := followers(fleet.Compliant, mergeCommit, "drone", "small")
	r.Clusters = append(r.Clusters, store.Cluster{Name: "large", Unknown: "connection refused"})
	h.apply(r)
	if d := get[api.DeploymentState](h, path+"&wait=100ms"); d.State != "unknown" || d.Reached != 2 || len(d.Unknown) != 1 || d.Unknown[0].Cluster != "large" || !strings.Contains(d.Unknown[0].Reason, "connection refused") {
		t.Errorf("%+v", d)
	}
	r = followers(fleet.NonCompliant, mergeCommit, "small")
	r.Clusters = append(r.Clusters, followers(fleet.Compliant, mergeCommit, "drone", "large").Clusters...)
	h.apply(r)
	if d := get[api.DeploymentState](h, path+"&wait=60s"); d.State != "failed" || len(d.Failed) != 1 || d.Failed[0].Cluster != "small" {
		t.Errorf("%+v", d)
	}
	if d := get[api.DeploymentState](h, strings.Replace(path, mergeCommit, mergeCommit[:7], 1)); d.State != "failed" || d.Reached != 2 {
		t.Errorf("%+v", d)
	}
	// who may not see the environment is not told who follows its branch
	stage := h.token("stage", api.Viewer, store.Scope{Environments: []string{"stage"}})
	if a := h.do(http.MethodGet, path, "", as(stage)); a.StatusCode != http.StatusNotFound {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// TestPullRequestFilter: pull requests are of environments, and of the control plane.
func TestPullRequestFilter(t *testing.T) {
	h := newHub(t)
	r := fleetOf(placement.OK, "")
	r.PullRequests["dev"][0].Checks, r.PullRequests["dev"][0].Clusters, r.PullRequests["dev"][0].Size, r.PullRequests["dev"][0].Reason = "failure", 2, &store.Size{Changed: 3}, "check \x07ci has failed"
	r.PullRequests[""] = []store.PullRequest{{Repo: "https://forge/platform", Number: 9, Kind: "control-plane", State: "open", Opened: time.Now()}}
	h.apply(r)
	list := get[api.List[api.PullRequest]](h, "/api/v1/pull-requests")
	if len(list.Items) != 3 || list.Items[0].Kind != "control-plane" || list.Items[0].Environment != "" {
		t.Errorf("%+v", list)
	}
	list = get[api.List[api.PullRequest]](h, "/api/v1/pull-requests?env=dev")
	if len(list.Items) != 1 || list.Items[0].Checks != "failure" || list.Items[0].Clusters != 2 || *list.Items[0].Size != (api.ChangeSize{Changed: 3}) || list.Items[0].Reason != "check ci has failed" {
		t.Errorf("%+v", list)
	}
	if a := h.do(http.MethodGet, "/api/v1/pull-requests?env=stge", ""); a.StatusCode != http.StatusNotFound || !slices.ContainsFunc(a.problem().Errors, func(e api.ProblemError) bool { return e.Location == "query.env" }) {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}
