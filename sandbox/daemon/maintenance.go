package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
	"github.com/kalypso-dev/kalypso/sandbox/snapshot"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// errEnding is returned where the daemon takes no more tasks.
var errEnding = errors.New("the sandbox is being stopped")

// supervised is a supervisor with what describes its components.
type supervised struct {
	*supervisor.Supervisor
	fill        StatusFunc      // may be nil
	credentials CredentialsFunc // may be nil
	clusters    Clusters
}

// supervisorManager runs the supervisors of one daemon, one after the other.
// What changes the data below the components is done between two of them, while
// nothing runs.
type supervisorManager struct {
	build func() (*supervised, error)
	tasks chan maintenanceTask
	over  chan struct{} // closed when no other supervisor follows

	mu   sync.Mutex
	now  *supervised
	next chan struct{} // closed when now is replaced
	busy string        // the exclusive operation under way, "" for none
}

// maintenanceTask is something to do while nothing runs.
type maintenanceTask struct {
	do   func() error
	done chan error
}

// newSupervisorManager builds the first supervisor.
func newSupervisorManager(build func() (*supervised, error)) (*supervisorManager, error) {
	s, err := build()
	return &supervisorManager{build: build, now: s, next: make(chan struct{}), over: make(chan struct{}), tasks: make(chan maintenanceTask)}, err
}

// run goes on until ctx ends, and returns the errors of stopping. The error is a
// *state.IncompleteError when a replacement of data could not be finished.
func (m *supervisorManager) run(ctx context.Context) error {
	defer close(m.over)
	for {
		running, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		now, _ := m.current()
		go func() { ended <- now.Run(running) }()
		var task maintenanceTask
		select {
		case task = <-m.tasks:
		case <-ctx.Done():
		}
		end()
		err := <-ended
		if task.do == nil {
			return err
		}
		if ctx.Err() != nil {
			task.done <- errEnding
			return err
		}
		if err == nil {
			err = task.do()
		}
		var incomplete *state.IncompleteError
		if errors.As(err, &incomplete) {
			task.done <- err
			return err
		}
		s, buildErr := m.build()
		if buildErr != nil {
			task.done <- buildErr
			return buildErr
		}
		m.replace(s)
		// only now, so that the caller sees the new components
		task.done <- err
	}
}

func (m *supervisorManager) replace(s *supervised) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.next)
	m.now, m.next = s, make(chan struct{})
}

// current returns the present supervisor; next is closed when another follows.
func (m *supervisorManager) current() (s *supervised, next <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now, m.next
}

// reserve lets only one exclusive operation go on at a time.
func (m *supervisorManager) reserve(what string) (release func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy != "" {
		return nil, fmt.Errorf("not while something else is done (%s): try again in a moment", m.busy)
	}
	m.busy = what
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy = ""
	}, nil
}

// runWhileStopped stops all components, calls do, and starts them again. It
// returns when they are about to start. The caller has reserved.
func (m *supervisorManager) runWhileStopped(do func() error) error {
	task := maintenanceTask{do: do, done: make(chan error, 1)}
	select {
	case m.tasks <- task:
		return <-task.done
	case <-m.over:
		return errEnding
	}
}

func (s *Server) current() *supervised {
	now, _ := s.supervisors.current()
	return now
}

// replaceData replaces the sandbox's data while nothing runs.
func (s *Server) replaceData(do func() error) error {
	err := s.supervisors.runWhileStopped(func() error {
		if err := do(); err != nil {
			return err
		}
		return s.Home.Refresh(s.State)
	})
	if err == nil {
		s.sweep()
	}
	return err
}

// sweep removes replaced data in the background: no client waits for it.
func (s *Server) sweep() {
	remove := s.Home.Sweep()
	go func() {
		if err := remove(); err != nil {
			s.Log.Warn("old data is not removed", "reason", err)
		}
	}()
}

