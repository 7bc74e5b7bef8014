package publish

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// everything is a plan that has something of all that a body can say.
func everything() (*plan.Plan, map[string][]byte) {
	file := func(ct, dt string) string { return "clusters/" + ct + "/" + dt + "/reconciler.yaml" }
	config := func(ct, dt string) string { return "clusters/" + ct + "/" + dt + "/platform-config.yaml" }
	base := map[string][]byte{
		"clusters/" + promotedFile:       []byte("1111111aaaa\n"),
		file("drone", "changed-dev"):     []byte("1"),
		file("drone", "gone-dev"):        []byte("1"),
		config("drone", "changed-dev"):   []byte("kind: ConfigMap\ndata:\n  REGION: east\n  OLD: \"1\"\n  SAME: x\n"),
		file("old", "unwanted-dev"):      []byte("1"),
		"clusters/old/README.md":         []byte("x"),
		"clusters/drone/stray/notes.txt": []byte("users'"),
		"elsewhere/a/b/reconciler.yaml":  []byte("other path"),
	}
	return &plan.Plan{
		Environment: "dev",
		GitOps:      model.Reference{Repo: "http://forge.test/acme/gitops.git", Branch: "dev", Path: "./clusters"},
		BaseRepo:    "http://forge.test/acme/platform",
		Policies:    map[string]model.Position{"edge": {Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: "edge.yaml", Line: 1}},
		Targets:     []plan.Target{{Name: "new-dev"}, {Name: "changed-dev"}, {Name: "unwanted-dev"}},
		Assignments: []plan.Assignment{
			{ClusterType: "drone", Target: "changed-dev", Policies: []string{"edge"}, Config: []plan.ConfigValue{{
				Key: "REGION", Source: plan.ConfigSource{ConfigMap: "region", Position: model.Position{Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: "region.yaml", Line: 9}},
			}}},
			{ClusterType: "large", Target: "new-dev", Policies: []string{"a|b", "cloud"}},
		},
		Changes: []plan.Change{
			{Path: "clusters/" + promotedFile, Action: plan.Modify, Content: []byte("2222222bbbb")},
			{Path: file("drone", "changed-dev"), Action: plan.Modify, Content: []byte("2")},
			{Path: config("drone", "changed-dev"), Action: plan.Modify, Content: []byte("kind: ConfigMap\ndata:\n  REGION: \"@west\"\n  NEW: \"2\"\n  SAME: x\n")},
			{Path: file("drone", "gone-dev"), Action: plan.Remove},
			{Path: file("large", "new-dev"), Action: plan.Add, Content: []byte("1")},
			{Path: "clusters/large/README.md", Action: plan.Add, Content: []byte("x")},
			{Path: "clusters/old/README.md", Action: plan.Remove},
			{Path: file("old", "unwanted-dev"), Action: plan.Remove},
			{Path: "clusters/odd/file.txt", Action: plan.Add, Content: []byte("x")},
		},
		Problems: []plan.Problem{
			{
				Severity: model.Warning, Message: "the file is not valid YAML:\nline 3",
				Position: model.Position{Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: "x.yaml", Line: 3},
			},
			{
				ClusterType: "large", Target: "bad-dev", Severity: model.Error, Message: "inference_url is required", Hint: "add it",
				Position: model.Position{Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: "config.yaml", Line: 7},
			},
		},
	}, base
}

