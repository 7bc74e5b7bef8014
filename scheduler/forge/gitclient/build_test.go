package gitclient

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// TestCacheKeepsAccountsApart asks as another account.
func TestCacheKeepsAccountsApart(t *testing.T) {
	a, b := Remote{URL: "u", Auth: &Auth{User: "a"}}, Remote{URL: "u"}
	if key(a, "c") == key(b, "c") {
		t.Error("what one account may read another gets")
	}
}

// TestSizeFollowsChanges compares the size of a snapshot that a commit makes
// with that of the same files read.
func TestSizeFollowsChanges(t *testing.T) {
	parent := newSnapshot(plumbing.ZeroHash)
	for _, name := range []string{"gone", "changed", "kept"} {
		parent.files[name] = []byte("old")
		parent.entries[name] = entry{mode: filemode.Regular}
		parent.size += cost(name, parent.files[name])
	}
	c := &construction{store: memory.NewStorage()}
	after, err := c.apply(parent, []forge.Change{
		{Path: "gone"}, {Path: "never"}, {Path: "changed", Content: []byte("newer")}, {Path: "added", Content: []byte("x")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for name, content := range after.files {
		want += cost(name, content)
	}
	if after.size != want || len(after.files) != 3 {
		t.Errorf("size %d of %d files, want %d", after.size, len(after.files), want)
	}
}
