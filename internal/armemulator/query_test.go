package armemulator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"kubernetesconfigurationresources | where properties.sourceSyncedCommitId == 'dev/abc' | where properties.complianceState == 'Compliant'",
		"resources | project a, b.c | order by a | take 3 | count", `resources | where a == '\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := parseQuery(s)
		if err == nil {
			q.run([]any{map[string]any{"name": "x"}})
		}
	})
}