func TestBody(t *testing.T) {
	p, base := everything()
	words := words{
		link: func(at model.Position) (string, bool) {
			return fmt.Sprintf("http://forge.test/%s#L%d", at.File, at.Line), at.Line != 3
		},
		commit: func(repo, commit string) (string, bool) { return repo + "/commit/" + commit, true },
	}
	d := decide(p, base, applied(base, p.Changes), nil, "", "", sourceField([]string{"http://forge.test/acme/platform@1111111111111111111111111111111111111111"}), words)
	got := d.pr.Title + "\n\n" + d.pr.Body
	const golden = "testdata/body.md"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTitle(t *testing.T) {
	one, two := []pair{{"drone", "web-dev"}}, []pair{{"drone", "web-dev"}, {"large", "web-dev"}}
	for _, test := range []struct {
		summary summary
		want    string
	}{
		{summary{added: one}, "Kalypso: dev: assign web-dev to drone"},
		{summary{changed: one}, "Kalypso: dev: update web-dev on drone"},
		{summary{removed: one}, "Kalypso: dev: remove web-dev from drone"},
		{summary{added: two, removed: one}, "Kalypso: dev: add 2 assignments, remove web-dev from drone"},
		{summary{promotion: true, promotedTo: "0123456789"}, "Kalypso: dev: promote 0123456"},
		{summary{foldersAdded: []string{"large"}}, "Kalypso: dev: add cluster type large"},
		{summary{other: []plan.Change{{Path: "x/y"}}}, "Kalypso: dev: change x/y"},
		{summary{other: []plan.Change{{}, {}}}, "Kalypso: dev: change 2 files"},
	} {
		if got := title("dev", test.summary); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestFitTitle(t *testing.T) {
	for _, test := range []struct{ title, want string }{
		{strings.Repeat("x", 250), strings.Repeat("x", 250)},
		{strings.Repeat("x", 251), strings.Repeat("x", 248) + "…"},
		{strings.Repeat("é", 125), strings.Repeat("é", 125)},
		{strings.Repeat("é", 126), strings.Repeat("é", 124) + "…"},
		{"x" + strings.Repeat("é", 125), "x" + strings.Repeat("é", 123) + "…"},
		{"", ""},
		// the longest names there are do not cost the issue its exact words
		{issueTitle(strings.Repeat("e", 53), pair{strings.Repeat("c", 53), strings.Repeat("t", 63)}), ""},
	} {
		if test.want == "" {
			test.want = test.title
		}
		got := fitTitle(test.title)
		if got != test.want {
			t.Errorf("%q\n is %q\nwant %q", test.title, got, test.want)
		}
		if _, _, ok := pairInTitle(test.title); strings.HasPrefix(got, "Can't") && !ok {
			t.Errorf("%q does not name what it is about", got)
		}
	}
}

func FuzzMarker(f *testing.F) {
	f.Add("dev", "drone", "web-dev", "text\n")
	f.Add("a -->\n<!-- kalypso:plan", "--", "\x00 \r\n", "<!-- kalypso:problem environment=x -->\n")
	f.Fuzz(func(t *testing.T, environment, clusterType, target, text string) {
		m := marker{kind: problemMarker, sha256: "0a", environment: environment, clusterType: clusterType, target: target, base: text, hold: holdOn, removals: target}
		if n := strings.Count(m.String(), "-->"); n != 1 {
			t.Errorf("%q ends %d times", m, n)
		}
		if got := findMarker(markdown.Text(text)+"\n"+m.String(), problemMarker); got != m {
			t.Errorf("found %+v, want %+v", got, m)
		}
		if got := findMarker(m.replaceIn(text), problemMarker); got != m {
			t.Errorf("found %+v after replacing, want %+v", got, m)
		}
		if got := findMarker(markdown.Text(text), problemMarker); got != (marker{}) {
			t.Errorf("text passes for %+v", got)
		}
	})
}

// TestNamespacesThatGo moves an assignment to another namespace, and removes one.
func TestNamespacesThatGo(t *testing.T) {
	namespace := func(name string) []byte {
		return []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + name + "\n")
	}
	base := map[string][]byte{
		"drone/moved-dev/namespace.yaml":  namespace("team-a"),
		"drone/gone-dev/namespace.yaml":   namespace("gone"),
		"drone/shared-dev/namespace.yaml": namespace("shared"),
		"drone/other-dev/namespace.yaml":  namespace("shared"),
		"large/moved-dev/namespace.yaml":  namespace("team-a"),
	}
	p := &plan.Plan{Environment: "dev", GitOps: model.Reference{Repo: "http://forge.test/acme/gitops.git", Branch: "dev"}, Changes: []plan.Change{
		{Path: "drone/moved-dev/namespace.yaml", Action: plan.Modify, Content: namespace("team-b")},
		{Path: "drone/gone-dev/namespace.yaml", Action: plan.Remove},
		{Path: "drone/shared-dev/namespace.yaml", Action: plan.Remove},
		{Path: "large/moved-dev/namespace.yaml", Action: plan.Modify, Content: append(namespace("team-a"), "  labels: {a: b}\n"...)},
	}}
	s := summarize(p, base, applied(base, p.Changes))
	if want := []pair{{"drone", "gone"}, {"drone", "team-a"}}; !slices.Equal(s.namespaces, want) {
		t.Errorf("%v go, want %v", s.namespaces, want)
	}
	body := newWords(nil).body(p, s, holdNone, "")
	for _, line := range []string{"- `gone` on clusters of type `drone`\n", "- `team-a` on clusters of type `drone`\n"} {
		if !strings.Contains(body, line) {
			t.Errorf("the pull request does not say %q:\n%s", line, body)
		}
	}
}

// TestIssueLeadsToWhereAValueBelongs names the ConfigMap ahead of the schema that asks.
func TestIssueLeadsToWhereAValueBelongs(t *testing.T) {
	at := func(file string, line int) model.Position {
		return model.Position{Repo: "http://forge.test/acme/platform.git", Branch: "dev", File: file, Line: line}
	}
	body := newWords(nil).issueBody(pair{"drone", "web-dev"}, []plan.Problem{{
		Reason: plan.InvalidConfig, ClusterType: "drone", Target: "web-dev", Severity: model.Error, Message: "inference_url is required",
		Hint: "provide it in ConfigMap drone-config", Position: at("schema.yaml", 3), Fix: at("drone-config.yaml", 7),
	}})
	if want := "- `platform@dev:drone-config.yaml:7`: provide it in ConfigMap drone-config (`platform@dev:schema.yaml:3` asks for it)\n"; !strings.Contains(body, want) {
		t.Errorf("no line %q in\n%s", want, body)
	}
}
