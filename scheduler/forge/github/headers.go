package github

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// limits notes what an answer says about limits and tells whether the request
// was turned down by one, so that it has had no effect.
func (p *patience) limits(answer *http.Response) bool {
	h := answer.Header
	now := time.Now()
	remaining, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	known := err == nil
	limit, _ := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	reset := resetTime(h, now)
	p.mu.Lock()
	defer p.mu.Unlock()
	what := h.Get("X-RateLimit-Resource")
	if what == "" {
		what = resource(answer.Request)
	}
	if known && what == restResource {
		p.budget.Limit, p.budget.Remaining, p.budget.Reset = limit, remaining, reset
	}
	if known && remaining == 0 && reset.After(now) {
		p.blocks[what] = block{fmt.Sprintf("the account's %d requests an hour are used up", limit), reset}
	}
	graph := graphLimit(answer)
	if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusTooManyRequests && !graph {
		p.strikes = 0
		return false
	}
	after, err := strconv.Atoi(h.Get("Retry-After"))
	switch {
	case err == nil && after >= 0:
		p.blocks[anyResource] = block{"GitHub's secondary rate limit is exceeded", now.Add(time.Duration(after) * time.Second)}
	case known && remaining == 0:
	case graph || answer.StatusCode == http.StatusTooManyRequests || secondary(answer):
		p.blocks[anyResource] = block{"GitHub's secondary rate limit is exceeded", now.Add(secondaryWait << min(p.strikes, 4))}
		p.strikes++
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

// secondary tells whether an answer speaks of a secondary limit.
func secondary(answer *http.Response) bool {
	body, err := peek(answer)
	return err == nil && isSecondary(string(body))
}

func isSecondary(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "secondary rate limit") || strings.Contains(text, "abuse detection")
}

// graphLimit tells whether the GraphQL API has turned a request down because of
// a limit. It does so with status 200.
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
