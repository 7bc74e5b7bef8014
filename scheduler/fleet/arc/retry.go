package arc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

const (
	tryTimeout    = time.Minute // ARM itself gives up on a request after it
	maxRetries    = 3
	retryDelay    = 800 * time.Millisecond
	loopbackDelay = 50 * time.Millisecond // a server of this machine that does not answer is down
	limitDelay    = 5 * time.Second       // for a rate limit that does not say how long it lasts
	longestWait   = 15 * time.Minute      // a rate limit that lasts longer is an error at once
	quietWait     = 2 * time.Second       // shorter waits are not reported
)

// Wait is a time in which a request is held back, or an operation goes on.
type Wait struct {
	Reason  string
	Until   time.Time // the next try, or the deadline of the operation
	Request string    // method and path, or the operation
}

// LimitError is a rate limit that lasts longer than the caller's deadline, or
// that does not end.
type LimitError struct {
	Reason string
	Until  time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s until %s: wait, ask less often, or have fewer programs share the account",
		e.Reason, e.Until.UTC().Format(time.RFC3339))
}

// retryPolicy sets what azcore's retry policy does with a request: it is sent
// again after a missing answer, an error of the server, or a rate limit. All
// requests may be: a write says what the state is to be, and the same twice is
// the same. Requests that come while a rate limit lasts are held back.
type retryPolicy struct {
	endpoint *url.URL
	report   func(Wait)
	options  policy.RetryOptions

	mu     sync.Mutex
	limits map[string]LimitError // by the kind of request that Azure counts
}

func newRetryPolicy(endpoint *url.URL, report func(Wait)) *retryPolicy {
	return &retryPolicy{
		endpoint: endpoint, report: report, limits: map[string]LimitError{},
		options: policy.RetryOptions{MaxRetries: maxRetries, TryTimeout: tryTimeout, RetryDelay: retryDelay, MaxRetryDelay: longestWait},
	}
}

// Do implements policy.Policy. It is ahead of azcore's retry policy.
func (p *retryPolicy) Do(q *policy.Request) (*http.Response, error) {
	raw := q.Raw()
	if err := p.checkHost(raw.URL); err != nil {
		return nil, err
	}
	if limit := p.limit(raw); time.Now().Before(limit.Until) {
		if tooLate(raw.Context(), limit.Until) {
			return nil, &limit
		}
		p.reportWait(raw, limit.Reason, limit.Until)
		if err := retry.Sleep(raw.Context(), time.Until(limit.Until)); err != nil {
			return nil, fmt.Errorf("%s: %w", limit.Reason, err)
		}
	}
	options, try := p.options, 0
	options.ShouldRetry = func(answer *http.Response, err error) bool {
		try++
		return p.shouldRetry(raw, try, answer, err)
	}
	answer, err := q.Clone(policy.WithRetryOptions(raw.Context(), options)).Next()
	if err != nil {
		return nil, noAnswer(raw, err)
	}
	if limit := p.limit(raw); answer.StatusCode == http.StatusTooManyRequests && limit.Reason != "" {
		return nil, &limit
	}
	body, err := runtime.Payload(answer)
	if answer.StatusCode < http.StatusMultipleChoices && len(body) > 0 && !strings.Contains(answer.Header.Get("Content-Type"), "json") {
		return nil, notJSON(answer, err)
	}
	return answer, nil
}

// brokenAnswers lets azcore's retry policy, which is ahead of it, send any request
// again whose answer broke off. On its own it does not for POST and PATCH.
type brokenAnswers struct{}

func (brokenAnswers) Do(q *policy.Request) (*http.Response, error) {
	answer, err := q.Next()
	var final interface {
		NonRetriable()
		Unwrap() error
	}
	if errors.As(err, &final) {
		err = final.Unwrap()
	}
	return answer, err
}

