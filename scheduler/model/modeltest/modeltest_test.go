package modeltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestCommit proves that a file can name the commit that a branch has when the
// file is written, and that the commit can be read for ever.
func TestCommit(t *testing.T) {
	w := Parse(`
-- base@main/a --
first
-- env@dev/pin --
commit: COMMIT(base@main)
-- base@main/a --
second
-- base@old --
`)
	if got := w.Branches(); !slices.Equal(got, []string{"base@main", "base@old", "env@dev"}) {
		t.Errorf("branches: %q", got)
	}
	pin := string(w.Tree("env", "dev").Files["pin"])
	commit := pin[len("commit: ") : len(pin)-1]
	tree, err := w.Read(t.Context(), model.Reference{Repo: Forge + "base", Branch: "main", Commit: commit})
	if err != nil || string(tree.Files["a"]) != "first\n" {
		t.Errorf("tree %v, error %v", tree, err)
	}
	head, err := w.Read(t.Context(), model.Reference{Repo: Forge + "base", Branch: "main"})
	if err != nil || string(head.Files["a"]) != "second\n" || head.Commit == commit {
		t.Errorf("head %v, error %v", head, err)
	}
	for _, ref := range []model.Reference{{Repo: Forge + "base", Branch: "none"}, {Repo: Forge + "none", Branch: "main"}, {Repo: Forge + "base", Commit: "none"}} {
		if _, err := w.Read(t.Context(), ref); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
