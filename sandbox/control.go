package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Paths of the control door, HTTP on a unix socket that only its owner may
// open.
const (
	pathStatus  = "/v1/status"
	pathEvents  = "/v1/events"
	pathRepair  = "/v1/repair"
	pathRestart = "/v1/restart" // ?component=NAME
	pathStop    = "/v1/stop"
)

const (
	callLimit = 5 * time.Second
	// takeLimit is how long a component may be busy before it takes the request
	// to restart it.
	takeLimit = 30 * time.Second
)

// event is one line of the event stream: the whole list when it begins, then
// one changed component at a time.
type event struct {
	All    []supervisor.Status `json:"all,omitempty"`
	Change *supervisor.Status  `json:"change,omitempty"`
}

// control is the daemon's side of the door.
type control struct {
	supervisor *supervisor.Supervisor
	status     func(ctx context.Context) Status
	stop       func()
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.status(r.Context()))
	})
	mux.HandleFunc("GET "+pathEvents, c.events)
	mux.HandleFunc("POST "+pathRepair, func(w http.ResponseWriter, r *http.Request) {
		c.supervisor.Repair()
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST "+pathRestart, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), takeLimit)
		defer cancel()
		if err := c.supervisor.Restart(ctx, r.URL.Query().Get("component")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST "+pathStop, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		c.stop()
	})
	return mux
}

func (c *control) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	now, changes, cancel := c.supervisor.Watch()
	defer cancel()
	if lines.Encode(event{All: now}) != nil || flush.Flush() != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case s, ok := <-changes:
			if !ok {
				return // all is down, and has been told
			}
			if lines.Encode(event{Change: &s}) != nil || flush.Flush() != nil {
				return
			}
		}
	}
}

// errNoDaemon says that nobody answers at the door.
var errNoDaemon = errors.New("the sandbox is not running")

// door is the client's side.
type door struct{ client *http.Client }

func openDoor(h Home) *door {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: callLimit}).DialContext(ctx, "unix", h.Socket())
	}
	return &door{&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

func (d *door) request(ctx context.Context, method, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://kalypso"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := d.client.Do(r)
	if err != nil {
		if nobodyThere(err) {
			err = errors.Join(errNoDaemon, err)
		}
		return nil, err
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return nil, &answerError{response.StatusCode, path, strings.TrimSpace(string(b))}
	}
	return response, nil
}

// answerError is a daemon's refusal.
type answerError struct {
	code    int
	path    string
	message string
}

func (e *answerError) Error() string {
	return fmt.Sprintf("the daemon answers %d %s to %s: %s", e.code, http.StatusText(e.code), e.path, e.message)
}

// nobodyThere tells whether a call failed because no daemon listens, or one
// was dying: its socket still takes connections for a moment and then resets
// them. All calls may be made twice, so nothing hangs on which it was.
func nobodyThere(err error) bool {
	for _, sign := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

func (d *door) post(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return d.postSlowly(ctx, path)
}

// postSlowly has no limit but that of ctx.
func (d *door) postSlowly(ctx context.Context, path string) error {
	response, err := d.request(ctx, http.MethodPost, path)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (d *door) status(ctx context.Context) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	response, err := d.request(ctx, http.MethodGet, pathStatus)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var s Status
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		return nil, fmt.Errorf("the daemon's status: %w", err)
	}
	return &s, nil
}

// follow calls each with the present status of all components and then with
// every change, until it returns false, ctx ends, or the daemon does.
func (d *door) follow(ctx context.Context, each func([]supervisor.Status) bool) error {
	response, err := d.request(ctx, http.MethodGet, pathEvents)
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
			return errors.Join(errNoDaemon, err)
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

// components is the present status of all, without what takes time to find
// out.
func (d *door) components(ctx context.Context) ([]supervisor.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var now []supervisor.Status
	err := d.follow(ctx, func(all []supervisor.Status) bool {
		now = all
		return false
	})
	return now, err
}
