package arc

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

// The two queries of the original's wait-for-deployment script
// (github.com/microsoft/kalypso-control-plane).
func scriptQueries(url, branch, commit, state string) (all, synced string) {
	return "kubernetesconfigurationresources | where type == 'microsoft.kubernetesconfiguration/fluxconfigurations' | where properties.gitRepository.url == '" + url + "' | where properties.gitRepository.repositoryRef.branch == '" + branch + "'",
		"kubernetesconfigurationresources | where type == 'microsoft.kubernetesconfiguration/fluxconfigurations' | where properties.sourceSyncedCommitId == '" + branch + "/" + commit + "' | where properties.complianceState == '" + state + "'"
}

func TestTheScriptsQueries(t *testing.T) {
	w := newFixture(t)
	w.api.Put(t, foreign)
	p := wanted()
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", p, true); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "qa@sha1:bbbb", "qa@sha1:bbbb")
	count := func(query string) int64 {
		t.Helper()
		found, err := w.arm.Query(t.Context(), query, 100, "")
		if err != nil {
			t.Fatal(err)
		}
		return found.TotalRecords
	}
	for _, c := range []struct {
		branch, commit, state string
		all, synced           int64
	}{
		{"qa", "bbbb", "Compliant", 1, 1},
		{"qa", "bbbb", "Non-Compliant", 1, 0},
		{"qa", "aaaa", "Compliant", 1, 0},
		{"dev", "bbbb", "Compliant", 0, 0},
	} {
		all, synced := scriptQueries(p.GitRepository.URL, c.branch, c.commit, c.state)
		if got := count(all); got != c.all {
			t.Errorf("%+v: %d in all", c, got)
		}
		if got := count(synced); got != c.synced {
			t.Errorf("%+v: %d synced", c, got)
		}
	}
}

func TestObserve(t *testing.T) {
	w := newFixture(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted(), true); err != nil {
		t.Fatal(err)
	}
	source := fleet.Source{Repo: wanted().GitRepository.URL + ".git", Branch: "qa"}
	observe := func() []fleet.Configuration {
		t.Helper()
		all, err := w.arm.Observe(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	w.reconcile(t, "qa@sha1:aaaa", "qa@sha1:aaaa")
	if diff := cmp.Diff([]fleet.Configuration{{Cluster: "drone", Name: "platform-qa", Commit: "aaaa", State: fleet.Compliant}}, observe()); diff != "" {
		t.Error(diff)
	}
	w.api.Merge(t, kustomizationPath, `status: {lastAttemptedRevision: "qa@sha1:aaaa", conditions: [{type: Ready, status: "False", reason: BuildFailed, message: it broke, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`)
	if diff := cmp.Diff([]fleet.Configuration{{
		Cluster: "drone", Name: "platform-qa", Commit: "aaaa", State: fleet.NonCompliant, Reason: "Kustomization platform-qa-platform-qa: it broke",
	}}, observe()); diff != "" {
		t.Error(diff)
	}
	for _, other := range []fleet.Source{{Repo: source.Repo, Branch: "it's \\ other"}, {Repo: source.Repo + "x", Branch: "qa"}} {
		if all, err := w.arm.Observe(t.Context(), other); err != nil || len(all) != 0 {
			t.Errorf("%+v: %+v %v", other, all, err)
		}
	}
}

func TestGraphPages(t *testing.T) {
	w := newFixture(t)
	w.clusters.names = []string{"a", "b", "c"}
	w.start(t)
	var names []string
	token := ""
	for range 3 {
		page, err := w.arm.Query(t.Context(), "resources | where type == 'microsoft.kubernetes/connectedclusters' | project name", 2, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Data {
			var one struct{ Name string }
			if err := json.Unmarshal(row, &one); err != nil {
				t.Fatal(err)
			}
			names = append(names, one.Name)
		}
		if page.TotalRecords != 3 || page.Count != int64(len(page.Data)) {
			t.Errorf("%+v", page)
		}
		if token = page.SkipToken; token == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
}
