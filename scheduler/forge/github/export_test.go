package github

import (
	"context"
	"time"
)

// Impatient makes a Forge write as fast as it can and not wait at all; waited
// gets how long it would have waited.
func (f *Forge) Impatient(waited func(time.Duration)) {
	f.limiter.writes = nil
	if waited != nil {
		f.limiter.pause = func(ctx context.Context, d time.Duration) error {
			f.limiter.mu.Lock() // for waited, too: requests wait side by side
			defer f.limiter.mu.Unlock()
			waited(d)
			clear(f.limiter.blocks)
			return ctx.Err()
		}
	}
}

// Later makes what was listed look older than it is.
func (f *Forge) Later(d time.Duration) {
	f.issues.mu.Lock()
	defer f.issues.mu.Unlock()
	for _, r := range f.issues.repos {
		r.full = r.full.Add(-d)
	}
}

// Addresses are those of the two APIs.
func (f *Forge) Addresses() (rest, query string) { return f.api.String(), graphQL(f.api) }
