package gitclient

import (
	"container/list"
	"sync"
)

// cache keeps the most recently used snapshots up to a size. Snapshots never
// change, so there is nothing to invalidate.
type cache struct {
	mu     sync.Mutex
	limit  int64
	size   int64
	recent *list.List // of *cached, most recently used first
	byKey  map[string]*list.Element
}

type cached struct {
	key      string
	snapshot *snapshot
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, recent: list.New(), byKey: map[string]*list.Element{}}
}

// key names a snapshot. It has the account, because what one account may read
// another may not.
func key(remote Remote, commit string) string {
	user := ""
	if remote.Auth != nil {
		user = remote.Auth.User
	}
	return user + "\x00" + remote.URL + "\x00" + commit
}

func (c *cache) get(key string) *snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).snapshot
}

// put adds a snapshot. The newest is kept even when it alone is over the
// limit: it is about to be used.
func (c *cache) put(key string, s *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[key]; ok {
		return
	}
	c.byKey[key] = c.recent.PushFront(&cached{key, s})
	c.size += s.size
	for c.size > c.limit && c.recent.Len() > 1 {
		oldest := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.byKey, oldest.key)
		c.size -= oldest.snapshot.size
	}
}
