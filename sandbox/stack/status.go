package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/loopback"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
	"github.com/kalypso-dev/kalypso/sandbox/virtual"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/workshop"
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
	// Share says where others on a network see the hub; nil when it is not shared.
	Share *Shared `json:"share,omitempty"`
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

// Shared is a share of the hub without its secret.
type Shared struct {
	Address     string `json:"address"`
	Fingerprint string `json:"fingerprint"` // of its certificate
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
	return &Status{Home: string(h), Workshop: s.WorkshopName(), Provider: s.Provider, ForgeURL: s.ForgeURL(), User: s.Admin.User}
}

// URLs are the addresses of the components that listen, by name. An attached
// cluster has its own, and perhaps a reconciler that does not listen here.
func (st *Status) URLs(s *state.State) map[string]string {
	urls := map[string]string{"gitea": s.ForgeURL()}
	for _, name := range []string{"scheduler", "notifier", "arm", "runner", state.Hub} {
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

// FillStatus adds what the clusters and the scheduler know.
func (st *Stack) FillStatus(ctx context.Context, status *Status) {
	for _, name := range st.state.ClusterNames() {
		source, attached := st.state.Existing[name]
		if !attached {
			continue
		}
		f, _ := st.attached.Facts(name)
		status.Existing = append(status.Existing, AttachedCluster{
			Name: name, Files: source.Files, Context: source.Context, Server: f.Server, Version: f.Version, Theirs: f.ReconcilerNamespace,
			Pods: fmt.Sprintf("its nodes cannot pull the sample applications' images, which are in the forge's registry on this machine (localhost:%d)", st.state.Port("gitea")),
		})
	}
	if share, err := st.home.Share(); err == nil && share != nil {
		status.Share = &Shared{share.Address, share.Fingerprint}
	}
	st.fillOverview(ctx, status)
}

// Environment is how an environment does: what the scheduler knows, and what the
// clusters have of it.
type Environment struct {
	Name        string           `json:"name"`
	State       EnvironmentState `json:"state"`
	Revision    string           `json:"revision,omitempty"` // the head of its GitOps branch
	Targets     int              `json:"targets"`
	Assignments int              `json:"assignments"`
	// PullRequest is there while one is open.
	PullRequest *controller.PullRequestStatus `json:"pullRequest,omitempty"`
}

// EnvironmentState is one of these, the first that is true.
type EnvironmentState string

const (
	EnvironmentFailed   EnvironmentState = "error"    // the scheduler's last run has failed
	EnvironmentPlanning EnvironmentState = "planning" // a run goes on
	EnvironmentProblems EnvironmentState = "problems" // something in its files cannot be used
	EnvironmentProposed EnvironmentState = "proposed" // a pull request is open
	EnvironmentApplying EnvironmentState = "applying" // a cluster has not applied its revision
	EnvironmentSynced   EnvironmentState = "synced"   //
)

// PullRequest is one that waits for a user.
type PullRequest struct {
	Repository string `json:"repository"`
	Number     int    `json:"number"`
	Title      string `json:"title"`
	URL        string `json:"url"`
}

// Problem is something that does not do its work. Object has the kind and name of
// what it is about, where that is one object.
type Problem struct {
	Component   string `json:"component,omitempty"`
	Cluster     string `json:"cluster,omitempty"`
	Environment string `json:"environment,omitempty"`
	Object      string `json:"object,omitempty"`
	Reason      string `json:"reason"`
}

// fillOverview asks the scheduler, the forge and the clusters, all at once: none
// that does not answer keeps the others waiting longer than statusLimit.
func (st *Stack) fillOverview(ctx context.Context, status *Status) {
	var asked sync.WaitGroup
	asked.Go(func() {
		if b, err := st.askScheduler(ctx, "/status"); err == nil && json.Valid(b) {
			status.Scheduler = b
		}
	})
	asked.Go(func() { status.PullRequests = st.waitingPullRequests(ctx) })
	clusters := st.state.Clusters()
	conditions, errs := make([]gitops.Condition, len(clusters)), make([]error, len(clusters))
	for i, c := range clusters {
		if status.isReady(c.Name) {
			asked.Go(func() { conditions[i], errs[i] = st.conditionOf(ctx, c) })
		}
	}
	asked.Wait()
	var scheduler controller.Status
	if status.Scheduler != nil && json.Unmarshal(status.Scheduler, &scheduler) == nil {
		status.Problems = schedulerProblems(scheduler)
	}
	applied := map[string]bool{} // by environment, of those that a cluster follows
	for i, c := range clusters {
		if errs[i] != nil {
			status.Problems = append(status.Problems, Problem{Cluster: c.Name, Reason: "its objects cannot be read: " + errs[i].Error()})
		}
		for _, p := range conditions[i].Problems {
			status.Problems = append(status.Problems, Problem{Cluster: c.Name, Object: p.Object, Reason: p.Reason})
		}
		status.Problems = append(status.Problems, st.unreachable(c.Name)...)
		if conditions[i].Applied == nil {
			continue
		}
		for _, e := range scheduler.Environments {
			n := slices.IndexFunc(c.Follows, func(s workshop.Subscription) bool { return s.Branch == e.Name })
			if n < 0 {
				continue
			}
			was, followed := applied[e.Name]
			applied[e.Name] = conditions[i].Applied[c.Follows[n].Name] == e.GitOpsHead && (was || !followed)
		}
	}
	st.fillVirtual(status, scheduler.Environments, applied)
	st.fillHosts(ctx, status, scheduler.Environments, applied)
	for _, e := range scheduler.Environments {
		has, followed := applied[e.Name]
		status.Environments = append(status.Environments, environmentOf(e, has || !followed))
	}
}

func (st *Status) isReady(component string) bool {
	return slices.ContainsFunc(st.Components, func(c Component) bool { return c.Name == component && c.State == supervisor.Ready })
}

func environmentOf(e controller.EnvironmentStatus, applied bool) Environment {
	to := Environment{Name: e.Name, State: EnvironmentSynced, Revision: e.GitOpsHead, Targets: e.Targets, Assignments: e.Assignments}
	if e.PullRequest != nil && e.PullRequest.State == forge.Open {
		to.PullRequest = e.PullRequest
	}
	switch {
	case e.State == controller.Failed:
		to.State = EnvironmentFailed
	case e.State == controller.Planning:
		to.State = EnvironmentPlanning
	case len(e.Problems) > 0:
		to.State = EnvironmentProblems
	case to.PullRequest != nil:
		to.State = EnvironmentProposed
	case !applied:
		to.State = EnvironmentApplying
	}
	return to
}

func schedulerProblems(s controller.Status) []Problem {
	var all []Problem
	if s.ControlPlane.Error != "" {
		all = append(all, Problem{Object: "control plane", Reason: s.ControlPlane.Error})
	}
	for _, reason := range s.ControlPlane.Problems {
		all = append(all, Problem{Reason: reason})
	}
	for _, e := range s.Environments {
		if e.Error != "" {
			all = append(all, Problem{Environment: e.Name, Reason: e.Error})
		}
		for _, reason := range e.Problems {
			all = append(all, Problem{Environment: e.Name, Reason: reason})
		}
		for _, url := range e.Issues {
			all = append(all, Problem{Environment: e.Name, Object: "issue", Reason: url})
		}
	}
	return all
}

// conditionOf does not wait for a client that does not end with ctx: reading a
// cluster's kinds takes none.
func (st *Stack) conditionOf(ctx context.Context, c workshop.Cluster) (gitops.Condition, error) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	type answer struct {
		condition gitops.Condition
		err       error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		client, err := st.client(c.Name)
		if err != nil {
			a.err = err
		} else {
			a.condition, a.err = gitops.ConditionOf(ctx, client, c.Reconciler == workshop.Flux)
			if a.err == nil && st.state.Provider == state.ProviderEmbedded && !st.attached.Has(c.Name) {
				var unenforced []gitops.Problem
				unenforced, a.err = gitops.Unenforced(ctx, client)
				a.condition.Problems = append(a.condition.Problems, unenforced...)
			}
		}
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.condition, a.err
	case <-ctx.Done():
		return gitops.Condition{}, fmt.Errorf("no answer within %s", statusLimit)
	}
}

// waitingPullRequests are the open ones of all repositories; none where the forge
// does not answer, which its component says.
func (st *Stack) waitingPullRequests(ctx context.Context) []PullRequest {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	token, err := os.ReadFile(st.gitea.TokenFile(gitea.AdminToken))
	if err != nil {
		return nil
	}
	b, err := loopback.Call(ctx, http.MethodGet, st.state.ForgeURL()+"/api/v1/repos/issues/search?type=pulls&state=open&limit=50&owner="+state.Organisation, strings.TrimSpace(string(token)))
	if err != nil {
		return nil
	}
	var list []struct {
		Number     int    `json:"number"`
		Title      string `json:"title"`
		URL        string `json:"html_url"`
		Repository struct {
			Name string `json:"name"`
		} `json:"repository"`
	}
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	var all []PullRequest
	for _, p := range slices.Backward(list) { // the oldest first
		all = append(all, PullRequest{p.Repository.Name, p.Number, p.Title, p.URL})
	}
	return all
}
