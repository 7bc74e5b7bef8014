package promote

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

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
