package arc

import (
	"encoding/json"
	"fmt"
	"strings"
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
	w := newWorld(t)
	w.api.put(t, foreign)
	p := wanted()
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", p); err != nil {
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
	w := newWorld(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted()); err != nil {
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
	w.api.change(t, kustomizationPath, `status: {lastAttemptedRevision: "qa@sha1:aaaa", conditions: [{type: Ready, status: "False", reason: BuildFailed, message: it broke, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`)
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

func TestQueries(t *testing.T) {
	rows := []any{}
	for i, state := range []string{"Compliant", "Non-Compliant", "Pending"} {
		rows = append(rows, map[string]any{
			"name": fmt.Sprintf("c%d", i), "suspend": i == 0,
			"properties": map[string]any{"complianceState": state, "note": `it's "x"`},
		})
	}
	for query, want := range map[string]string{
		"Resources":                                                                           "c0 c1 c2",
		"resources | take 2":                                                                  "c0 c1",
		"resources | order by name":                                                           "c2 c1 c0",
		"resources | sort by name asc":                                                        "c0 c1 c2",
		"resources | where name == \"c1\"":                                                    "c1",
		"resources | where name != 'c1'":                                                      "c0 c2",
		"resources | where name =~ 'C1'":                                                      "c1",
		"resources | where name !~ 'C1'":                                                      "c0 c2",
		"resources | where suspend == true":                                                   "c0",
		"resources | where missing == ''":                                                     "c0 c1 c2",
		"resources | where name == 'c1' and suspend == true":                                  "",
		"resources | where properties['complianceState'] contains 'COMPLIANT'":                "c0 c1",
		"resources | where tostring(properties.complianceState) == 'Pending'":                 "c2",
		`resources | where properties.note == 'it\'s "x"' | limit 1`:                          "c0",
		"resources|where name=='c1'|project name,properties.complianceState|where name=='c1'": "c1",
	} {
		q, err := parseQuery(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		var names []string
		for _, row := range q.run(rows) {
			names = append(names, row.(map[string]any)["name"].(string))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	q, err := parseQuery("resources | where suspend == false | count")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{map[string]any{"Count": 2}}, q.run(rows)); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{
		"", "other", "resources where", "resources | summarize count()", "resources | where", "resources | where name", "resources | where name > 'x'",
		"resources | where name == x", "resources | where name == 'x", "resources | where name == 'x' or name == 'y'", "resources | take x", "resources | order name",
		"resources | project", "resources | where a[0] == 'x'", "resources | where tostring(a == 'x'",
	} {
		if _, err := parseQuery(wrong); err == nil {
			t.Errorf("%q is understood", wrong)
		}
	}
}

func TestGraphPages(t *testing.T) {
	w := newWorld(t)
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

func FuzzParseQuery(f *testing.F) {
	all, synced := scriptQueries("http://x/y", "dev", "abc", "Compliant")
	for _, seed := range []string{all, synced, "resources | project a, b.c | order by a | take 3 | count", `resources | where a == '\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := parseQuery(s)
		if err == nil {
			q.run([]any{map[string]any{"name": "x"}})
		}
	})
}
