package arc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	callTimeout = time.Minute // one request; ARM itself gives up after it
	tries       = 4           // of a request that gets no answer, or that Azure cannot serve
	firstPause  = 500 * time.Millisecond
	// loopbackPause is short: what does not answer on this machine is down
	loopbackPause = 50 * time.Millisecond
	limitedMost   = 10 // how often one request is sent again because of a limit
)

// patience sends requests when Azure wants them: none while a limit is exceeded,
// and again where an answer is missing or Azure is busy. It may send all of
// them again: what the client writes is what it wants to be there in the end,
// and the same twice is the same. It stands in the pipeline ahead of what adds
// the token, so that a request that has waited gets a fresh one.
type patience struct {
	endpoint *url.URL
	tell     func(Wait)
	first    time.Duration
	limit    time.Duration // of one request
	pause    func(context.Context, time.Duration) error

	mu      sync.Mutex
	blocks  map[budget]block
	strikes int // limits in a row that did not say how long they last
}

func newPatience(c Cloud, tell func(Wait)) *patience {
	return &patience{endpoint: c.url(), tell: tell, first: firstPause, limit: callTimeout, pause: pause, blocks: map[budget]block{}}
}

// Do implements policy.Policy.
func (p *patience) Do(q *policy.Request) (*http.Response, error) {
	raw := q.Raw()
	if err := p.fence(raw.URL); err != nil {
		return nil, err
	}
	failed, limited := 0, 0
	for {
		if err := p.hold(raw); err != nil {
			return nil, err
		}
		answer, err := p.once(q)
		if err == nil && p.limits(raw, answer) {
			if limited++; limited >= limitedMost {
				return answer, nil
			}
			continue
		}
		why, may := passing(answer, err)
		if failed++; !may || failed >= tries || raw.Context().Err() != nil {
			return answer, err
		}
		// without jitter all clients of a service that was away come at once
		wait := p.first << (2 * (failed - 1))
		if answer != nil {
			wait = max(wait, retryAfter(answer.Header, time.Now()))
		}
		if err := p.sit(raw, block{why, time.Now().Add(wait)}); err != nil {
			return nil, err
		}
	}
}

// fence refuses a link to another server, be it to the next page or to an
// operation: the token would go along. Azure's regions are below the endpoint.
func (p *patience) fence(to *url.URL) error {
	here, there := strings.ToLower(p.endpoint.Host), strings.ToLower(to.Host)
	if to.Scheme == p.endpoint.Scheme && (there == here || strings.HasSuffix(there, "."+here)) {
		return nil
	}
	return fmt.Errorf("the link that %s gave leads to another server, %s: it is not followed, since the token would go along", p.endpoint.Host, to.Host)
}

// once sends a request and reads its answer.
func (p *patience) once(q *policy.Request) (*http.Response, error) {
	if err := q.RewindBody(); err != nil {
		return nil, err
	}
	raw := q.Raw()
	ctx, cancel := context.WithTimeoutCause(raw.Context(), p.limit, fmt.Errorf("none within %s", p.limit))
	defer cancel()
	answer, err := q.Clone(ctx).Next()
	if err == nil {
		return answer, notJSON(answer)
	}
	var denied *SignInError
	switch {
	case raw.Context().Err() != nil:
		return nil, context.Cause(raw.Context())
	case errors.As(err, &denied):
		return nil, denied
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return nil, &NetworkError{Method: raw.Method, Host: raw.URL.Host, Err: cause(err)}
}

// notJSON is an error for an answer that says it is fine and is a web page.
func notJSON(answer *http.Response) error {
	kind := answer.Header.Get("Content-Type")
	body, err := runtime.Payload(answer)
	if answer.StatusCode >= http.StatusMultipleChoices || err == nil && len(body) == 0 || strings.Contains(kind, "json") {
		return nil
	}
	return &NotJSONError{Host: answer.Request.URL.Host, Type: kind, Err: err}
}

// cause is an error of http without the URL, which may be long and has no news.
func cause(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// passing tells whether a failure may be gone in a moment, and what it was.
func passing(answer *http.Response, err error) (why string, may bool) {
	var network *NetworkError
	if err != nil {
		return err.Error(), errors.As(err, &network) && !network.certificate()
	}
	switch answer.StatusCode {
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Sprintf("Azure cannot answer just now (http status %d%s)", answer.StatusCode, inBrackets(code(answer))), true
	}
	return "", false
}
