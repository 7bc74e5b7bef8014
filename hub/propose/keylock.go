package propose

import (
	"context"
	"fmt"
	"sync"
)

// KeyLock lets one at a time do what a key names. The zero KeyLock is ready.
type KeyLock struct {
	mu   sync.Mutex // for what follows
	busy map[string]chan struct{}
}

// Acquire waits until nobody else has a key.
func (l *KeyLock) Acquire(ctx context.Context, key string) (release func(), err error) {
	for {
		l.mu.Lock()
		busy := l.busy[key]
		if busy == nil {
			done := make(chan struct{})
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			l.busy[key] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.busy, key)
				close(done)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the same request, which is being answered: %w", context.Cause(ctx))
		}
	}
}
