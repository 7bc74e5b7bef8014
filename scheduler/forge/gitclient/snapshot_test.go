package gitclient

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// stored makes a commit of three files in three folders.
func stored(t *testing.T) (store *memory.Storage, commit plumbing.Hash) {
	t.Helper()
	empty := newSnapshot(plumbing.ZeroHash)
	built, err := build(empty, empty, forge.CommitRequest{
		Parent: strings.Repeat("1", 40), Changes: []forge.Change{{Path: "a", Content: []byte("a")}, {Path: "dir/b", Content: []byte("b")}, {Path: "dir/z/c", Content: []byte("c")}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return built.store, built.commit
}

// packOf is what a server would send of a store, without some of it.
func packOf(t testing.TB, store *memory.Storage, without ...plumbing.Hash) *pack {
	t.Helper()
	hashes := slices.DeleteFunc(slices.Collect(maps.Keys(store.Objects)), func(h plumbing.Hash) bool { return slices.Contains(without, h) })
	compressed := new(bytes.Buffer)
	if _, err := packfile.NewEncoder(compressed, store, false).Encode(hashes, 10); err != nil {
		t.Fatal(err)
	}
	p, err := openPack(context.Background(), &budget{}, bytes.NewReader(compressed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFault05MissingObject takes each object away in turn: what is left must
// not pass for the whole, nor what is missing for what does not exist.
func TestFault05MissingObject(t *testing.T) {
	store, commit := stored(t)
	if s, err := load(packOf(t, store), commit, false); err != nil || len(s.files) != 3 || len(s.trees) != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	missing := 0
	for hash := range store.Objects {
		missing++
		if s, err := load(packOf(t, store, hash), commit, false); err == nil {
			t.Errorf("without %s there are %d files", hash, len(s.files))
		}
	}
	if missing != 7 {
		t.Errorf("%d objects, want a commit, three folders and three files", missing)
	}
}

// TestBadNamesAreRefused reads trees that no git makes.
func TestBadNamesAreRefused(t *testing.T) {
	for _, name := range []string{".", "..", "a/b"} {
		store := memory.NewStorage()
		c := &construction{store: store}
		blob, err := c.blob([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		o := store.NewEncodedObject()
		o.SetType(plumbing.TreeObject)
		w, err := o.Writer()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Join([][]byte{[]byte("100644 " + name), blob[:]}, []byte{0})); err != nil {
			t.Fatal(err)
		}
		tree, err := c.addObject(o)
		if err != nil {
			t.Fatal(err)
		}
		commit, err := c.add(&object.Commit{TreeHash: tree})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := load(packOf(t, store), commit, false); err == nil {
			t.Errorf("%q: files %v", name, s.files)
		}
	}
}

// panicky is a conversation with a server that makes the git library panic.
type panicky struct{ transport.UploadPackSession }

func (panicky) UploadPack(context.Context, *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	panic("slice bounds out of range")
}

func TestPanicFailsOneRead(t *testing.T) {
	want := plumbing.NewHash(strings.Repeat("1", 40))
	refs := packp.NewAdvRefs()
	refs.References["refs/heads/main"] = want
	c := New(&http.Client{}, 1)
	_, err := c.commit(context.Background(), Remote{URL: "http://u:secret@forge.test/app.git"}, "main", want, &conversation{panicky{}, refs})
	if err == nil || !strings.Contains(err.Error(), "slice bounds") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
