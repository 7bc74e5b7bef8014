package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
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

	pathClusterStop  = "/v1/clusters/stop"  // ?cluster=NAME
	pathClusterStart = "/v1/clusters/start" // ?cluster=NAME
	pathReset        = "/v1/reset"
	pathSnapshotSave = "/v1/snapshots/save" // ?name=NAME
	pathSnapshotLoad = "/v1/snapshots/load" // ?name=NAME
)

const (
	callLimit = 5 * time.Second
	// repairLimit is how long the daemon may look at its components, within a
	// call.
	repairLimit = 4 * time.Second
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
	runs    *runs
	home    Home
	state   *State
	version string
	log     *slog.Logger
	status  func(ctx context.Context) Status
	stop    func()
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.status(r.Context()))
	})
	mux.HandleFunc("GET "+pathEvents, c.events)
	mux.HandleFunc("POST "+pathRepair, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), repairLimit)
		defer cancel()
		s, _ := c.runs.current()
		s.Repair(ctx)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST "+pathRestart, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), takeLimit)
		defer cancel()
		s, _ := c.runs.current()
		if err := s.Restart(ctx, r.URL.Query().Get("component")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST "+pathStop, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		c.stop()
	})
	mux.HandleFunc("POST "+pathClusterStop, c.alone("a cluster is being stopped", func(r *http.Request) (any, error) {
		return c.stopCluster(r.Context(), r.URL.Query().Get("cluster"))
	}))
	mux.HandleFunc("POST "+pathClusterStart, c.alone("a cluster is being started", func(r *http.Request) (any, error) {
		return c.startCluster(r.Context(), r.URL.Query().Get("cluster"))
	}))
	mux.HandleFunc("POST "+pathReset, c.alone("the sandbox is being reset", func(*http.Request) (any, error) {
		return struct{}{}, c.reset()
	}))
	mux.HandleFunc("POST "+pathSnapshotSave, c.alone("a snapshot is being saved", func(r *http.Request) (any, error) {
		return c.saveSnapshot(r.Context(), r.URL.Query().Get("name"))
	}))
	mux.HandleFunc("POST "+pathSnapshotLoad, c.alone("a snapshot is being loaded", func(r *http.Request) (any, error) {
		return struct{}{}, c.loadSnapshot(r.Context(), r.URL.Query().Get("name"))
	}))
	return mux
}

// alone handles requests that must not overlap, and answers when it is done.
func (c *control) alone(what string, do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		release, err := c.runs.reserve(what)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		defer release()
		answer, err := do(r)
		var usage *UsageError
		switch {
		case errors.As(err, &usage):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		case err != nil:
			c.log.Warn("not done", "path", r.URL.Path, "reason", err)
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		}
	}
}

// events goes on for as long as somebody reads and the daemon lives, also when
// one supervisor follows on another.
func (c *control) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	send := func(e event) bool { return lines.Encode(e) == nil && flush.Flush() == nil }
	for {
		s, next := c.runs.current()
		if !pass(r.Context(), s, send) {
			return
		}
		// all of this one is down, and has been told
		select {
		case <-next:
		case <-c.runs.over:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// pass sends what one supervisor tells until it has ended. It returns false
// when nobody listens any more.
func pass(ctx context.Context, s *supervisor.Supervisor, send func(event) bool) bool {
	now, changes, cancel := s.Watch()
	defer cancel()
	if !send(event{All: now}) {
		return false
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case change, ok := <-changes:
			if !ok {
				return true
			}
			if !send(event{Change: &change}) {
				return false
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

// ask makes the daemon do something that may take long, and shows what the
// components do meanwhile. The error is ErrNoSandbox or ErrDown where no
// daemon can be asked, and a *UsageError where the daemon says so.
func (d *door) ask(ctx context.Context, h Home, path string, answer any, progress func([]supervisor.Status)) error {
	if _, err := d.components(ctx); errors.Is(err, errNoDaemon) {
		if !h.Exists() {
			return ErrNoSandbox
		}
		return ErrDown
	} else if err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	if progress != nil {
		shown.Go(func() {
			_ = d.follow(following, func(all []supervisor.Status) bool { // its end is no news
				progress(all)
				return true
			})
		})
	}
	response, err := d.request(ctx, http.MethodPost, path)
	cancel()
	shown.Wait()
	if now, err := d.components(ctx); err == nil && progress != nil {
		progress(now) // the last of it
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return refused(h, err)
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

// refused turns a daemon's answer into what it means.
func refused(h Home, err error) error {
	var answer *answerError
	switch {
	case errors.Is(err, errNoDaemon):
		return daemonDied(h)
	case !errors.As(err, &answer):
		return err
	case answer.code == http.StatusUnprocessableEntity:
		return &UsageError{answer.message}
	case answer.code == http.StatusConflict:
		return errors.New(answer.message)
	case answer.code == http.StatusNotFound:
		return errors.New("the sandbox runs an older kalypso, which cannot do that: `kalypso down`, then `kalypso up`, moves it over")
	}
	return err
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
