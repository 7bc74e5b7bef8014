package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// What to do about a secondary limit that does not say how long it lasts
	// (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
	secondaryWait = time.Minute
	// A limit that lasts longer is an error at once: primary ones last an hour.
	longestWait = time.Hour + 5*time.Minute
	// Nobody needs to hear of waits that nobody notices.
	quietWait = 2 * time.Second
)

// block is a limit that is exceeded.
type block struct {
	reason string
	until  time.Time
}

// GitHub counts the two APIs apart; a secondary limit is for both.
const (
	anyResource  = ""
	restResource = "core"
	graphQLLimit = "graphql"
)

func resource(q *http.Request) string {
	if strings.HasSuffix(q.URL.Path, "/graphql") {
		return graphQLLimit
	}
	return restResource
}

// hold returns when a request may be sent.
func (p *patience) hold(q *http.Request) error {
	for {
		b := p.blocked(resource(q))
		wait := time.Until(b.until)
		if wait <= 0 {
			break
		}
		if err := p.sit(q, b, wait); err != nil {
			return err
		}
	}
	if onlyReads(q) {
		return nil
	}
	turn := p.pace.Reserve()
	wait := turn.Delay()
	if wait <= 0 {
		return nil
	}
	err := p.sit(q, block{"GitHub wants writes to come at a pace", time.Now().Add(wait)}, wait)
	if err != nil {
		turn.Cancel()
	}
	return err
}

// sit waits because of a block, unless that is in vain.
func (p *patience) sit(q *http.Request, b block, wait time.Duration) error {
	ctx := q.Context()
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(b.until) || wait > longestWait {
		return &LimitError{b.reason, b.until}
	}
	if wait > quietWait {
		p.tell(Wait{b.reason, b.until, q.Method + " " + q.URL.Path})
	}
	if err := p.pause(ctx, wait); err != nil {
		return fmt.Errorf("%s: waiting until %s: %w", b.reason, b.until.UTC().Format(time.RFC3339), context.Cause(ctx))
	}
	return nil
}

// blocked returns the block that lasts longest for a resource.
func (p *patience) blocked(resource string) block {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.blocks[resource]
	if other := p.blocks[anyResource]; other.until.After(b.until) {
		b = other
	}
	return b
}
