package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kalypso-dev/kalypso/internal/lru"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

const (
	callTimeout = 30 * time.Second // one request; GitHub itself gives up after ten
	maxAnswer   = 128 << 20
	parallel    = 4 // GitHub asks for few requests at a time

	// Content may be made 80 times a minute and 500 times an hour
	// (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
	writeBurst  = 20
	writeRate   = rate.Limit(1)
	hourlyBurst = 200
	hourlyRate  = rate.Limit(300) / 3600

	tries       = 3 // of a request that only reads, when there is no answer
	firstPause  = 500 * time.Millisecond
	limitedMost = 5 // how often one request is sent again because of a limit
)

// limiter sends requests when GitHub wants them: few at a time, writes at a
// rate, none while a rate limit is exceeded. It reads an answer to its end, so
// that half an answer is an error here and not somewhere in its middle, and
// asks again where asking cannot do harm.
type limiter struct {
	next   http.RoundTripper
	report func(Wait)
	slots  chan struct{}
	writes []*rate.Limiter // each has to let a write pass
	pause  func(context.Context, time.Duration) error

	mu          sync.Mutex
	blocks      map[string]block // by resource
	secondaries int              // secondary limits in a row
	budget      Budget
}

func newLimiter(next http.RoundTripper, report func(Wait)) *limiter {
	return &limiter{
		next: next, report: report, slots: make(chan struct{}, parallel),
		writes: []*rate.Limiter{rate.NewLimiter(writeRate, writeBurst), rate.NewLimiter(hourlyRate, hourlyBurst)},
		pause:  retry.Sleep, blocks: map[string]block{},
	}
}

func onlyReads(q *http.Request) bool {
	return q.Method == http.MethodGet || q.Method == http.MethodHead
}

// RoundTrip implements http.RoundTripper.
func (l *limiter) RoundTrip(q *http.Request) (*http.Response, error) {
	return l.send(q, func(*http.Request) error { return nil })
}

// send sends a request. It is authorized when it may be sent, and not before: a
// token may expire while the request is delayed.
func (l *limiter) send(q *http.Request, authorize func(*http.Request) error) (*http.Response, error) {
	failed, limited := 0, 0
	for {
		attempt, err := again(q)
		if err != nil {
			return nil, err
		}
		if err := l.admit(attempt); err != nil {
			return nil, err
		}
		if err := authorize(attempt); err != nil {
			return nil, err
		}
		answer, err := l.once(attempt)
		switch {
		case err == nil && l.limited(answer):
			if limited++; limited >= limitedMost {
				return answer, nil
			}
			continue
		case !onlyReads(q) || q.Context().Err() != nil || !transient(answer, err):
			return answer, err
		}
		if failed++; failed >= tries {
			return answer, err
		}
		if err := l.pause(q.Context(), firstPause<<(2*(failed-1))); err != nil {
			return nil, err
		}
	}
}

// makesContent reports whether GitHub counts a request as one that makes content.
func makesContent(q *http.Request) bool {
	return !onlyReads(q) && !strings.HasSuffix(q.URL.Path, "/access_tokens")
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

// transient reports whether a failure may be gone in a moment.
func transient(answer *http.Response, err error) bool {
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
func (l *limiter) once(q *http.Request) (*http.Response, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-q.Context().Done():
		return nil, context.Cause(q.Context())
	}
	l.count(func(b *Budget) { b.Requests++ })
	ctx, cancel := context.WithTimeoutCause(q.Context(), callTimeout,
		fmt.Errorf("%w: no answer from %s within %s (%s)", gitclient.ErrNetwork, q.URL.Host, callTimeout, checkNetwork))
	defer cancel()
	answer, err := l.next.RoundTrip(q.WithContext(ctx))
	if err != nil {
		return nil, noAnswer(ctx, q, err)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	err = errors.Join(err, answer.Body.Close())
	if err != nil {
		return nil, noAnswer(ctx, q, fmt.Errorf("the answer ends early: %w", err))
	}
	if answer.StatusCode == http.StatusNotModified {
		l.count(func(b *Budget) { b.Unchanged++ })
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	return answer, nil
}

func noAnswer(ctx context.Context, q *http.Request, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("%w: %s %s: %w (%s)", gitclient.ErrNetwork, q.Method, q.URL.Host, err, checkNetwork)
}

func (l *limiter) count(change func(*Budget)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.budget)
}

func (l *limiter) state() Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget
}

const (
	conditionalBytes = 32 << 20
	conditionalOne   = 4 << 20 // an answer that is larger is not cached
)

// conditional caches answers with their ETag and asks GitHub whether they still
// hold. "304 Not Modified" costs nothing of the account's budget
// (docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api).
type conditional struct {
	next  http.RoundTripper
	cache *lru.Cache[*cachedAnswer]
}

type cachedAnswer struct {
	header http.Header
	body   []byte
}

func newConditional(next http.RoundTripper) *conditional {
	return &conditional{next, lru.New(conditionalBytes, func(a *cachedAnswer) int64 { return int64(len(a.body)) })}
}

// RoundTrip implements http.RoundTripper.
func (c *conditional) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet || q.Header.Get("If-None-Match") != "" {
		return c.next.RoundTrip(q)
	}
	key := q.URL.String() + "\x00" + q.Header.Get("Accept")
	old, cached := c.cache.Get(key)
	if cached {
		q = q.Clone(q.Context())
		q.Header.Set("If-None-Match", old.header.Get("ETag"))
	}
	answer, err := c.next.RoundTrip(q)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotModified && cached:
		return old.answer(q, answer), nil
	case answer.StatusCode != http.StatusOK || answer.Header.Get("ETag") == "":
		return answer, nil
	}
	body, err := peek(answer)
	if err != nil {
		return nil, err
	}
	if len(body) <= conditionalOne {
		c.cache.Put(key, &cachedAnswer{answer.Header.Clone(), body})
	}
	return answer, nil
}

// answer is the cached answer with what the new one says about limits.
func (a *cachedAnswer) answer(q *http.Request, fresh *http.Response) *http.Response {
	header := a.header.Clone()
	maps.Copy(header, fresh.Header)
	if link := a.header.Get("Link"); link != "" {
		header.Set("Link", link)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: fresh.Proto, ProtoMajor: fresh.ProtoMajor, ProtoMinor: fresh.ProtoMinor,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: q,
	}
}
