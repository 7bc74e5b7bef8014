package sandbox

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// Status is all that `kalypso status` tells.
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
	// Existing are those of the clusters that the person has given.
	Existing   []ExistingCluster `json:"existing,omitempty"`
	Components []Component       `json:"components,omitempty"`
	// Scheduler is the scheduler's own account of the environments; null while
	// it cannot be asked.
	Scheduler json.RawMessage `json:"scheduler,omitempty"`
}

// Component is a part of the sandbox with what it uses.
type Component struct {
	supervisor.Status
	MemoryBytes int64  `json:"memoryBytes,omitempty"` // resident
	URL         string `json:"url,omitempty"`         // where it listens
}

// urls are the addresses of the components that listen, by name.
func (s *State) urls(w workshop) map[string]string {
	urls := map[string]string{"gitea": s.ForgeURL()}
	for _, name := range []string{"etcd", "scheduler", "notifier", "arm", "runner"} {
		urls[name] = "http://" + s.address(name)
	}
	for _, c := range w.clusters {
		if _, given := s.Existing[c.name]; !given {
			urls[c.name] = "https://" + s.address(c.name)
		}
		switch c.reconciler {
		case flux:
			urls[gitops.Flux{Cluster: c.name}.Name()] = "http://" + s.address(c.listener())
		case argoCD:
			urls[gitops.ArgoCD{Cluster: c.name}.Name()] = s.localURL(c.listener())
		}
	}
	return urls
}

// addresses are those of components as they are now: an existing cluster has its
// own, and perhaps a reconciler that does not listen here.
func (s *Status) addresses(urls map[string]string) map[string]string {
	urls = maps.Clone(urls)
	for _, c := range s.Existing {
		urls[c.Name] = c.Server
		if c.Theirs != "" {
			delete(urls, gitops.Flux{Cluster: c.Name}.Name())
			delete(urls, gitops.ArgoCD{Cluster: c.Name}.Name())
		}
	}
	return urls
}

func ready(all []supervisor.Status) bool {
	for _, s := range all {
		if s.State != supervisor.Ready && !s.Held {
			return false
		}
	}
	return true
}