// checkHost refuses a link to another server, be it to the next page or to an
// operation: the token would go along. Azure's regions are below the endpoint.
func (p *retryPolicy) checkHost(link *url.URL) error {
	own, host := strings.ToLower(p.endpoint.Host), strings.ToLower(link.Host)
	if link.Scheme == p.endpoint.Scheme && (host == own || strings.HasSuffix(host, "."+own)) {
		return nil
	}
	return fmt.Errorf("the link that %s gave leads to another server, %s: it is not followed, since the token would go along", p.endpoint.Host, link.Host)
}

// shouldRetry is for azcore's retry policy, which waits as a header of the answer
// says, or with its exponential backoff.
func (p *retryPolicy) shouldRetry(q *http.Request, try int, answer *http.Response, err error) bool {
	reason := ""
	delay := retryAfter(answer)
	switch {
	case err != nil && errors.As(err, new(*tls.CertificateVerificationError)):
		return false
	case err != nil:
		reason = "no answer: " + withoutURL(err).Error()
	case answer.StatusCode == http.StatusTooManyRequests:
		kind := countedAs(q)
		reason = fmt.Sprintf("Azure throttles the account's %s%s", kind, inBrackets(answer))
		if delay == 0 {
			delay = limitDelay << min(try-1, 5)
			answer.Header.Set("Retry-After-Ms", strconv.FormatInt(delay.Milliseconds(), 10))
		}
		p.mu.Lock()
		p.limits[kind] = LimitError{reason, time.Now().Add(delay)}
		p.mu.Unlock()
	case runtime.HasStatusCode(answer, http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout):
		reason = fmt.Sprintf("Azure cannot answer (http status %d%s)", answer.StatusCode, inBrackets(answer))
	default:
		return false
	}
	if delay == 0 {
		delay = p.options.RetryDelay * time.Duration(1<<try-1) // azcore's backoff, which has jitter
	}
	until := time.Now().Add(delay)
	if tooLate(q.Context(), until) {
		return false
	}
	if try <= maxRetries {
		p.reportWait(q, reason, until)
	}
	return true
}

func (p *retryPolicy) reportWait(q *http.Request, reason string, until time.Time) {
	if time.Until(until) > quietWait {
		p.report(Wait{reason, until, q.Method + " " + q.URL.Path})
	}
}

// limit is the last known limit on requests of a kind.
func (p *retryPolicy) limit(q *http.Request) LimitError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits[countedAs(q)]
}

// countedAs is the kind of request that Azure counts for its rate limits
// (learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling).
func countedAs(q *http.Request) string {
	switch {
	case strings.HasSuffix(q.URL.Path, graphPath):
		return "Resource Graph queries"
	case q.Method == http.MethodGet:
		return "reads"
	case q.Method == http.MethodDelete:
		return "deletes"
	}
	return "writes"
}

// tooLate is whether a wait is in vain.
func tooLate(ctx context.Context, until time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && deadline.Before(until) || time.Until(until) > longestWait
}

// retryAfter is how long an answer asks to wait, 0 when it does not. Where only
// the Resource Graph's own header says so, it becomes one that azcore knows
// (learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests).
func retryAfter(answer *http.Response) time.Duration {
	if answer == nil {
		return 0
	}
	h := answer.Header
	for _, name := range []string{"Retry-After-Ms", "x-ms-retry-after-ms"} {
		if n, err := strconv.Atoi(h.Get(name)); err == nil && n > 0 {
			return time.Duration(n) * time.Millisecond
		}
	}
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, time.Until(at))
	}
	var hours, minutes, seconds int
	if n, err := fmt.Sscanf(h.Get("x-ms-user-quota-resets-after"), "%d:%d:%d", &hours, &minutes, &seconds); n == 3 && err == nil {
		h.Set("Retry-After", strconv.Itoa(hours*3600+minutes*60+seconds))
		return time.Duration(hours*3600+minutes*60+seconds) * time.Second
	}
	return 0
}

func inBrackets(answer *http.Response) string {
	if code, _ := errorOf(answer); code != "" {
		return " (" + code + ")"
	}
	return ""
}
