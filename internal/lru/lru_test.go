package lru

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestBounded puts values of all sizes, some larger than the limit.
func TestBounded(t *testing.T) {
	const limit = 1000
	c := New(limit, func(v *int64) int64 { return *v })
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		key := fmt.Sprint(random.IntN(200))
		v, ok := c.Get(key)
		if !ok || i%7 == 0 { // new, or replaced
			v = new(random.Int64N(400))
			if i%100 == 0 {
				*v = 3 * limit
			}
			c.Put(key, v)
		}
		if got, _ := c.Get(key); got != v {
			t.Fatalf("%d: what was used last is not kept", i)
		}
		var size int64
		for _, v := range c.recent.Values() {
			size += *v
		}
		if size != c.bytes {
			t.Fatalf("%d: the size is %d, not %d", i, size, c.bytes)
		}
		if size > limit && c.recent.Len() > 1 {
			t.Fatalf("%d: %d values of %d bytes", i, c.recent.Len(), size)
		}
	}
}

func TestForgetsTheLeastUsed(t *testing.T) {
	c := New(2, func(string) int64 { return 1 })
	c.Put("a", "a")
	c.Put("b", "b")
	c.Get("a")
	c.Put("c", "c")
	_, a := c.Get("a")
	_, b := c.Get("b")
	_, third := c.Get("c")
	if !a || b || !third {
		t.Errorf("a %t, b %t, c %t: b was used least", a, b, third)
	}
}
