package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

var yesterday = time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Second)

// withHistory adds to a hub what git says: since yesterday the targets are in both environments,
// web-east follows the application's branches, in version 1.2.3 in dev and 1.2.2 in stage.
func withHistory(h *hub) *hub {
	h.Helper()
	for i, environment := range []string{"dev", "stage"} {
		part := store.HistoryPart{Repo: "https://forge/gitops", Branch: environment, Roots: map[string]int{".": 1}, Read: yesterday}
		part.Commits = []store.Commit{{SHA: strings.Repeat(fmt.Sprint(i+1), 40), Committed: yesterday}}
		for _, clusterType := range []string{"edge", "cloud"} {
			part.Desired = append(part.Desired, store.DesiredAssignment{Root: ".", ClusterType: clusterType, Target: "web-east", From: 1, Repo: "https://forge/app", Branch: environment},
				store.DesiredAssignment{Root: ".", ClusterType: clusterType, Target: "jobs-batch", From: 1, Repo: "https://forge/jobs", Branch: "main"})
		}
		app := store.HistoryPart{Repo: "https://forge/app", Branch: environment, Commits: []store.Commit{{SHA: strings.Repeat(fmt.Sprint(i+3), 40), Committed: yesterday}}, Read: yesterday}
		app.Versions = []store.TargetVersion{{Environment: environment, Target: "web-east", From: 1, Version: []string{"1.2.3", "1.2.2"}[i]}}
		for _, p := range []store.HistoryPart{part, app} {
			if err := h.store.ApplyHistory(h.Context(), p); err != nil {
				h.Fatal(err)
			}
		}
	}
	jobs := store.HistoryPart{Repo: "https://forge/jobs", Branch: "main", Commits: []store.Commit{{SHA: strings.Repeat("5", 40), Committed: yesterday}}, Read: yesterday}
	if err := h.store.ApplyHistory(h.Context(), jobs); err != nil {
		h.Fatal(err)
	}
	return h
}

