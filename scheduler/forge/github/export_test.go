package github

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Impatient makes a Forge write as fast as it can and wait no time at all,
// noting how long it would have waited.
func (f *Forge) Impatient(waited func(time.Duration)) {
	f.patience.pace = rate.NewLimiter(rate.Inf, 1)
	if waited != nil {
		f.patience.pause = func(ctx context.Context, d time.Duration) error {
			f.patience.mu.Lock() // for waited, too: requests wait side by side
			defer f.patience.mu.Unlock()
			waited(d)
			clear(f.patience.blocks)
			return ctx.Err()
		}
	}
}

// Later makes what was listed look older than it is.
func (f *Forge) Later(d time.Duration) {
	f.issues.mu.Lock()
	defer f.issues.mu.Unlock()
	for _, b := range f.issues.repos {
		b.full = b.full.Add(-d)
	}
}

// Addresses are those of the two APIs.
func (f *Forge) Addresses() (rest, query string) { return f.api.String(), graphQL(f.api) }
