package gitclient

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// TestCacheIsBounded puts snapshots of all sizes, some larger than the limit.
func TestCacheIsBounded(t *testing.T) {
	const limit = 1000
	c := newCache(limit)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		key := fmt.Sprint(random.IntN(200))
		s := c.get(key)
		if s == nil {
			s = &snapshot{size: random.Int64N(400)}
			if i%100 == 0 {
				s.size = 3 * limit
			}
			c.put(key, s)
		}
		if c.get(key) != s {
			t.Fatalf("%d: what was read last is not kept", i)
		}
		var size int64
		for e := c.recent.Front(); e != nil; e = e.Next() {
			size += e.Value.(*cached).snapshot.size
		}
		if size != c.size || len(c.byKey) != c.recent.Len() {
			t.Fatalf("%d: the size is %d, not %d; %d keys for %d snapshots", i, size, c.size, len(c.byKey), c.recent.Len())
		}
		if size > limit && c.recent.Len() > 1 {
			t.Fatalf("%d: %d snapshots of %d bytes", i, c.recent.Len(), size)
		}
	}
}

func TestCacheForgetsTheLeastUsed(t *testing.T) {
	c := newCache(2)
	for _, key := range []string{"a", "b"} {
		c.put(key, &snapshot{size: 1})
	}
	c.get("a")
	c.put("c", &snapshot{size: 1})
	if c.get("b") != nil || c.get("a") == nil || c.get("c") == nil {
		t.Error("b was used least, and is kept")
	}
}

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
