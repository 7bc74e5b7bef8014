// Package lru is a cache of what was used last, bounded by bytes. It is safe for
// concurrent use. The library below it bounds by number, which bounds no memory
// where values differ much in size.
package lru

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps the most recently used values up to a size.
type Cache[V any] struct {
	limit int64
	size  func(V) int64

	mu     sync.Mutex
	bytes  int64
	recent *simplelru.LRU[string, V]
}

// New returns a Cache of limit bytes. size is called when a value is added and
// again when it is removed, and must be the same both times.
func New[V any](limit int64, size func(V) int64) *Cache[V] {
	c := &Cache[V]{limit: limit, size: size}
	// the only error is about a number below one
	c.recent, _ = simplelru.NewLRU(math.MaxInt, func(_ string, v V) { c.bytes -= size(v) })
	return c
}

// Get returns a value, which then counts as just used.
func (c *Cache[V]) Get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Get(key)
}

// Put adds a value or replaces one. The newest is kept even when it alone is
// over the limit: it is about to be used.
func (c *Cache[V]) Put(key string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.Remove(key)
	c.recent.Add(key, v)
	c.bytes += c.size(v)
	for c.bytes > c.limit && c.recent.Len() > 1 {
		c.recent.RemoveOldest()
	}
}
