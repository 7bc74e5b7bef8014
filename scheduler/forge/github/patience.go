package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

const (
	callTimeout = 30 * time.Second // one request; GitHub itself gives up after ten
	maxAnswer   = 128 << 20
	parallel    = 4 // GitHub asks for few requests at a time

	// Content may be made 80 times a minute.
	writeBurst = 20
	writePace  = rate.Limit(1)

	tries       = 3 // of a request that only reads, when there is no answer
	firstPause  = 500 * time.Millisecond
	limitedMost = 5 // how often one request is sent again because of a limit
)

// patience sends requests when GitHub wants them: few at a time, writes at a
// pace, none while a rate limit is exceeded. It reads an answer to its end, so
// that half an answer is an error here and not somewhere in its middle, and
// asks again where asking cannot do harm.
type patience struct {
	next  http.RoundTripper
	tell  func(Wait)
	slots chan struct{}
	pace  *rate.Limiter
	pause func(context.Context, time.Duration) error

	mu      sync.Mutex
	blocks  map[string]block // by resource, see resource
	strikes int              // secondary limits in a row
	budget  Budget
}

func newPatience(next http.RoundTripper, tell func(Wait)) *patience {
	return &patience{
		next: next, tell: tell, slots: make(chan struct{}, parallel),
		pace: rate.NewLimiter(writePace, writeBurst), pause: pause, blocks: map[string]block{},
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// RoundTrip implements http.RoundTripper.
func (p *patience) RoundTrip(q *http.Request) (*http.Response, error) {
	failed, limited := 0, 0
	for {
		attempt, err := again(q)
		if err != nil {
			return nil, err
		}
		if err := p.hold(attempt); err != nil {
			return nil, err
		}
		answer, err := p.once(attempt)
		switch {
		case err == nil && p.limits(answer):
			if limited++; limited >= limitedMost {
				return answer, nil
			}
			continue
		case !onlyReads(q) || q.Context().Err() != nil || !passing(answer, err):
			return answer, err
		}
		if failed++; failed >= tries {
			return answer, err
		}
		if err := p.pause(q.Context(), firstPause<<(2*(failed-1))); err != nil {
			return nil, err
		}
	}
}

// again is a copy of a request that can be sent, with its body at the start.
func again(q *http.Request) (*http.Request, error) {
	c := q.Clone(q.Context())
	if q.GetBody == nil {
		return c, nil
	}
	body, err := q.GetBody()
	c.Body = body
	return c, err
}

// passing tells whether a failure may be gone in a moment.
func passing(answer *http.Response, err error) bool {
	if err != nil {
		return errors.Is(err, gitclient.ErrNetwork)
	}
	switch answer.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// once sends a request and reads its answer.
func (p *patience) once(q *http.Request) (*http.Response, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-q.Context().Done():
		return nil, context.Cause(q.Context())
	}
	p.count(func(b *Budget) { b.Requests++ })
	ctx, cancel := context.WithTimeoutCause(q.Context(), callTimeout,
		fmt.Errorf("%w: no answer from %s within %s (%s)", gitclient.ErrNetwork, q.URL.Host, callTimeout, lookAround))
	defer cancel()
	answer, err := p.next.RoundTrip(q.WithContext(ctx))
	if err != nil {
		return nil, noAnswer(ctx, q, err)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	err = errors.Join(err, answer.Body.Close())
	if err != nil {
		return nil, noAnswer(ctx, q, fmt.Errorf("the answer ends early: %w", err))
	}
	if answer.StatusCode == http.StatusNotModified {
		p.count(func(b *Budget) { b.Unchanged++ })
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	return answer, nil
}

func noAnswer(ctx context.Context, q *http.Request, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("%w: %s %s: %w (%s)", gitclient.ErrNetwork, q.Method, q.URL.Host, err, lookAround)
}

func (p *patience) count(change func(*Budget)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.budget)
}

func (p *patience) state() Budget {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.budget
}
