package ci

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
)

// StatusRequest says how a commit fares. Either Phase and Environment are set,
// or State, Context and Description.
type StatusRequest struct {
	Repo   string // owner/name
	Commit string

	Environment string
	Phase       string // see Phases
	Next        string // the environment after this one, "" when it is the last

	State       string
	Context     string
	Description string
	URL         string
}

// deployed is the phase of a commit that all clusters of an environment have.
const deployed = "deployed"

// phases are the steps of a commit through an environment, in the words that
// the tutorials show on the commit.
var phases = map[string]forge.Status{
	"promoted":  {State: forge.Pending, Description: promote.Promoted},
	"deploying": {State: forge.Pending, Description: "Deploying"},
	deployed:    {State: forge.Pending, Description: promote.Deployed},
	"failed":    {State: forge.Failure, Description: "Failed to deploy"},
}

// Phases lists what StatusRequest.Phase can be.
func Phases() []string { return slices.Sorted(maps.Keys(phases)) }

var commitID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// fullCommit refuses what is no full commit ID: a branch's name or a short ID
// could mean another commit in a moment.
func fullCommit(flag, commit string) error {
	if commit == "" {
		return usage.Errorf("no commit: give it with %s", flag)
	}
	if !commitID.MatchString(commit) {
		return usage.Errorf("%s %q is no full commit ID of 40 hexadecimal digits", flag, commit)
	}
	return nil
}

// Status works out the status that a request asks for.
func (r StatusRequest) Status() (forge.Status, error) {
	if err := fullCommit("--commit", r.Commit); err != nil {
		return forge.Status{}, err
	}
	if r.Phase == "" {
		switch state := forge.StatusState(r.State); {
		case r.Context == "":
			return forge.Status{}, usage.Errorf("what is the status about? Give one of %s and --environment, or --context and --state", strings.Join(Phases(), ", "))
		case !slices.Contains([]forge.StatusState{forge.Pending, forge.Success, forge.Failure}, state):
			return forge.Status{}, usage.Errorf("there is no state %q: choose pending, success or failure", r.State)
		default:
			return forge.Status{Context: r.Context, State: state, Description: r.Description, URL: r.URL}, nil
		}
	}
	status, ok := phases[r.Phase]
	switch {
	case !ok:
		return forge.Status{}, usage.Errorf("there is no phase %q: choose %s", r.Phase, strings.Join(Phases(), ", "))
	case r.Environment == "":
		return forge.Status{}, usage.Errorf("phase %s of which environment? Give --environment", r.Phase)
	case r.State != "" || r.Context != "" || r.Description != "":
		return forge.Status{}, usage.Errorf("phase %s has its own state, context and description: leave the flags out", r.Phase)
	}
	if r.Phase == deployed && r.Next == "" {
		status.State = forge.Success
	}
	status.Context, status.URL = promote.StatusContext(r.Environment), r.URL
	return status, nil
}

// SetStatus sets the status and returns it. One that is deployed in the last
// environment has arrived in those before, too: their statuses, which are pending
// until then, succeed with it.
func SetStatus(ctx context.Context, f Forge, r StatusRequest) (forge.Status, error) {
	status, err := r.Status()
	if err != nil {
		return forge.Status{}, err
	}
	err = f.SetStatus(ctx, r.Repo, r.Commit, status)
	if err == nil && r.Phase == deployed && r.Next == "" {
		err = promote.Conclude(ctx, f, r.Repo, r.Commit)
	}
	return status, wrap(err, "setting status %q of commit %.8s of %s", status.Context, r.Commit, r.Repo)
}
