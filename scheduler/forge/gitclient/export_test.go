package gitclient

import (
	"bytes"
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// MaxRead is what one read may take, and MiddleSlots how many large ones there are.
const (
	MaxRead     = maxRead
	MiddleSlots = middleSlots
)

// ReadPack reads every commit of a pack, as a server sends it.
func ReadPack(compressed []byte, filtered bool) (files []map[string][]byte, taken int64, err error) {
	b := &budget{}
	defer b.release()
	p, err := openPack(context.Background(), b, bytes.NewReader(compressed))
	if err != nil {
		return nil, b.bytes, err
	}
	var commits []plumbing.Hash
	err = p.each(plumbing.CommitObject, func(hash plumbing.Hash, _ int64, _ func() ([]byte, error)) (bool, error) {
		commits = append(commits, hash)
		return false, nil
	})
	for _, id := range commits {
		if err != nil {
			break
		}
		var s *snapshot
		if s, err = load(p, id, filtered); err == nil {
			files = append(files, s.files)
		}
	}
	return files, b.bytes, err
}

// BoundHistory makes histories shorter for a test.
func BoundHistory(t interface{ Cleanup(func()) }, commits int) {
	before := historyDepth
	historyDepth = commits
	t.Cleanup(func() { historyDepth = before })
}

// BoundFetch lets a Fetch bring less, for a test.
func BoundFetch(t interface{ Cleanup(func()) }, bytes int64) {
	before := maxFetch
	maxFetch = bytes
	t.Cleanup(func() { maxFetch = before })
}
