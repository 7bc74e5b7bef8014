package arc

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	longestWait = 15 * time.Minute // a limit that lasts longer is an error at once
	quietWait   = 2 * time.Second  // nobody needs to hear of waits that nobody notices
	// What to do about a limit that does not say how long it lasts.
	limitPause = 5 * time.Second
	// ARM refills its budgets every second
	// (learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling).
	refill = time.Second
)

// block is a limit that is exceeded.
type block struct {
	reason string
	until  time.Time
}

// budget is what Azure counts a request as.
type budget string

const (
	graphQueries budget = "Resource Graph queries"
	reads        budget = "reads"
	writes       budget = "writes"
	deletes      budget = "deletes"
)

func budgetOf(q *http.Request) budget {
	switch {
	case strings.HasSuffix(q.URL.Path, graphPath):
		return graphQueries
	case q.Method == http.MethodGet:
		return reads
	case q.Method == http.MethodDelete:
		return deletes
	}
	return writes
}

// hold returns when a request may be sent.
func (p *patience) hold(q *http.Request) error {
	for {
		p.mu.Lock()
		b := p.blocks[budgetOf(q)]
		p.mu.Unlock()
		if time.Until(b.until) <= 0 {
			return nil
		}
		if err := p.sit(q, b); err != nil {
			return err
		}
		p.mu.Lock()
		if p.blocks[budgetOf(q)] == b {
			delete(p.blocks, budgetOf(q))
		}
		p.mu.Unlock()
	}
}

// sit waits because of a block, unless that is in vain.
func (p *patience) sit(q *http.Request, b block) error {
	ctx, wait := q.Context(), time.Until(b.until)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(b.until) || wait > longestWait {
		return &LimitError{b.reason, b.until}
	}
	if wait > quietWait {
		p.tell(Wait{b.reason, b.until, q.Method + " " + q.URL.Path})
	}
	if err := p.pause(ctx, wait); err != nil {
		return fmt.Errorf("%s: waiting until %s: %w", b.reason, b.until.UTC().Format(time.RFC3339), err)
	}
	return nil
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

// limits notes what an answer says about limits, and tells whether the request
// was turned down by one, so that it has had no effect.
func (p *patience) limits(q *http.Request, answer *http.Response) bool {
	now, of := time.Now(), budgetOf(q)
	p.mu.Lock()
	defer p.mu.Unlock()
	if reason, last := usedUp(of, answer.Header); last > 0 {
		p.blocks[of] = block{reason, now.Add(last)}
	}
	if answer.StatusCode != http.StatusTooManyRequests {
		p.strikes = 0
		return false
	}
	last := retryAfter(answer.Header, now)
	if last <= 0 && of == graphQueries {
		last = clockTime(answer.Header.Get("x-ms-user-quota-resets-after"))
	}
	if last <= 0 {
		last = limitPause << min(p.strikes, 5)
	}
	p.strikes++
	p.blocks[of] = block{fmt.Sprintf("Azure throttles the account's %s%s", of, inBrackets(code(answer))), now.Add(last)}
	return true
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// usedUp tells whether an answer was the last one of a budget, and for how long
// there are no more.
func usedUp(of budget, h http.Header) (reason string, last time.Duration) {
	if of == graphQueries {
		// learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests
		if h.Get("x-ms-user-quota-remaining") == "0" {
			return "the account's Resource Graph queries are used up", clockTime(h.Get("x-ms-user-quota-resets-after"))
		}
		return "", 0
	}
	for _, scope := range []string{"subscription-", "subscription-global-", "tenant-"} {
		if h.Get("x-ms-ratelimit-remaining-"+scope+string(of)) == "0" {
			return fmt.Sprintf("the %s's %s are used up", strings.TrimSuffix(strings.TrimSuffix(scope, "-"), "-global"), of), refill
		}
	}
	return "", 0
}

// retryAfter is how long an answer asks to wait, 0 when it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "x-ms-retry-after-ms"} {
		if n, err := strconv.Atoi(h.Get(name)); err == nil {
			return max(0, time.Duration(n)*time.Millisecond)
		}
	}
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// clockTime reads a duration written as hh:mm:ss.
func clockTime(text string) time.Duration {
	var h, m, s int
	if n, err := fmt.Sscanf(text, "%d:%d:%d", &h, &m, &s); n != 3 || err != nil {
		return 0
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
}
