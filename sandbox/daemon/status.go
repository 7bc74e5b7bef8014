package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/workshop"

	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
)

// Status is what `kalypso status` shows.
type Status struct {
	Running  bool   `json:"running"`
	Ready    bool   `json:"ready"` // every component is
	Home     string `json:"home"`
	Workshop string `json:"workshop,omitempty"`
	Provider string `json:"provider,omitempty"` // of the clusters
	Version  string `json:"version,omitempty"`  // of the daemon
	PID      int    `json:"pid,omitempty"`      // of the daemon
	// MemoryBytes is what the daemon itself has resident.
	MemoryBytes int64     `json:"memoryBytes,omitempty"`
	Since       time.Time `json:"since,omitzero"` // when the daemon started
	ForgeURL    string    `json:"forgeURL,omitempty"`
	User        string    `json:"user,omitempty"` // who logs in at the forge
	Clusters    []string  `json:"clusters,omitempty"`
	// Existing are the attached ones among the clusters.
	Existing []AttachedCluster `json:"existing,omitempty"`
	// Virtual are the clusters that are virtual, those together whose names differ
	// in their numbers only.
	Virtual      []virtual.Group `json:"virtual,omitempty"`
	Components   []Component     `json:"components,omitempty"`
	Environments []Environment   `json:"environments,omitempty"`
	// PullRequests are those that wait for a user, in all repositories.
	PullRequests []PullRequest `json:"pullRequests,omitempty"`
	Problems     []Problem     `json:"problems,omitempty"`
	// Scheduler is the scheduler's own status of the environments; null while
	// it cannot be asked.
	Scheduler json.RawMessage `json:"scheduler,omitempty"`
}

// Component is a part of the sandbox with what it uses.
type Component struct {
	supervisor.Status
	MemoryBytes int64  `json:"memoryBytes,omitempty"` // resident
	URL         string `json:"url,omitempty"`         // where it listens
}

// AttachedCluster is a cluster that the user had before.
type AttachedCluster struct {
	Name    string   `json:"name"`
	Files   []string `json:"kubeconfig"`
	Context string   `json:"context"`
	Server  string   `json:"server,omitempty"`
	Version string   `json:"version,omitempty"` // of Kubernetes
	// Theirs is the namespace in which the cluster's own reconciler runs; "" when
	// the sandbox's runs on this machine.
	Theirs string `json:"theirs,omitempty"`
	// Pods says why the pods of the sample applications do not run there.
	Pods string `json:"pods"`
}

// DownStatus is the status of a sandbox that does not run.
func DownStatus(h state.Home, s *state.State) *Status {
	return &Status{Home: string(h), Workshop: s.Workshop, Provider: s.Provider, ForgeURL: s.ForgeURL(), User: s.Admin.User}
}

// AllReady reports whether nothing has to be waited for.
func AllReady(all []supervisor.Status) bool {
	for _, s := range all {
		if s.State != supervisor.Ready && !s.Held {
			return false
		}
	}
	return true
}

func (s *Server) status(ctx context.Context) *Status {
	now := s.current()
	components := now.Status()
	st := DownStatus(s.Home, s.State)
	st.Running, st.Ready, st.Version, st.PID, st.Since = true, AllReady(components), s.Version, os.Getpid(), s.began
	st.MemoryBytes, st.Clusters = residentAlone(st.PID), s.State.ClusterNames()
	var silent map[string]error
	var probed sync.WaitGroup
	probed.Go(func() { silent = now.Silent(ctx) })
	for _, c := range components {
		st.Components = append(st.Components, Component{Status: c, MemoryBytes: Resident(c.PID)})
	}
	if now.fill != nil {
		now.fill(ctx, st)
	}
	probed.Wait()
	urls := st.urls(s.State)
	var own []Problem
	for i := range st.Components {
		c := &st.Components[i]
		c.URL = urls[c.Name]
		if err := silent[c.Name]; err != nil {
			c.State, c.Reason, st.Ready = supervisor.Silent, err.Error(), false
		}
		if c.State != supervisor.Ready && c.Reason != "" && !c.Held {
			own = append(own, Problem{Component: c.Name, Reason: c.Reason})
		}
	}
	if f := doctor.CheckRoom(doctor.Machine(), string(s.Home)); f.Severity != doctor.OK {
		own = append(own, Problem{Object: "disk", Reason: fmt.Sprintf("%s: %s; %s", f.Found, f.Lost, f.Fix)})
	}
	st.Problems = append(own, st.Problems...)
	return st
}

// urls are the addresses of the components that listen, by name. An attached
// cluster has its own, and perhaps a reconciler that does not listen here.
func (st *Status) urls(s *state.State) map[string]string {
	urls := map[string]string{"gitea": s.ForgeURL()}
	for _, name := range []string{"scheduler", "notifier", "arm", "runner"} {
		urls[name] = "http://" + s.Address(name)
	}
	theirs := map[string]bool{}
	for _, c := range st.Existing {
		urls[c.Name], theirs[c.Name] = c.Server, c.Theirs != ""
	}
	for _, c := range s.Clusters() {
		if _, attached := s.Existing[c.Name]; !attached {
			urls[c.Name] = "https://" + s.Address(c.Name)
		}
		switch {
		case theirs[c.Name]:
		case c.Reconciler == workshop.Flux:
			urls[gitops.Flux{Cluster: c.Name}.Name()] = "http://" + s.Address(state.Listener(c))
		case c.Reconciler == workshop.ArgoCD:
			urls[gitops.ArgoCD{Cluster: c.Name}.Name()] = s.LocalURL(state.Listener(c))
		}
	}
	return urls
}

// fillStatus adds what the clusters and the scheduler know.
func (st *Stack) fillStatus(ctx context.Context, status *Status) {
	for _, name := range st.state.ClusterNames() {
		source, attached := st.state.Existing[name]
		if !attached {
			continue
		}
		f, _ := st.attached.Facts(name)
		status.Existing = append(status.Existing, AttachedCluster{
			Name: name, Files: source.Files, Context: source.Context, Server: f.Server, Version: f.Version, Theirs: f.ReconcilerNamespace,
			Pods: fmt.Sprintf("its nodes cannot pull the sample applications' images, which are in the forge's registry on this machine (localhost:%d)", st.state.Ports["gitea"]),
		})
	}
	st.fillOverview(ctx, status)
}