// ResetData brings the data of a sandbox back to the workshop's beginning: that of
// the workshop that it was made of, or of what state.Home.CopyWorkshop has copied.
// Nothing of the sandbox may run.
func ResetData(h state.Home, prepared bool) error {
	paths, staged := slices.Clone(state.Data), ""
	if prepared {
		var err error
		if staged, err = h.StageWorkshop(); err != nil {
			return fmt.Errorf("reset: %w", err)
		}
		paths = append(paths, state.WorkshopFolder)
	}
	nodes, err := filepath.Glob(h.Path("clusters", "*", "node"))
	for _, n := range nodes {
		path, relErr := filepath.Rel(string(h), n)
		paths, err = append(paths, path), errors.Join(err, relErr)
	}
	if err != nil {
		return err
	}
	// interrupted here, the sandbox has empty clusters, which is what it will have
	clusters, err := stack.FindPersistentClusters(h)
	if err == nil {
		err = clusters.Each(context.Background(), cluster.Provider.Delete)
	}
	if err != nil {
		return err
	}
	return h.Replace("reset", paths, staged)
}

// ClusterChange is the result of stopping or starting a cluster.
type ClusterChange struct {
	// Changed is false where the cluster was as it is wanted already.
	Changed bool `json:"changed"`
	// Running reports whether the sandbox is up. In one that is down the change is
	// noted for the next up.
	Running bool `json:"running"`
}

// setStopped stops or starts a cluster. That is noted first: a daemon that is
// killed now goes on with it at its next start.
func (s *Server) setStopped(ctx context.Context, cluster string, stopped bool) (c ClusterChange, err error) {
	if err := s.State.CheckCluster(cluster); err != nil {
		return c, err
	}
	c.Running = true
	if c.Changed, err = s.Home.SetStopped(cluster, stopped); err != nil {
		return c, err
	}
	if stopped {
		return c, s.current().Stop(ctx, cluster, stopReason(cluster))
	}
	return c, s.current().Start(ctx, cluster)
}

// stopReason is what the status of a stopped cluster's components says.
func stopReason(cluster string) string {
	return fmt.Sprintf("stopped by `kalypso stop %s`; `kalypso start %s` brings it back", cluster, cluster)
}

func (s *Server) saveSnapshot(ctx context.Context, name string) (*snapshot.Snapshot, error) {
	now := s.current().Supervisor
	if err := checkAtRest(now.Status()); err != nil {
		return nil, err
	}
	return snapshot.Save(ctx, s.Home, s.State, name, s.Version, func(ctx context.Context) (func() error, error) {
		return freeze(ctx, now)
	})
}

// freeze stops all processes that may write what a snapshot holds.
func freeze(ctx context.Context, s *supervisor.Supervisor) (thaw func() error, err error) {
	before := writers(s.Status())
	var pids []int
	for _, pid := range before {
		pids = append(pids, pid)
	}
	resume, err := supervisor.Freeze(ctx, pids)
	if err != nil {
		return nil, err
	}
	return func() error {
		after := s.Status()
		resume()
		for name, pid := range writers(after) {
			if before[name] != pid {
				return fmt.Errorf("%s has been started meanwhile: try again", name)
			}
		}
		return checkAtRest(after)
	}, nil
}

// writers are the processes that may write what a snapshot holds, by name: not
// the nodes, whose data is in none.
func writers(all []supervisor.Status) map[string]int {
	pids := map[string]int{}
	for _, s := range all {
		if s.PID != 0 && !strings.HasPrefix(s.Name, "node-") {
			pids[s.Name] = s.PID
		}
	}
	return pids
}

// checkAtRest returns an error while a component is starting: the daemon itself
// may be writing then. What has failed or is held writes nothing.
func checkAtRest(all []supervisor.Status) error {
	for _, s := range all {
		if s.State != supervisor.Ready && s.State != supervisor.Failed && !s.Held {
			return fmt.Errorf("%s is %s, and a snapshot needs a sandbox that is at rest: try again when `kalypso status` says that it is ready", s.Name, s.State)
		}
	}
	return nil
}
