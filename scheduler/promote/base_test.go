package promote

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func baseObject(name, branch string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: " + name + "}\nspec: {repo: r, branch: " + branch + "}\n"
}

// TestFindBase looks for the one BaseRepo whose commit is promoted, wherever
// its file lies.
func TestFindBase(t *testing.T) {
	for name, test := range map[string]struct {
		folder string
		files  map[string]string
		want   string // the branch that it names; "" when there is none to take
	}{
		"the only one":          {"", map[string]string{"a/b.yml": baseObject("other", "x")}, "x"},
		"the one named main":    {"", map[string]string{"a.yaml": baseObject("other", "x"), "b.yaml": baseObject("main", "y")}, "y"},
		"in one file":           {"", map[string]string{"a.yaml": baseObject("other", "x") + "---\n" + baseObject("main", "y")}, "y"},
		"two named main":        {"", map[string]string{"a.yaml": baseObject("main", "x"), "b.yaml": baseObject("main", "y")}, ""},
		"two others":            {"", map[string]string{"a.yaml": baseObject("one", "x"), "b.yaml": baseObject("two", "y")}, ""},
		"none":                  {"", map[string]string{"a.yaml": "kind: ConfigMap\n"}, ""},
		"another group":         {"", map[string]string{"a.yaml": strings.Replace(baseObject("main", "x"), "scheduler.kalypso.io", "example.com", 1)}, ""},
		"another kind":          {"", map[string]string{"a.yaml": "# BaseRepo\nkind: GitOpsRepo\n"}, ""},
		"no YAML":               {"", map[string]string{"a.yaml": "BaseRepo: [\n"}, ""},
		"no YAML file":          {"", map[string]string{"a.txt": baseObject("main", "x")}, ""},
		"in the folder":         {"./env/", map[string]string{"env/a.yaml": baseObject("main", "x"), "b.yaml": baseObject("main", "y")}, "x"},
		"beside an ignored one": {"", map[string]string{"a.yaml": baseObject("other", "x"), "docs/a.yaml": baseObject("main", "y"), ".sourceignore": "docs/\n"}, "x"},
		"beside the forge's":    {"", map[string]string{"a.yaml": baseObject("main", "x"), ".github/a.yaml": baseObject("main", "y")}, "x"},
		"beside the folder":     {"env", map[string]string{"environment/a.yaml": baseObject("main", "x")}, ""},
	} {
		tree := &model.Tree{Repo: "r", Branch: "dev", Files: map[string][]byte{}}
		for file, content := range test.files {
			tree.Files[file] = []byte(content)
		}
		b, err := findBase(tree, test.folder)
		switch {
		case test.want == "" && (err == nil || !strings.Contains(err.Error(), "branch dev of r")):
			t.Errorf("%s: %+v, %v", name, b, err)
		case test.want != "" && (err != nil || b.spec.Branch != test.want):
			t.Errorf("%s: %+v, %v, want branch %s", name, b, err, test.want)
		}
	}
}

// TestPinOfABranch pins what a branch that nobody has promoted to follows.
func TestPinOfABranch(t *testing.T) {
	tree := &model.Tree{Repo: "r", Branch: "stage", Files: map[string][]byte{"base.yaml": []byte(baseObject("main", "main"))}}
	commit := strings.Repeat("ab", 20)
	file, content, err := Edit(tree, ".", commit)
	if err != nil || file != "base.yaml" || !strings.Contains(string(content), "commit: "+commit) {
		t.Errorf("%s, %v:\n%s", file, err, content)
	}
	tree.Files = nil
	if _, _, err := Edit(tree, ".", commit); err == nil {
		t.Error("a branch without a BaseRepo is pinned")
	}
}
