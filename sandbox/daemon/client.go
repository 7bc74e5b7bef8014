package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

var (
	// ErrNoDaemon is returned where no daemon answers.
	ErrNoDaemon = errors.New("the sandbox is not running")
	// ErrDown is returned where a running sandbox is needed and there is one that
	// does not run.
	ErrDown = errors.New("the sandbox is down: `kalypso up` brings it back")
	// ErrOlder is returned where the daemon does not know what it is asked for.
	ErrOlder = errors.New("the sandbox runs an older kalypso, which cannot do that: `kalypso down`, then `kalypso up`, moves it over")
)

// Client calls the daemon of a sandbox. All calls may be made twice.
type Client struct {
	home state.Home
	http *http.Client
}

// NewClient returns a client; whether a daemon runs shows with the first call.
func NewClient(h state.Home) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: callLimit}).DialContext(ctx, "unix", h.Socket())
	}
	return &Client{h, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://kalypso"+path, body)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		if isNoDaemon(err) {
			err = errors.Join(ErrNoDaemon, err)
		}
		return nil, err
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return nil, &statusError{response.StatusCode, path, strings.TrimSpace(string(b))}
	}
	return response, nil
}

// statusError is a response that is no success.
type statusError struct {
	code    int
	path    string
	message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the daemon answers %d %s to %s: %s", e.code, http.StatusText(e.code), e.path, e.message)
}

// isNoDaemon reports whether a call failed because no daemon listens, or one
// was dying: its socket still takes connections for a moment and then resets
// them.
func isNoDaemon(err error) bool {
	for _, sign := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// Post makes a short call.
func (c *Client) Post(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	response, err := c.request(ctx, http.MethodPost, path, nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Do makes a call that may take long, and reports on the components meanwhile;
// answer and progress may be nil. The error is state.ErrNoSandbox or ErrDown
// where no daemon runs, and a *usage.Error where the daemon refuses.
func (c *Client) Do(ctx context.Context, path string, query url.Values, answer any, progress func([]supervisor.Status)) error {
	return c.call(ctx, path+"?"+query.Encode(), nil, answer, progress)
}

// call is Do with a body.
func (c *Client) call(ctx context.Context, path string, body io.Reader, answer any, progress func([]supervisor.Status)) error {
	if _, err := c.Components(ctx); err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	var shown sync.WaitGroup
	if progress != nil {
		shown.Go(func() {
			_ = c.Follow(following, func(all []supervisor.Status) bool { // the call itself has the error
				progress(all)
				return true
			})
		})
	}
	response, err := c.request(ctx, http.MethodPost, path, body)
	cancel()
	shown.Wait()
	if progress != nil {
		if now, err := c.Components(ctx); err == nil {
			progress(now) // the last change
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return c.explain(err)
	}
	defer response.Body.Close()
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("the daemon's answer to %s: %w", path, err)
	}
	return nil
}

// Clusters lists the clusters. Errors are those of Do.
func (c *Client) Clusters(ctx context.Context) (all []stack.Cluster, err error) {
	if _, err := c.Components(ctx); err != nil {
		return nil, err
	}
	response, err := c.request(ctx, http.MethodGet, PathClusters, nil)
	if err != nil {
		return nil, c.explain(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return nil, fmt.Errorf("the daemon's clusters: %w", err)
	}
	return all, nil
}

// ChangeClusters adds and removes clusters, and reports on the components meanwhile;
// progress may be nil. Errors are those of Do.
func (c *Client) ChangeClusters(ctx context.Context, request stack.ClusterRequest, progress func([]supervisor.Status)) (answer stack.ClusterAnswer, err error) {
	b, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	return answer, c.call(ctx, PathClusters, bytes.NewReader(b), &answer, progress)
}

// explain turns a failed call into an error for the user.
func (c *Client) explain(err error) error {
	var status *statusError
	switch {
	case errors.Is(err, ErrNoDaemon):
		return c.DiedError()
	case !errors.As(err, &status):
		return err
	case status.code == http.StatusUnprocessableEntity:
		return usage.New(status.message)
	case status.code == http.StatusConflict:
		return errors.New(status.message)
	case status.code == http.StatusNotFound:
		return ErrOlder
	}
	return err
}

// DiedError is about a daemon that has ended unasked, with its last words.
func (c *Client) DiedError() error {
	log := c.home.Log("daemon")
	return fmt.Errorf("the daemon ended; the last lines of %s:\n  %s", log, strings.Join(supervisor.Tail(log, 10), "\n  "))
}

// Status asks for the whole status.
func (c *Client) Status(ctx context.Context) (*stack.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	response, err := c.request(ctx, http.MethodGet, pathStatus, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var s stack.Status
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		return nil, fmt.Errorf("the daemon's status: %w", err)
	}
	return &s, nil
}

// Follow calls each with the present status of all components and then with
// every change, until it returns false, ctx ends, or the daemon does, which is
// ErrNoDaemon.
func (c *Client) Follow(ctx context.Context, each func([]supervisor.Status) bool) error {
	response, err := c.request(ctx, http.MethodGet, pathEvents, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := json.NewDecoder(response.Body)
	var all []supervisor.Status
	for {
		var e event
		if err := lines.Decode(&e); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.Join(ErrNoDaemon, err)
		}
		if e.All != nil {
			all = e.All
		}
		if e.Change != nil {
			for i := range all {
				if all[i].Name == e.Change.Name {
					all[i] = *e.Change
				}
			}
		}
		if !each(all) {
			return nil
		}
	}
}

// Components returns the present status of all components, without what takes
// time to find out. Without a daemon the error is state.ErrNoSandbox or ErrDown.
func (c *Client) Components(ctx context.Context) (now []supervisor.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err = c.Follow(ctx, func(all []supervisor.Status) bool {
		now = all
		return false
	})
	switch {
	case errors.Is(err, ErrNoDaemon) && !c.home.Exists():
		err = state.ErrNoSandbox
	case errors.Is(err, ErrNoDaemon):
		err = ErrDown
	}
	return now, err
}