func TestCompare(t *testing.T) {
	h := withHistory(newHub(t))
	got := get[api.Compare](h, "/api/v1/compare?left=dev&right=stage")
	row := func(target string) api.CompareRow {
		t.Helper()
		i := slices.IndexFunc(got.Items, func(r api.CompareRow) bool { return r.Target == target })
		if i < 0 {
			t.Fatalf("no row of %s: %+v", target, got.Items)
		}
		return got.Items[i]
	}
	half := func(version string) *api.CompareHalf {
		return &api.CompareHalf{
			Versions: []api.CompareVersion{{Version: "1.2.3", N: 3, Share: 1}}, DesiredVersion: version, ClusterTypes: []string{"cloud", "edge"}, Policies: []string{"everywhere"}, PolicyPositions: []api.ComparePolicy{{Name: "everywhere", Place: "policies.yaml:3"}},
		}
	}
	want := api.CompareRow{
		Target: "web-east", Workload: "web", Workspace: "team-a", Group: "differs", Left: half("1.2.3"), Right: half("1.2.2"),
		Config: []api.CompareConfig{
			{Key: "DB_PASSWORD", Left: &api.CompareValue{Value: "REDACTED", Source: "c", Place: "config.yaml:7"}, Right: &api.CompareValue{Value: "REDACTED", Source: "c", Place: "config.yaml:7"}},
			{Key: "REGION", Left: &api.CompareValue{Value: "west", Source: "c", Place: "config.yaml:7"}, Right: &api.CompareValue{Value: "east", Source: "c", Place: "config.yaml:7"}},
		},
	}
	if diff := cmp.Diff(want, row("web-east")); diff != "" {
		t.Error(diff)
	}
	if r := row("jobs-batch"); r.Group != "same" || r.Left.DesiredVersion != "55555555" || len(r.Config) != 0 {
		t.Errorf("%+v", r)
	}
	if got.Counts != (api.CompareCounts{Differs: 1, Same: 1}) || got.Left.Commit != strings.Repeat("1", 40) || got.Right.Error != "" || got.AsOf.IsZero() || *got.Total != 2 || got.Items[0].Target != "web-east" {
		t.Errorf("%+v", got)
	}

	// pull requests that wait: of the application, and of the platform for what its plan changes
	open := fleetOf(placement.OK, "")
	pr := store.PullRequest{Environment: "stage", Repo: "https://forge/app", Number: 9, Kind: "application", State: "open", URL: "https://forge/app/pulls/9"}
	h.apply(store.Round{At: time.Now(), PullRequests: map[string][]store.PullRequest{"stage": append(open.PullRequests["stage"], pr), "dev": nil}})
	got = get[api.Compare](h, "/api/v1/compare?left=dev&right=stage")
	if r := row("web-east"); r.Group != "promotion" || r.PullRequest == nil || *r.PullRequest != (api.ComparePullRequest{Number: 9, URL: pr.URL}) {
		t.Errorf("%+v", r)
	}
	got = get[api.Compare](h, "/api/v1/compare?left=stage&right=dev") // changes go to stage whichever way one looks
	if r := row("web-east"); r.Group != "promotion" || got.Counts.Promotion != 1 {
		t.Errorf("%+v", r)
	}

	for path, targets := range map[string][]string{
		"&group=same": {"jobs-batch"}, "&group=promotion": {"web-east"}, "&group=differs": nil, "&q=WEB": {"web-east"}, "&q=nothing": nil, "&limit=1": {"web-east"},
	} {
		found := get[api.Compare](h, "/api/v1/compare?left=dev&right=stage"+path)
		var names []string
		for _, r := range found.Items {
			names = append(names, r.Target)
		}
		if diff := cmp.Diff(targets, names); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	first := get[api.Compare](h, "/api/v1/compare?left=dev&right=stage&limit=1")
	if rest := get[api.Compare](h, "/api/v1/compare?left=dev&right=stage&limit=1&after="+first.Next); len(rest.Items) != 1 || rest.Items[0].Target != "jobs-batch" || rest.Next != "" {
		t.Errorf("%+v", rest)
	}
	csv := h.do(http.MethodGet, "/api/v1/compare?left=dev&right=stage&format=csv", "")
	lines := strings.Split(strings.TrimSpace(string(csv.body)), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "web-east,web,team-a,promotion,1.2.3,1.2.2,1.2.3 3,1.2.3 3,cloud edge,") {
		t.Errorf("%s", csv.body)
	}
	if strings.Contains(string(csv.body), secretValue) {
		t.Error("a hidden value is shown")
	}
}

// TestCompareWithThePast: what is asked of both sides is of one kind, and what was not observed is
// not there.
func TestCompareWithThePast(t *testing.T) {
	h := withHistory(newHub(t))
	past := url.QueryEscape(yesterday.Add(time.Hour).Format(time.RFC3339))
	got := get[api.Compare](h, "/api/v1/compare?left=dev&right=dev&leftAt="+past)
	if len(got.Items) != 2 || got.Counts.Same != 2 {
		t.Fatalf("%+v", got)
	}
	if l := got.Items[0].Left; len(l.Versions) != 0 || len(l.Policies) != 0 || len(l.ClusterTypes) != 2 || got.Items[0].Right.Versions[0].N != 3 || got.Left.At.IsZero() || !got.Right.At.IsZero() {
		t.Errorf("%+v", got)
	}
	// policies are as they were then, and where they were
	observed := time.Now()
	next := fleetOf(placement.OK, "")
	next.At = observed.Add(time.Second)
	for name, all := range next.Placements {
		next.Policies[name] = store.PolicyPositions{"everywhere": "policies.yaml:9", "nowhere": "other.yaml:1"}
		for i := range all {
			all[i].Policies = []string{"nowhere"}
		}
	}
	h.apply(next)
	got = get[api.Compare](h, "/api/v1/compare?left=dev&right=dev&leftAt="+url.QueryEscape(observed.Format(time.RFC3339Nano)))
	l, r := got.Items[0].Left, got.Items[0].Right
	if got.Counts.Differs != 2 || len(l.PolicyPositions) != 1 || l.PolicyPositions[0] != (api.ComparePolicy{Name: "everywhere", Place: "policies.yaml:3"}) ||
		len(r.PolicyPositions) != 1 || r.PolicyPositions[0] != (api.ComparePolicy{Name: "nowhere", Place: "other.yaml:1"}) {
		t.Errorf("%+v: %+v, %+v", got.Counts, l, r)
	}
	// the fake's values name the commit
	got = get[api.Compare](h, "/api/v1/compare?left=dev&right=stage&leftAt="+past)
	i := slices.IndexFunc(got.Items, func(r api.CompareRow) bool { return r.Target == "web-east" })
	if c := got.Items[i].Config; len(c) != 2 || c[1].Left.Value != "west at "+strings.Repeat("1", 40) || c[1].Right.Value != "east at "+strings.Repeat("2", 40) {
		t.Errorf("%+v", c)
	}
	before := url.QueryEscape(yesterday.Add(-time.Hour).Format(time.RFC3339))
	got = get[api.Compare](h, "/api/v1/compare?left=dev&right=dev&leftAt="+before)
	if len(got.Items) != 2 || got.Items[0].Left != nil || got.Items[0].Group != "differs" || got.Left.Error == "" || got.Left.Commit != "" {
		t.Errorf("%+v", got)
	}
}

func TestCompareScope(t *testing.T) {
	h := withHistory(newHub(t))
	team := as(h.token("team", api.Viewer, store.Scope{Workspaces: []string{"team-b"}}))
	got := get[api.Compare](h, "/api/v1/compare?left=dev&right=stage", team)
	if len(got.Items) != 1 || got.Items[0].Target != "jobs-batch" || got.Counts.Differs != 0 {
		t.Errorf("%+v", got)
	}
	dev := as(h.token("dev", api.Viewer, store.Scope{Environments: []string{"dev"}}))
	a := h.do(http.MethodGet, "/api/v1/compare?left=dev&right=stage", "", dev)
	if a.StatusCode != http.StatusNotFound || a.problem().Errors[0].Location != "query.right" || strings.Contains(a.problem().Hint, "stage") {
		t.Errorf("%s", a.body)
	}
	if e := h.audit(1)[0]; e.Actor != "dev" || e.Subject == "" {
		t.Errorf("%+v", e)
	}
	if a := h.do(http.MethodGet, "/api/v1/compare?left=dev&right=stage", "", nobody); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s", a.body)
	}
}

