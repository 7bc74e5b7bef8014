package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// DeploymentState is how far a commit has come on the clusters that follow its branch.
	DeploymentState struct {
		State   string     `json:"state" enum:"reached,failed,waiting,unknown" doc:"reached: all have it, or a later one, and are well. failed: one has it, and is not. unknown: one cannot be asked."`
		Repo    string     `json:"repo"`
		Branch  string     `json:"branch"`
		Commit  string     `json:"commit"`
		Total   int        `json:"total" doc:"Subscriptions to the branch."`
		Reached int        `json:"reached"`
		Waiting []Follower `json:"waiting" doc:"100 of them at most, as of the others."`
		Failed  []Follower `json:"failed"`
		Unknown []Follower `json:"unknown"`
		AsOf    time.Time  `json:"asOf,omitzero"`
	}
	// Follower is a subscription on a cluster.
	Follower struct {
		Cluster      string `json:"cluster"`
		Subscription string `json:"subscription"`
		Reason       string `json:"reason"`
	}
	// DeploymentInput asks how far a commit has come.
	DeploymentInput struct {
		Repo   string `query:"repo" required:"true" minLength:"1" maxLength:"2000" doc:"Clone URL, with or without .git."`
		Branch string `query:"branch" required:"true" minLength:"1" maxLength:"500"`
		Commit string `query:"commit" required:"true" pattern:"^[0-9a-f]{7,40}$" patternDescription:"a commit's ID, or seven or more of its digits"`
		Wait   string `query:"wait" maxLength:"20" doc:"For how long to wait until it has reached all or has failed, such as 30s; 60s at most."`
	}
)

const deploymentPath = "/deployment-state"

// maxWait bounds how long a request waits: proxies end what takes longer.
const maxWait = time.Minute

func (a *api) deploymentRoutes() {
	get(a, operation{id: "getDeploymentState", path: deploymentPath, summary: "Whether a commit has reached the clusters that follow its branch"}, a.deployment)
}

func (a *api) deployment(ctx context.Context, input *DeploymentInput) (DeploymentState, error) {
	wait, err := waitOf(input.Wait)
	if err != nil {
		return DeploymentState{}, err
	}
	// before the first look, so that nothing is missed between the two
	s := newStream(nil, nil, scopeOf(ctx))
	if wait > 0 {
		if _, err := a.feed.subscribe(ctx, s); err != nil {
			return DeploymentState{}, err
		}
		defer a.feed.unsubscribe(s)
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for last := wait == 0; ; {
		state, err := a.deploymentState(ctx, input)
		if err != nil || last || state.State == deploymentReached || state.State == deploymentFailed {
			return state, err
		}
		// what the outbox has, the scope of the user may leave out; the store decides
		select {
		case <-ctx.Done():
			return state, ctx.Err()
		case <-s.batches:
		case <-s.slow:
			last = true
		case <-end.C:
			last = true
		}
	}
}

func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	switch {
	case err != nil || wait < 0:
		return 0, newProblem(http.StatusUnprocessableEntity, fmt.Sprintf("%q is no duration such as 30s", text)).at("query.wait", text)
	case wait > maxWait:
		return 0, newProblem(http.StatusUnprocessableEntity, "a request waits for 60s at most: ask again after that").at("query.wait", text)
	}
	return wait, nil
}

const (
	deploymentReached = "reached"
	deploymentFailed  = "failed"
	deploymentWaiting = "waiting"
	deploymentUnknown = "unknown"
)

func (a *api) deploymentState(ctx context.Context, input *DeploymentInput) (DeploymentState, error) {
	d, err := a.Store.Deployment(ctx, scopeOf(ctx), input.Repo, input.Branch, strings.ToLower(input.Commit))
	if errors.Is(err, store.ErrNotFound) {
		_, hidden := a.Store.Deployment(ctx, store.Scope{}, input.Repo, input.Branch, input.Commit)
		requestOf(ctx).hidden = hidden == nil
		return DeploymentState{}, newProblem(http.StatusNotFound, err.Error()).at("query.branch", input.Branch)
	}
	if err != nil {
		return DeploymentState{}, err
	}
	state := DeploymentState{
		Repo: d.Repo, Branch: d.Branch, Commit: d.Commit, Total: d.Total, Reached: d.Reached,
		Waiting: followers(d.Waiting), Failed: followers(d.Failed), Unknown: followers(d.Unknown), State: deploymentReached,
	}
	switch {
	case len(d.Failed) > 0:
		state.State = deploymentFailed
	case len(d.Waiting) > 0 || d.Total == 0: // a branch that is to be followed
		state.State = deploymentWaiting
	case len(d.Unknown) > 0:
		state.State = deploymentUnknown
	}
	_, state.AsOf, err = a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	return state, err
}

func followers(all []store.Follower) []Follower {
	documents := make([]Follower, 0, len(all))
	for _, f := range all {
		documents = append(documents, Follower{f.Cluster, text(f.Subscription), text(f.Reason)})
	}
	return documents
}
