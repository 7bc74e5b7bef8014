package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Paths of the API, HTTP on a unix socket that only its owner may open. The
// names are query parameters.
const (
	pathStatus  = "/v1/status"
	pathEvents  = "/v1/events"
	PathRepair  = "/v1/repair"
	PathRestart = "/v1/restart" // ?component=NAME
	PathStop    = "/v1/stop"
	// PathCredentials is answered with stack.RenewedCredentials.
	PathCredentials = "/v1/credentials"

	PathClusterStop  = "/v1/clusters/stop"  // ?cluster=NAME
	PathClusterStart = "/v1/clusters/start" // ?cluster=NAME
	// PathClusters is answered to GET with a list of stack.Cluster, and takes a
	// stack.ClusterRequest as its body to POST, answered with a stack.ClusterAnswer.
	PathClusters = "/v1/clusters"
	PathReset    = "/v1/reset"
	// PathRenew is a reset to the workshop that state.Home.CopyWorkshop has copied.
	PathRenew        = "/v1/reset/workshop"
	PathSnapshotSave = "/v1/snapshots/save" // ?name=NAME
	PathSnapshotLoad = "/v1/snapshots/load" // ?name=NAME
)

const (
	callLimit = 5 * time.Second
	// maxClusters is enough for the bytes of a stack.ClusterRequest of any use.
	maxClusters = 64 << 20
	// repairLimit is how long the daemon may probe its components, within a call.
	repairLimit = 4 * time.Second
	// changeLimit is how long clusters may take to be removed.
	changeLimit = 3 * time.Minute
	// restartLimit is how long a component may be busy before it takes the request
	// to restart.
	restartLimit = 30 * time.Second
)

// event is one line of the event stream: the whole list when it begins, then
// one changed component at a time.
type event struct {
	All    []supervisor.Status `json:"all,omitempty"`
	Change *supervisor.Status  `json:"change,omitempty"`
}

// Parts are the components of a sandbox with what belongs to them; the functions
// may be nil.
type Parts struct {
	Units       []supervisor.Unit
	Status      StatusFunc
	Credentials CredentialsFunc
	Clusters    Clusters
}

// StatusFunc adds to a status what the components themselves know.
type StatusFunc func(context.Context, *stack.Status)

// Server supervises components and serves the daemon's API.
type Server struct {
	Home    state.Home
	State   *state.State
	Version string // of this program
	Log     *slog.Logger
	// Build returns the components anew for each supervisor.
	Build func() Parts

	supervisors *supervisorManager
	stop        context.CancelFunc
	began       time.Time
}

// Run starts the components and serves until ctx ends or a client stops it.
func (s *Server) Run(ctx context.Context) (err error) {
	s.supervisors, err = newSupervisorManager(s.supervise)
	if err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	s.began = time.Now().UTC().Truncate(time.Second)
	// a socket that is here belonged to a daemon that is gone: we hold the lock
	if err := os.Remove(s.Home.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := listenPrivately(s.Home.Socket())
	if err != nil {
		return err
	}
	// no limit on writing: the event stream goes on for as long as it is read
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: callLimit}
	go func() { _ = server.Serve(listener) }()
	s.sweep()
	err = s.supervisors.run(ctx)
	// serves until all is down, so that clients can follow that
	last, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return errors.Join(err, server.Shutdown(last))
}

// supervise makes a supervisor that does not start the stopped clusters.
func (s *Server) supervise() (*supervised, error) {
	parts := s.Build()
	made, err := supervisor.New(s.Log, parts.Units...)
	if err != nil {
		return nil, err
	}
	stopped, err := s.Home.StoppedClusters()
	for _, name := range stopped {
		if err := made.Hold(name, stopReason(name)); err != nil {
			s.Log.Warn("a cluster that is to stay stopped is not known", "reason", err)
		}
	}
	return &supervised{made, parts.Status, parts.Credentials, parts.Clusters}, err
}

// listenPrivately makes the socket with mode 0600 from its first moment.
func listenPrivately(path string) (net.Listener, error) {
	before := posix.Umask(0o177)
	defer posix.Umask(before)
	return net.Listen("unix", path)
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.status(r.Context()))
	})
	mux.HandleFunc("GET "+pathEvents, s.events)
	mux.HandleFunc("POST "+PathRepair, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), repairLimit)
		defer cancel()
		s.current().Repair(ctx)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST "+PathRestart, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), restartLimit)
		defer cancel()
		if err := s.current().Restart(ctx, r.FormValue("component")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST "+PathCredentials, s.renewCredentials)
	mux.HandleFunc("POST "+PathStop, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		s.stop()
	})
	mux.HandleFunc("POST "+PathClusterStop, s.exclusive("a cluster is being stopped", func(r *http.Request) (any, error) {
		return s.setStopped(r.Context(), r.FormValue("cluster"), true)
	}))
	mux.HandleFunc("POST "+PathClusterStart, s.exclusive("a cluster is being started", func(r *http.Request) (any, error) {
		return s.setStopped(r.Context(), r.FormValue("cluster"), false)
	}))
	mux.HandleFunc("GET "+PathClusters, s.listClusters)
	mux.HandleFunc("POST "+PathClusters, s.exclusive("the clusters are being changed", s.changeClusters))
	for path, prepared := range map[string]bool{PathReset: false, PathRenew: true} {
		mux.HandleFunc("POST "+path, s.exclusive("the sandbox is being reset", func(*http.Request) (any, error) {
			return struct{}{}, s.replaceData(func() error { return ResetData(s.Home, prepared) })
		}))
	}
	mux.HandleFunc("POST "+PathSnapshotSave, s.exclusive("a snapshot is being saved", func(r *http.Request) (any, error) {
		return s.saveSnapshot(r.Context(), r.FormValue("name"))
	}))
	mux.HandleFunc("POST "+PathSnapshotLoad, s.exclusive("a snapshot is being loaded", func(r *http.Request) (any, error) {
		name := r.FormValue("name")
		staged, err := snapshot.Unpack(r.Context(), s.Home, name)
		if err != nil {
			return nil, err
		}
		return struct{}{}, s.replaceData(func() error { return snapshot.Load(s.Home, name, staged) })
	}))
	return mux
}

// exclusive handles requests that must not overlap, and answers when it is done.
func (s *Server) exclusive(what string, do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		release, err := s.supervisors.reserve(what)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		defer release()
		answer, err := do(r)
		var mistake *usage.Error
		switch {
		case errors.As(err, &mistake):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		case err != nil:
			s.Log.Warn("not done", "path", r.URL.Path, "reason", err)
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		}
	}
}

// events streams for as long as the client reads and the daemon lives, also when
// one supervisor follows on another.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	send := func(e event) bool { return lines.Encode(e) == nil && flush.Flush() == nil }
	for {
		now, next := s.supervisors.current()
		if !stream(r.Context(), now.Supervisor, send) {
			return
		}
		select {
		case <-now.Ended():
		default:
			continue // units have come or gone
		}
		select {
		case <-next:
		case <-s.supervisors.over:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// stream sends one supervisor's changes until its units are others or it has ended.
// It returns false when the client does not read any more.
func stream(ctx context.Context, s *supervisor.Supervisor, send func(event) bool) bool {
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
