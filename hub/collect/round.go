package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// write brings the store to what the sources know, after each change, until ctx ends. One
// that cannot be written to is tried again.
func (c *Collector) write(ctx context.Context) {
	for {
		var again <-chan time.Time
		if err := c.writeRound(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			c.log.Warn("what was found cannot be written", "reason", err)
			again = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		case <-again:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gather):
		}
	}
}

func (c *Collector) writeRound(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeLimit, fmt.Errorf("not written within %s", writeLimit))
	defer cancel()
	r := store.Round{At: time.Now().UTC(), Placements: map[string][]store.Placement{}, Policies: map[string]store.PolicyPositions{}, Problems: map[string][]store.Problem{"": {}}}
	clusters, from, asked := c.memory.together(c.fleet)
	if asked {
		c.corrections.mark(clusters.Clusters, r.At)
		r.Clusters = []store.Cluster{}
		for _, one := range clusters.Clusters {
			r.Clusters = append(r.Clusters, clusterOf(one, from[one.Name]))
		}
	}
	whole := true
	owner := map[string]*plane{}
	for _, p := range c.planes {
		states, read := p.states()
		whole = whole && read
		for _, e := range states {
			if other := owner[e.name]; other != nil {
				r.Problems[""] = append(r.Problems[""], store.Problem{
					Severity: string(model.Error), Position: p.name,
					Message: fmt.Sprintf("environment %s is one of %s, too, which is the one that is shown", e.name, other.name), Hint: "give each environment a name of its own",
				})
				continue
			}
			owner[e.name] = p
			whole = whole && (e.plan != nil || e.err != nil) // what was known of it stays until it is planned
			r.Environments = append(r.Environments, c.environmentOf(p, e))
			r.Problems[e.name] = problemsOf(e)
			if e.plan == nil || !asked {
				continue
			}
			all, err := p.placements(ctx, e.plan, clusters)
			if err != nil {
				r.Problems[e.name] = append(r.Problems[e.name], store.Problem{Environment: e.name, Severity: string(model.Error), Message: err.Error()})
				continue
			}
			r.Placements[e.name] = joined(all, e.plan, r.At)
			r.Policies[e.name] = policiesOf(e.plan)
			c.note(e.name, all)
		}
		r.Problems[""] = append(r.Problems[""], c.planeProblems(p)...)
	}
	if !whole {
		r.Environments = nil
		delete(r.Problems, "")
	} else if r.Environments == nil {
		r.Environments = []store.Environment{}
	}
	slices.SortStableFunc(r.Environments, func(a, b store.Environment) int { return cmp.Compare(a.Name, b.Name) })
	changes, noted, more := c.changes.changes(clusters, asked, r.At)
	r.Changes = changes
	if asked || len(c.fleet) == 0 { // they say on how many clusters they change something
		r.PullRequests = c.pulls.pullRequests()
	}
	r.Sources = c.sourceReports()
	_, err := c.options.Store.Apply(ctx, r)
	if err == nil {
		noted()
	}
	if more {
		notify(c.changed)
	}
	return err
}

