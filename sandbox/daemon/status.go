package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// AllReady reports whether nothing has to be waited for.
func AllReady(all []supervisor.Status) bool {
	for _, s := range all {
		if s.State != supervisor.Ready && !s.Held {
			return false
		}
	}
	return true
}

func (s *Server) status(ctx context.Context) *stack.Status {
	now := s.current()
	components := now.Status()
	st := stack.DownStatus(s.Home, s.State)
	st.Running, st.Ready, st.Version, st.PID, st.Since = true, AllReady(components), s.Version, os.Getpid(), s.began
	st.MemoryBytes, st.Clusters = residentAlone(st.PID), s.State.ClusterNames()
	var silent map[string]error
	var probed sync.WaitGroup
	probed.Go(func() { silent = now.Silent(ctx) })
	for _, c := range components {
		st.Components = append(st.Components, stack.Component{Status: c, MemoryBytes: Resident(c.PID)})
	}
	if now.fill != nil {
		now.fill(ctx, st)
	}
	probed.Wait()
	urls := st.URLs(s.State)
	var own []stack.Problem
	for i := range st.Components {
		c := &st.Components[i]
		c.URL = urls[c.Name]
		if err := silent[c.Name]; err != nil {
			c.State, c.Reason, st.Ready = supervisor.Silent, err.Error(), false
		}
		if c.State != supervisor.Ready && c.Reason != "" && !c.Held {
			own = append(own, stack.Problem{Component: c.Name, Reason: c.Reason})
		}
	}
	if f := doctor.CheckRoom(doctor.Machine(), string(s.Home)); f.Severity != doctor.OK {
		own = append(own, stack.Problem{Object: "disk", Reason: fmt.Sprintf("%s: %s; %s", f.Found, f.Lost, f.Fix)})
	}
	st.Problems = append(own, st.Problems...)
	return st
}
