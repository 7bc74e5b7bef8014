package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

const (
	// What to do about a secondary limit that does not say how long it lasts
	// (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
	secondaryWait = time.Minute
	// A limit that lasts longer is an error at once: primary ones last an hour.
	longestWait = time.Hour + 5*time.Minute
	// Shorter waits are not reported.
	quietWait = 2 * time.Second
)

// Wait is why a request is delayed, and until when.
type Wait struct {
	Reason  string
	Until   time.Time
	Request string // method and path
}

// LimitError is a rate limit that lasts longer than the caller has time.
type LimitError struct {
	Reason string
	Until  time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s until %s: wait, have fewer schedulers share the account, or use a GitHub App, which has a budget of its own",
		e.Reason, e.Until.UTC().Format(time.RFC3339))
}

// Budget counts API requests. Limit, Remaining and Reset are what GitHub said
// last of the REST API; they are zero where it has no limits.
type Budget struct {
	Requests  int // sent so far, whatever their answer
	Unchanged int // of those, answered by 304, which GitHub does not count
	Limit     int
	Remaining int
	Reset     time.Time
}

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

// admit returns when a request may be sent.
func (l *limiter) admit(q *http.Request) error {
	for {
		b := l.blocked(resource(q))
		wait := time.Until(b.until)
		if wait <= 0 {
			break
		}
		if err := l.wait(q, b, wait); err != nil {
			return err
		}
	}
	if !makesContent(q) {
		return nil
	}
	var turns []*rate.Reservation
	var wait time.Duration
	for _, limit := range l.writes {
		turn := limit.Reserve()
		turns, wait = append(turns, turn), max(wait, turn.Delay())
	}
	if wait <= 0 {
		return nil
	}
	err := l.wait(q, block{"GitHub limits the rate of writes", time.Now().Add(wait)}, wait)
	if err != nil {
		for _, turn := range turns {
			turn.Cancel()
		}
	}
	return err
}

// wait waits because of a block. One that outlasts the caller is an error at
// once.
func (l *limiter) wait(q *http.Request, b block, wait time.Duration) error {
	ctx := q.Context()
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(b.until) || wait > longestWait {
		return &LimitError{b.reason, b.until}
	}
	if wait > quietWait {
		l.report(Wait{b.reason, b.until, q.Method + " " + q.URL.Path})
	}
	if err := l.pause(ctx, wait); err != nil {
		return fmt.Errorf("%s: waiting until %s: %w", b.reason, b.until.UTC().Format(time.RFC3339), context.Cause(ctx))
	}
	return nil
}

// blocked returns the block that lasts longest for a resource.
func (l *limiter) blocked(resource string) block {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.blocks[resource]
	if other := l.blocks[anyResource]; other.until.After(b.until) {
		b = other
	}
	return b
}

// limited notes what an answer says about limits and reports whether the request
// was refused because of one, so that it has had no effect.
func (l *limiter) limited(answer *http.Response) bool {
	h := answer.Header
	now := time.Now()
	remaining, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	known := err == nil
	limit, _ := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	reset := resetTime(h, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	what := h.Get("X-RateLimit-Resource")
	if what == "" {
		what = resource(answer.Request)
	}
	if known && what == restResource {
		l.budget.Limit, l.budget.Remaining, l.budget.Reset = limit, remaining, reset
	}
	if known && remaining == 0 && reset.After(now) {
		l.blocks[what] = block{fmt.Sprintf("the account's %d requests an hour are used up", limit), reset}
	}
	graph := graphLimit(answer)
	if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusTooManyRequests && !graph {
		l.secondaries = 0
		return false
	}
	const reason = "GitHub's secondary rate limit is exceeded"
	after, err := strconv.Atoi(h.Get("Retry-After"))
	switch {
	case err == nil && after >= 0:
		l.blocks[anyResource] = block{reason, now.Add(time.Duration(after) * time.Second)}
	case known && remaining == 0:
	case graph || answer.StatusCode == http.StatusTooManyRequests || secondary(answer):
		l.blocks[anyResource] = block{reason, now.Add(secondaryWait << min(l.secondaries, 4))}
		l.secondaries++
	default:
		return false
	}
	return true
}

// resetTime is when the budget is refilled, by this machine's clock.
func resetTime(h http.Header, now time.Time) time.Time {
	seconds, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return time.Time{}
	}
	reset := time.Unix(seconds, 0)
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		reset = reset.Add(now.Sub(theirs))
	}
	return reset.Add(time.Second) // both clocks are read in whole seconds
}

// secondary reports whether an answer names a secondary limit.
func secondary(answer *http.Response) bool {
	body, err := peek(answer)
	return err == nil && isSecondary(string(body))
}

func isSecondary(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "secondary rate limit") || strings.Contains(text, "abuse detection")
}

// graphLimit reports whether the GraphQL API has refused a request because of a
// limit. It does so with status 200.
func graphLimit(answer *http.Response) bool {
	if answer.StatusCode != http.StatusOK || resource(answer.Request) != graphQLLimit {
		return false
	}
	body, err := peek(answer)
	if err != nil || !bytes.Contains(body, []byte(`"errors"`)) {
		return false
	}
	var refused struct {
		Errors []graphError `json:"errors"`
	}
	return json.Unmarshal(body, &refused) == nil && slices.ContainsFunc(refused.Errors, graphError.limits)
}

// peek returns an answer's body, which can be read again.
func peek(answer *http.Response) ([]byte, error) {
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}
