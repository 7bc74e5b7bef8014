package promote

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func TestPinned(t *testing.T) {
	const head = "# shared things\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\n"
	letters := strings.Repeat("ab", 20)
	digits := strings.Repeat("1", 40)
	exponent := strings.Repeat("1", 20) + "e" + strings.Repeat("2", 19)
	for name, test := range map[string]struct{ before, commit, after string }{
		"replaced": {
			"spec:\n  repo: r # here\n  commit: 0123 # promoted\n  branch: main\n", letters,
			"spec:\n  repo: r # here\n  commit: " + letters + " # promoted\n  branch: main\n",
		},
		"double quotes stay": {
			"spec:\n  repo: r\n  commit: \"0123\"\n", letters,
			"spec:\n  repo: r\n  commit: \"" + letters + "\"\n",
		},
		"single quotes stay": {
			"spec:\n  commit: '0123'\n  repo: r", letters,
			"spec:\n  commit: '" + letters + "'\n  repo: r",
		},
		"several lines": {
			"spec:\n  commit: >-\n    0123\n\n  repo: r\n", letters,
			"spec:\n  commit: " + letters + "\n\n  repo: r\n",
		},
		"digits are a string": {
			"spec:\n  repo: r\n  commit: abc\n", digits,
			"spec:\n  repo: r\n  commit: \"" + digits + "\"\n",
		},
		"an exponent is a string": {
			"spec:\n  repo: r\n  commit: abc\n", exponent,
			"spec:\n  repo: r\n  commit: \"" + exponent + "\"\n",
		},
		"inserted last": {
			"spec:\n    repo: r\n    # the branch\n    branch: main # stays\n    path: .\n", letters,
			"spec:\n    repo: r\n    # the branch\n    branch: main # stays\n    path: .\n    commit: " + letters + "\n",
		},
		"inserted in a file whose last line does not end": {
			"spec:\n  repo: r\n  branch: main", letters,
			"spec:\n  repo: r\n  branch: main\n  commit: " + letters,
		},
		"empty": {
			"spec:\n  repo: r\n  commit: # none yet\n  branch: main\n", letters,
			"spec:\n  repo: r\n  commit: " + letters + " # none yet\n  branch: main\n",
		},
		"flow": {
			"spec: {repo: r, branch: main}\n", letters,
			"spec: {repo: r, branch: main, commit: " + letters + "}\n",
		},
		"windows line ends": {
			"spec:\r\n  repo: r\r\n  branch: main\r\n  path: .\r\n", letters,
			"spec:\r\n  repo: r\r\n  branch: main\r\n  path: .\r\n  commit: " + letters + "\r\n",
		},
		"the second of two documents": {
			"spec: {repo: x}\n---\napiVersion: v1\nkind: ConfigMap\ndata:\n  commit: mine\n", letters,
			"spec: {repo: x, commit: " + letters + "}\n---\napiVersion: v1\nkind: ConfigMap\ndata:\n  commit: mine\n",
		},
		"characters of several bytes": {
			"spec: {ключ: значение, commit: abc, repo: r}\n", letters,
			"spec: {ключ: значение, commit: " + letters + ", repo: r}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := &model.Tree{Repo: "http://x/a/b.git", Branch: "dev", Files: map[string][]byte{"x/base.yaml": []byte(head + test.before)}}
			b, err := findBase(tree, "x")
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.pinned(test.commit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(head+test.after, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUneditable(t *testing.T) {
	for name, spec := range map[string]string{
		"anchor":      "spec:\n  repo: r\n  commit: &c abc\n  path: *c\n",
		"merged keys": "x: &x {commit: abc}\nspec:\n  <<: *x\n  commit: &y d\n",
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\n" + spec)
			b, err := findBase(&model.Tree{Files: map[string][]byte{"b.yaml": content}}, "")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := b.pinned(strings.Repeat("ab", 20)); err == nil {
				t.Errorf("edited to\n%s", got)
			}
		})
	}
}

func TestMatters(t *testing.T) {
	before := map[string][]byte{"a/x.yaml": []byte("1"), "b/x.yaml": []byte("1"), "a/doc.md": []byte("1"), ".environments/dev.yaml": []byte("1")}
	for _, test := range []struct {
		folder, file, content string
		want                  bool
	}{
		{"", "a/x.yaml", "2", true},
		{"a", "a/x.yaml", "2", true},
		{"./a/", "a/new.yml", "2", true},
		{"a", "b/x.yaml", "2", false},
		{"a", "ab/x.yaml", "2", false},
		{"", "a/x.yaml", "", true}, // removed
		{"", "a/doc.md", "2", false},
		{"", ".environments/dev.yaml", "2", false},
		{"", ".github/workflows/ci.yaml", "2", false},
		{"a", ".sourceignore", "2", true},
		{"a", "b/.sourceignore", "2", false},
		{"a/deep", "a/.sourceignore", "2", true},
		{"a/deep", "a/x.yaml", "2", false},
		{"", "a/.gitea/workflows/ci.yaml", "2", false},
	} {
		after := map[string][]byte{}
		for f, c := range before {
			after[f] = c
		}
		if after[test.file] = []byte(test.content); test.content == "" {
			delete(after, test.file)
		}
		if got := matters(test.folder, before, after); got != test.want {
			t.Errorf("folder %q, file %q: %t, want %t", test.folder, test.file, got, test.want)
		}
	}
}

// FuzzPinned edits whatever parses as a BaseRepo and expects an error or a file
// that pins the commit.
func FuzzPinned(f *testing.F) {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\n"
	f.Add(head + "spec:\n  repo: r\n  branch: b\n  commit: x # c\n")
	f.Add(head + "spec: {repo: r, commit: 'x'}\n")
	f.Add(head + "spec:\n  ? repo\n  : r\n  commit: |\n    x\n")
	f.Fuzz(func(t *testing.T, text string) {
		commit := strings.Repeat("0a", 20)
		b, err := findBase(&model.Tree{Files: map[string][]byte{"b.yaml": []byte(text)}}, "")
		if err != nil {
			return
		}
		edited, err := b.pinned(commit)
		if err != nil {
			return
		}
		again, err := findBase(&model.Tree{Files: map[string][]byte{"b.yaml": edited}}, "")
		if err != nil || again.spec.Commit != commit || again.spec.Repo != b.spec.Repo {
			t.Errorf("edited %q to %q: %v", text, edited, err)
		}
		twice, err := again.pinned(commit)
		if err == nil && !bytes.Equal(twice, edited) {
			t.Errorf("a second edit changes %q to %q", edited, twice)
		}
	})
}
