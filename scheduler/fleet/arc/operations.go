package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	operationLimit = 30 * time.Minute
	pollEvery      = 5 * time.Second
)

// begin sends a write. Where Azure is still busy with one before, be it of
// somebody else or the very same whose answer was lost, it waits for that one
// and sends it again.
func (c *Client) begin(ctx context.Context, w change, query []string, expected ...int) (*http.Response, error) {
	send := func() (*http.Response, error) {
		r, err := c.request(ctx, w.method, c.own(w.cluster).ConfigurationID(w.name), configurationVersion, w.body)
		if err != nil {
			return nil, err
		}
		if len(query) == 2 {
			q := r.Raw().URL.Query()
			q.Set(query[0], query[1])
			r.Raw().URL.RawQuery = q.Encode()
		}
		return c.send(r, expected...)
	}
	response, err := send()
	if !hasStatus(err, http.StatusConflict) {
		return response, err
	}
	waited, waitErr := c.idle(ctx, w)
	if waitErr != nil {
		return nil, waitErr
	}
	if !waited {
		return response, err
	}
	return send()
}

// idle waits until nothing is under way on a configuration, and tells whether
// something was.
func (c *Client) idle(ctx context.Context, w change) (waited bool, err error) {
	err = c.watch(ctx, w.String()+", after an earlier write", func(ctx context.Context) (string, time.Duration, bool, error) {
		found, err := c.Get(ctx, w.cluster, w.name)
		switch {
		case noConfiguration(err):
			return "", 0, true, nil
		case err != nil:
			return "", 0, false, err
		}
		switch state := found.Properties.ProvisioningState; state {
		case "", "Succeeded", "Failed", "Canceled":
			return "", 0, true, nil
		default:
			waited = true
			return "is " + state, c.pace, false, nil
		}
	})
	return waited, err
}

// follow waits until an operation has ended, as the headers of its first answer
// say (learn.microsoft.com/azure/azure-resource-manager/management/async-operations),
// and reads into out what it has made, unless that is nil.
func (c *Client) follow(ctx context.Context, w change, response *http.Response, out *Configuration) error {
	poller, err := runtime.NewPoller[json.RawMessage](response, c.arm.Pipeline(), nil)
	if err != nil {
		return err
	}
	pause := retryAfter(response.Header, time.Now())
	return c.watch(ctx, w.String(), func(ctx context.Context) (string, time.Duration, bool, error) {
		if wait := pause; wait > 0 && !poller.Done() {
			pause = 0
			return "has begun", wait, false, nil
		}
		if !poller.Done() {
			answer, err := poller.Poll(ctx)
			if err != nil {
				return "", 0, false, c.failure(err)
			}
			response = answer
		}
		switch status := state(response); {
		case !poller.Done():
			return "is " + status, retryAfter(response.Header, time.Now()), false, nil
		case strings.EqualFold(status, "Failed"), strings.EqualFold(status, "Canceled"):
			_, err := poller.Result(ctx) // asks nothing any more
			return "", 0, false, c.failure(err)
		case out == nil:
			return "", 0, true, nil
		}
		// not by the poller, which takes any answer for the last one
		err := c.get(ctx, c.own(w.cluster).ConfigurationID(w.name), configurationVersion, out)
		return "", 0, err == nil, err
	})
}

// watch looks at something until it is done, for as long as an operation may
// take. A look that brings no news because Azure does not answer is not the
// end; an answer that says no is.
func (c *Client) watch(ctx context.Context, what string, look func(context.Context) (state string, pause time.Duration, done bool, err error)) error {
	bounded, cancel := context.WithTimeout(ctx, c.operationLimit)
	defer cancel()
	began, last := time.Now(), "nothing was heard of it"
	for {
		state, wait, done, err := look(bounded)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w (%s)", context.Cause(ctx), last)
		case bounded.Err() != nil:
			return &OperationError{What: what, After: time.Since(began), Last: last}
		case err != nil && !mayPass(err):
			return err
		case err != nil:
			last = err.Error()
		case done:
			return nil
		default:
			last = "it " + state
		}
		if wait <= 0 {
			wait = c.pace
		}
		if wait > quietWait {
			c.tell(Wait{Reason: last, Until: time.Now().Add(wait), Request: what})
		}
		_ = pause(bounded, wait) // the next look says why there is none
	}
}

// mayPass tells whether an error says nothing about what was asked for, so that
// asking again later is worth it.
func mayPass(err error) bool {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Code == "" || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests
	case errors.As(err, new(*NetworkError)), errors.As(err, new(*NotJSONError)):
		return true
	case errors.As(err, new(*LimitError)):
		return true
	}
	return false
}

// state is what an answer says of an operation.
func state(answer *http.Response) string {
	var body struct {
		Status     string `json:"status"`
		Properties struct {
			State string `json:"provisioningState"`
		} `json:"properties"`
	}
	b, err := runtime.Payload(answer)
	if err != nil || json.Unmarshal(b, &body) != nil {
		return "under way"
	}
	return cmp.Or(body.Status, body.Properties.State, "under way")
}
