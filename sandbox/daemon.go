package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

const (
	lockLimit = 2 * time.Second
	lockPoll  = 50 * time.Millisecond
)

// RunDaemon is the sandbox's one supervisor: it owns every child process, and
// serves the control door until it is told to stop. It returns nil at once
// when another daemon runs the sandbox already.
func RunDaemon(h Home, workshopName string, choice Choice, version string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	held, err := h.lockSoon()
	if errors.Is(err, errLocked) {
		log.Info("another daemon runs this sandbox")
		return nil
	}
	if err != nil {
		return err
	}
	defer held.Close()
	if err := h.keepPrivate(); err != nil {
		return err
	}

	state, err := h.ensureState(workshopName, choice)
	if err != nil {
		return err
	}
	if err := state.useEngine(); err != nil {
		return err
	}
	w, err := findWorkshop(state.Workshop)
	if err != nil {
		return err
	}
	if err := writeFile(h.Path("daemon.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := h.prepare(); err != nil {
		return err
	}
	if err := h.resume(log); err != nil {
		return err
	}
	var current atomic.Pointer[world]
	r, err := newRuns(func() (*supervisor.Supervisor, error) {
		// a new one each time: it remembers things about its clusters
		current.Store(newWorld(h, state, w, log))
		return h.supervise(log, current.Load().units())
	})
	if err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// a socket that is here belonged to a daemon that is gone: we hold the lock
	if err := os.Remove(h.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := listenPrivately(h.Socket())
	if err != nil {
		return err
	}
	began := time.Now().UTC().Truncate(time.Second)
	urls := state.urls(w)
	c := &control{
		runs: r, home: h, state: state, version: version, log: log, stop: stop,
		status: func(ctx context.Context) Status {
			s, _ := r.current()
			all := s.Status()
			st := Status{
				Running: true, Ready: ready(all), Home: string(h), Workshop: state.Workshop, Provider: state.Provider,
				Version: version, PID: os.Getpid(), MemoryBytes: residentAlone(os.Getpid()), Since: began,
				ForgeURL: state.ForgeURL(), User: state.Admin.User, Clusters: w.clusterNames(),
				Existing: current.Load().existingStatus(), Scheduler: current.Load().schedulerStatus(ctx),
			}
			of := st.addresses(urls)
			for _, u := range all {
				st.Components = append(st.Components, Component{u, resident(u.PID), of[u.Name]})
			}
			return st
		},
	}
	// no limit on writing: the event stream goes on for as long as it is read
	server := &http.Server{Handler: c.handler(), ReadHeaderTimeout: callLimit}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.Info("sandbox starting", "home", string(h), "workshop", state.Workshop, "version", version)
	c.sweep()
	err = r.run(ctx)
	// the door stays open until all is down, so that whoever asked can watch
	last, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return errors.Join(err, server.Shutdown(last))
}

// resume finishes what an earlier daemon was cut off in, so that nothing runs on
// data of two kinds.
func (h Home) resume(log *slog.Logger) error {
	_, err := os.Stat(h.Path(changeFile))
	away, awayErr := h.away()
	if errors.Is(err, fs.ErrNotExist) && len(away) == 0 {
		return awayErr
	}
	// what is not started again now is not ended by being started, either
	if err := errors.Join(awayErr, h.endOrphans()); err != nil {
		return err
	}
	what, err := h.finishChange()
	if what != "" && err == nil {
		log.Info("finished what was cut off", "what", what)
	}
	return err
}

// supervise makes a supervisor, in which the clusters that are away are held.
func (h Home) supervise(log *slog.Logger, units []supervisor.Unit) (*supervisor.Supervisor, error) {
	s, err := supervisor.New(log, units...)
	if err != nil {
		return nil, err
	}
	away, err := h.away()
	for _, name := range away {
		if err := s.Hold(name, awayReason(name)); err != nil {
			log.Warn("a cluster that is to stay away is not known", "reason", err)
		}
	}
	return s, err
}

// prepare makes the children's folder for temporary files, and removes the
// programs of another version, which nothing runs any more.
func (h Home) prepare() error {
	if err := os.MkdirAll(h.Path("tmp"), 0o700); err != nil {
		return err
	}
	return components.Prune(h.Components())
}

// listenPrivately makes the socket with mode 0600 from its first moment.
func listenPrivately(path string) (net.Listener, error) {
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}

// lockSoon tries again for a moment: a client that looks whether the sandbox
// is locked holds the lock while it looks.
func (h Home) lockSoon() (*os.File, error) {
	deadline := time.Now().Add(lockLimit)
	for {
		f, err := h.lock()
		if !errors.Is(err, errLocked) || time.Now().After(deadline) {
			return f, err
		}
		if c, dialErr := net.DialTimeout("unix", h.Socket(), callLimit); dialErr == nil {
			c.Close()
			return nil, errLocked
		}
		time.Sleep(lockPoll)
	}
}

// ensureState reads the sandbox's state, or makes it in a folder that holds
// nothing else.
func (h Home) ensureState(workshopName string, choice Choice) (*State, error) {
	state, err := h.LoadState()
	if err == nil {
		return state, h.completeState(state)
	}
	if !errors.Is(err, ErrNoSandbox) {
		return nil, err
	}
	if err := h.checkOurs(); err != nil {
		return nil, err
	}
	w, err := findWorkshop(workshopName)
	if err != nil {
		return nil, err
	}
	state, err = newState(w, choice, time.Now())
	if err != nil {
		return nil, err
	}
	return state, h.saveState(state)
}

// ours are the names of everything that a sandbox has directly in its home.
// `down --delete` removes these and nothing else.
var ours = []string{
	"sandbox.json", "daemon.lock", "daemon.pid", "daemon.sock", "etcd.sock", "kubeconfig",
	"components", "logs", "clusters", "gitea", "flux", "argocd", "arc", "scheduler", "runner", "scenarios", "children", "tmp",
	snapshotFolder, asideFolder,
}

// checkOurs refuses a folder with other things in it: making a sandbox there
// would mix them up, and deleting it could take them along.
func (h Home) checkOurs() error {
	entries, err := os.ReadDir(string(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// files of a start that was cut off before the state was written
	begun := map[string]bool{"daemon.lock": true, "daemon.pid": true, "daemon.sock": true, "logs": true}
	for _, e := range entries {
		if !begun[e.Name()] {
			return &UsageError{fmt.Sprintf("%s holds other things already (%s): set KALYPSO_HOME to an empty or a new folder", h, e.Name())}
		}
	}
	return nil
}
