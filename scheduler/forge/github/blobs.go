package github

import (
	"container/list"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync"
)

// listings is how many commits' listings are kept.
const listings = 64

// blobs keeps the contents that were read last, up to a size, and the listings
// of a few commits. Neither ever changes. A blob's ID vouches for its content,
// but one must have been allowed to read it: only listings, which name it, are
// kept by repository.
type blobs struct {
	mu     sync.Mutex
	limit  int
	size   int
	recent *list.List // of *blob, most recently used first
	byID   map[string]*list.Element

	commits map[string]*listing // by repository and commit
	order   []string            // oldest first
}

type blob struct {
	id      string
	content []byte
}

func newBlobs(limit int) *blobs {
	return &blobs{limit: limit, recent: list.New(), byID: map[string]*list.Element{}, commits: map[string]*listing{}}
}

// blobID is the ID that git gives a content.
func blobID(content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func (b *blobs) get(id string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.byID[id]
	if !ok {
		return nil, false
	}
	b.recent.MoveToFront(e)
	return e.Value.(*blob).content, true
}

func (b *blobs) put(id string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.byID[id]; ok {
		return
	}
	b.byID[id] = b.recent.PushFront(&blob{id, content})
	b.size += len(content)
	for b.size > b.limit && b.recent.Len() > 1 {
		oldest := b.recent.Remove(b.recent.Back()).(*blob)
		delete(b.byID, oldest.id)
		b.size -= len(oldest.content)
	}
}

func (b *blobs) listing(repo, commit string) *listing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.commits[repo+"\x00"+commit]
}

func (b *blobs) keep(repo, commit string, l *listing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := repo + "\x00" + commit
	if _, ok := b.commits[key]; !ok {
		b.order = append(b.order, key)
	}
	b.commits[key] = l
	if len(b.order) > listings {
		delete(b.commits, b.order[0])
		b.order = b.order[1:]
	}
}