// TestPlacementsAt: a moment of the past over the API.
func TestPlacementsAt(t *testing.T) {
	h := withHistory(newHub(t))
	at := func(moment time.Time) string {
		return "/api/v1/placements?env=dev&at=" + url.QueryEscape(moment.Format(time.RFC3339Nano))
	}
	observed := time.Now()
	next := fleetOf(placement.Failing, "it does not start")
	next.At = observed.Add(time.Second)
	h.apply(next)
	now := get[api.List[api.Placement]](h, "/api/v1/placements?env=dev&target=web-east")
	if now.Items[0].State != placement.Failing {
		t.Fatalf("%+v", now.Items)
	}
	then := get[api.List[api.Placement]](h, at(observed)+"&target=web-east&cluster=drone")
	if len(then.Items) != 1 || then.Items[0].State != placement.OK || then.Items[0].Actual.Version != "1.2.3" || then.Items[0].Desired.Version != "1.2.3" || !then.AsOf.Equal(observed.Truncate(time.Nanosecond)) {
		t.Errorf("%+v", then)
	}
	unknown := get[api.List[api.Placement]](h, at(yesterday.Add(time.Hour))+"&target=web-east")
	if len(unknown.Items) != 2 || unknown.Items[0].State != placement.Unknown || unknown.Items[0].Reason == "" || unknown.Items[0].Desired.Version != "1.2.3" || unknown.Items[0].Actual != (placement.Revision{}) {
		t.Errorf("%+v", unknown)
	}
	csv := h.do(http.MethodGet, at(observed)+"&format=csv", "")
	if lines := strings.Count(string(csv.body), "\n"); lines != 7 {
		t.Errorf("%d lines: %s", lines, csv.body)
	}
	// the tag changes with what git says
	before := h.do(http.MethodGet, at(observed), "")
	more := store.HistoryPart{Repo: "https://forge/app", Branch: "dev", Epoch: 1, After: 1, Commits: []store.Commit{{SHA: strings.Repeat("9", 40), Committed: yesterday}}, Read: observed}
	if err := h.store.ApplyHistory(h.Context(), more); err != nil {
		t.Fatal(err)
	}
	if after := h.do(http.MethodGet, at(observed), "", header("If-None-Match", before.Header.Get("ETag"))); after.StatusCode != http.StatusOK || string(after.body) == string(before.body) {
		t.Errorf("%s: %s", after.Status, after.body)
	}
}