// note keeps which branches of applications an environment follows, and has their pull
// requests asked for when there is a new one.
func (c *Collector) note(environment string, all []placement.Placement) {
	branches := map[branchKey]bool{}
	for _, p := range all {
		if p.Desired.Repo != "" {
			branches[branchKey{p.Desired.Repo, p.Desired.Branch}] = true
		}
	}
	for _, p := range c.pullBranches() {
		if p.environment == environment && p.platform {
			delete(branches, p.branchKey) // a target that has configuration alone
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := false
	for b := range branches {
		fresh = fresh || !c.follows[environment][b]
	}
	c.follows[environment] = branches
	if fresh {
		notify(c.pulls.source.wake)
	}
}

func (c *Collector) sourceReports() []store.Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []store.Source{}
	for _, s := range c.sources {
		if r, ok := c.reports[s.name]; ok {
			all = append(all, r)
		}
	}
	return all
}

// environmentOf is an environment with what the scheduler says of it.
func (c *Collector) environmentOf(p *plane, e state) store.Environment {
	one := store.Environment{
		Name: e.name, ControlPlane: redact.URL(e.ref.Repo), ControlPlaneBranch: e.ref.Branch, Commit: e.commit,
		Position: slices.Index(c.options.Chain, e.name),
	}
	if one.Position < 0 {
		one.Position = len(c.options.Chain) // after those whose order is known
	}
	if e.plan != nil {
		to := e.plan.GitOps
		one.GitOpsRepo, one.GitOpsBranch, one.GitOpsRoot, one.GitOpsCommit = redact.URL(to.Repo), to.Branch, model.CleanFolder(to.Path), e.plan.GitOpsHead
	}
	if s := c.scheduler.of(e.name); s != nil {
		one.Plan, one.Error = string(s.State), s.Error
	}
	if e.err != nil {
		one.Error = redact.Error(e.err).Error()
	}
	return one
}

// problemsOf are what is wrong with an environment's files.
func problemsOf(e state) []store.Problem {
	all := []store.Problem{}
	if e.err != nil {
		all = append(all, store.Problem{Environment: e.name, Severity: string(model.Error), Position: e.ref.String(), Message: redact.Error(e.err).Error()})
	}
	if e.plan == nil {
		return all
	}
	for _, one := range e.plan.Problems {
		all = append(all, problemOf(e.name, one))
	}
	return all
}

func problemOf(environment string, p plan.Problem) store.Problem {
	return store.Problem{Environment: environment, Severity: string(p.Severity), Position: p.Position.String(), Message: p.Message, Hint: p.Hint}
}

// planeProblems are those of the Environment objects.
func (c *Collector) planeProblems(p *plane) []store.Problem {
	p.mu.Lock()
	diagnostics := p.diagnostics
	p.mu.Unlock()
	var all []store.Problem
	for _, one := range plan.ModelProblems(diagnostics) {
		all = append(all, problemOf("", one))
	}
	return all
}

// clusterOf is a cluster as it is stored.
func clusterOf(c fleet.Cluster, from string) store.Cluster {
	one := store.Cluster{
		Name: c.Name, Labels: c.Labels, Source: from, LastSeen: c.LastSeen, Unknown: c.Unknown, Approximate: c.Approximate, Subscriptions: c.Subscriptions,
	}
	var all []string
	for _, s := range c.Subscriptions {
		if r := reconcilerOf(s.Kind); !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	// Flux before Argo CD, whichever its subscriptions begin with
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(b, a) })
	one.Reconciler = strings.Join(all, ", ")
	return one
}

func reconcilerOf(kind string) string {
	switch kind {
	case fleet.Application:
		return reconcilerArgoCD
	case fleet.Playbook:
		return reconcilerAnsible
	}
	return reconcilerFlux
}

const (
	reconcilerFlux    = "flux"
	reconcilerArgoCD  = "argocd"
	reconcilerAnsible = "ansible"
)

// policiesOf are where the policies of an environment are.
func policiesOf(made *view.Plan) store.PolicyPositions {
	positions := store.PolicyPositions{}
	for _, p := range made.Model.Policies {
		positions[p.Name] = p.Position.String()
	}
	return positions
}

// joined adds to placements what the plan says of their targets.
func joined(all []placement.Placement, made *view.Plan, now time.Time) []store.Placement {
	targets := map[string]plan.Target{}
	for _, t := range made.Targets {
		targets[t.Name] = t
	}
	policies := map[[2]string][]string{}
	for _, a := range made.Assignments {
		policies[[2]string{a.ClusterType, a.Target}] = a.Policies
	}
	list := make([]store.Placement, 0, len(all))
	for _, p := range all {
		t := targets[p.Target]
		p.Reason, p.Since = redact.Text(p.Reason), credibleTime(p.Since, now)
		list = append(list, store.Placement{Placement: p, Workload: t.Workload, Workspace: t.Workspace, Policies: policies[[2]string{p.ClusterType, p.Target}]})
	}
	return list
}
