package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// Change is a pull request to a branch that clusters follow, or a commit of it that no pull
	// request has brought, and how far it has come.
	Change struct {
		ID          int64          `json:"id"`
		Kind        string         `json:"kind" enum:"platform,application,promotion"`
		Environment string         `json:"environment"`
		Repo        string         `json:"repo" doc:"Clone URL."`
		Branch      string         `json:"branch"`
		PullRequest int            `json:"pullRequest" doc:"0 for a commit that none has brought."`
		URL         string         `json:"url" doc:"For a browser; empty where the forge has no page of it."`
		SHA         string         `json:"sha" doc:"Of the commit on the branch; before the merge of the pull request's newest."`
		Title       string         `json:"title"`
		Author      string         `json:"author"`
		ApprovedBy  string         `json:"approvedBy" doc:"With the last review that stands; empty where nobody has, or the forge is not asked any more."`
		MergedBy    string         `json:"mergedBy"`
		State       ChangeState    `json:"state"`
		Stages      ChangeStages   `json:"stages"`
		Reached     int            `json:"reached" doc:"Clusters that have it."`
		Failing     int            `json:"failing" doc:"Clusters that cannot apply it."`
		Total       int            `json:"total" doc:"Clusters that it goes to."`
		Size        *ChangeSize    `json:"size,omitempty" doc:"Absent where it is not known, and of applications."`
		Sources     []SourceCommit `json:"sources" doc:"The commits that it was made of."`
		Reason      string         `json:"reason" doc:"Why it is in its state."`
	}
	// ChangeStages are when a change has come how far, in this order; absent what is not known, or
	// has not happened.
	ChangeStages struct {
		Pushed       time.Time `json:"pushed,omitzero" doc:"The first of its source commits."`
		Planned      time.Time `json:"planned,omitzero"`
		Opened       time.Time `json:"opened,omitzero"`
		Approved     time.Time `json:"approved,omitzero" doc:"By the last review that stands."`
		Merged       time.Time `json:"merged,omitzero"`
		FirstApplied time.Time `json:"firstApplied,omitzero" doc:"On the first cluster."`
		Applied      time.Time `json:"applied,omitzero" doc:"On all clusters."`
	}
	// ChangeSize counts assignments.
	ChangeSize struct {
		Added   int `json:"added"`
		Changed int `json:"changed"`
		Removed int `json:"removed"`
	}
	// SourceCommit is a commit of the control plane or of an application.
	SourceCommit struct {
		Repo    string    `json:"repo"`
		SHA     string    `json:"sha"`
		Author  string    `json:"author" doc:"Empty where the repository does not give the commit."`
		Subject string    `json:"subject"`
		At      time.Time `json:"at,omitzero" doc:"By the clock of who has committed it."`
		URL     string    `json:"url"`
	}
	// ChangeDetail is a change with all that is known of it.
	ChangeDetail struct {
		Change
		Epoch ChangeEpoch  `json:"epoch"`
		Lanes []ChangeLane `json:"lanes" doc:"By cluster type."`
		Next  *Promotion   `json:"next,omitempty" doc:"What takes it to the next environment."`
	}
	// ChangeEpoch is the time between two pushes with force in which a change came to its branch.
	ChangeEpoch struct {
		Number int       `json:"number" doc:"Greater than 1 where the branch was pushed with force before; 0 where it has not been read."`
		Began  time.Time `json:"began,omitzero" doc:"When that was seen; absent of the first."`
	}
	// ChangeLane is how far a change has come on the clusters of a type.
	ChangeLane struct {
		ClusterType  string    `json:"clusterType"`
		Total        int       `json:"total"`
		Reached      int       `json:"reached"`
		Failing      int       `json:"failing"`
		FirstApplied time.Time `json:"firstApplied,omitzero"`
		Applied      time.Time `json:"applied,omitzero" doc:"On all of them."`
	}
	// Promotion is the pull request that takes a change to the next environment.
	Promotion struct {
		Change      int64       `json:"change" doc:"Its ID."`
		Environment string      `json:"environment"`
		PullRequest int         `json:"pullRequest"`
		URL         string      `json:"url"`
		State       ChangeState `json:"state"`
		Reason      string      `json:"reason" doc:"What it waits for."`
	}
	// ChangesInput asks for changes.
	ChangesInput struct {
		Environments []string      `query:"env,explode" maxItems:"100"`
		Kinds        []string      `query:"kind,explode" maxItems:"10" enum:"platform,application,promotion"`
		States       []ChangeState `query:"state,explode" maxItems:"10"`
		Text         string        `query:"q" maxLength:"200" doc:"A part of the title or of the author, without case, or a commit of any repository by seven digits or more."`
		Paging
	}
	// ChangeInput names a change.
	ChangeInput struct {
		ID int64 `path:"id" minimum:"1"`
	}
	// ChangeClustersInput asks where a change is.
	ChangeClustersInput struct {
		ChangeInput
		ClusterTypes []string `query:"clusterType,explode" maxItems:"100"`
		Paging
	}
	// ChangeCluster is how far a change has come on a cluster.
	ChangeCluster struct {
		Cluster      string    `json:"cluster"`
		ClusterType  string    `json:"clusterType"`
		Subscription string    `json:"subscription" doc:"Namespace and name."`
		Fetched      time.Time `json:"fetched,omitzero"`
		Applied      time.Time `json:"applied,omitzero" doc:"Absent where it was applied before the hub has looked."`
		State        string    `json:"state" enum:"failing,unknown,waiting,fetched,applied"`
		Reason       string    `json:"reason"`
	}
	// ChangeReference names the change that something has begun with.
	ChangeReference struct {
		ID          int64  `json:"id"`
		Title       string `json:"title"`
		Author      string `json:"author"`
		URL         string `json:"url"`
		PullRequest int    `json:"pullRequest"`
		Kind        string `json:"kind"`
	}
)

// ChangeState is how a change is.
type ChangeState string

func changeStates() []ChangeState {
	return []ChangeState{store.ChangeOpen, store.ChangeHeld, store.ChangeClosed, store.ChangeRolling, store.ChangeFailing, store.ChangeApplied, store.ChangeNone}
}

func (a *api) changeRoutes() {
	list(a, operation{id: "listChanges", path: "/changes", summary: "Changes, the newest first", tagged: true}, listing[*ChangesInput, store.Change, Change]{
		read: a.changes, document: changeDocument, columns: changeColumns,
	})
	get(a, operation{id: "getChange", path: "/changes/{id}", summary: "A change, and how far it is by cluster type", tagged: true}, a.change)
	list(a, operation{id: "listChangeClusters", path: "/changes/{id}/clusters", summary: "Where a change is: what fails and what takes the longest first", tagged: true},
		listing[*ChangeClustersInput, store.ChangeCluster, ChangeCluster]{read: a.changeClusters, document: changeClusterDocument, columns: changeClusterColumns})
}

func (a *api) changes(ctx context.Context, input *ChangesInput, page store.Page) (store.List[store.Change], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[store.Change]{}, err
	}
	f := store.ChangeFilter{Environments: input.Environments, Kinds: input.Kinds, Text: input.Text}
	for _, s := range input.States {
		f.States = append(f.States, string(s))
	}
	return a.Store.Changes(ctx, scopeOf(ctx), f, page)
}

func (a *api) change(ctx context.Context, input *ChangeInput) (ChangeDetail, error) {
	found, err := a.Store.Change(ctx, scopeOf(ctx), input.ID)
	if err != nil {
		return ChangeDetail{}, a.noChange(ctx, input.ID, err)
	}
	d := ChangeDetail{Change: changeDocument(found.Change), Epoch: ChangeEpoch{found.Epoch, found.EpochBegan}, Lanes: []ChangeLane{}}
	for _, l := range found.Lanes {
		d.Lanes = append(d.Lanes, ChangeLane(l))
	}
	if n := found.Next; n != nil {
		d.Next = &Promotion{n.ID, n.Environment, n.PullRequest, n.URL, ChangeState(n.State), text(n.Reason)}
	}
	return d, nil
}

func (a *api) changeClusters(ctx context.Context, input *ChangeClustersInput, page store.Page) (store.List[store.ChangeCluster], error) {
	found, err := a.Store.ChangeClusters(ctx, scopeOf(ctx), input.ID, input.ClusterTypes, page)
	return found, a.noChange(ctx, input.ID, err)
}

// noChange says that a change is not there. That it is, and out of scope, only the audit is told.
func (a *api) noChange(ctx context.Context, id int64, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, hidden := a.Store.Change(ctx, store.Scope{}, id)
	requestOf(ctx).hidden = hidden == nil
	return notFound("path.id", "change", fmt.Sprint(id), nil)
}

func changeDocument(c store.Change) Change {
	d := Change{
		ID: c.ID, Kind: c.Kind, Environment: c.Environment, Repo: c.Repo, Branch: c.Branch, PullRequest: c.PullRequest, URL: c.URL, SHA: c.SHA,
		Title: text(c.Title), Author: text(c.Author), ApprovedBy: text(c.ApprovedBy), MergedBy: text(c.MergedBy), State: ChangeState(c.State), Stages: ChangeStages(c.Stages),
		Reached: c.Reached, Failing: c.Failing, Total: c.Total, Size: sizeDocument(c.Size), Sources: []SourceCommit{}, Reason: text(c.Reason),
	}
	for _, s := range c.Sources {
		d.Sources = append(d.Sources, SourceCommit{Repo: s.Repo, SHA: s.SHA, Author: text(s.Author), Subject: text(s.Subject), At: s.At, URL: s.URL})
	}
	return d
}

func sizeDocument(s *store.Size) *ChangeSize { return (*ChangeSize)(s) }

func changeClusterDocument(c store.ChangeCluster) ChangeCluster {
	return ChangeCluster{
		Cluster: c.Cluster, ClusterType: c.ClusterType, Subscription: text(c.Subscription), Fetched: c.Fetched, Applied: c.Applied, State: c.State.String(), Reason: text(c.Reason),
	}
}

// changeReference is nil for a change that is not known.
func changeReference(c *store.Change) *ChangeReference {
	if c == nil {
		return nil
	}
	return &ChangeReference{ID: c.ID, Title: text(c.Title), Author: text(c.Author), URL: c.URL, PullRequest: c.PullRequest, Kind: c.Kind}
}

var (
	changeColumns = []column[Change]{
		{"id", func(c Change) string { return strconv.FormatInt(c.ID, 10) }},
		{"environment", func(c Change) string { return c.Environment }},
		{"kind", func(c Change) string { return c.Kind }},
		{"state", func(c Change) string { return string(c.State) }},
		{"title", func(c Change) string { return c.Title }},
		{"author", func(c Change) string { return c.Author }},
		{"approvedBy", func(c Change) string { return c.ApprovedBy }},
		{"mergedBy", func(c Change) string { return c.MergedBy }},
		{"repo", func(c Change) string { return c.Repo }},
		{"branch", func(c Change) string { return c.Branch }},
		{"pullRequest", func(c Change) string { return strconv.Itoa(c.PullRequest) }},
		{"sha", func(c Change) string { return c.SHA }},
		{"pushed", func(c Change) string { return timeCell(c.Stages.Pushed) }},
		{"planned", func(c Change) string { return timeCell(c.Stages.Planned) }},
		{"opened", func(c Change) string { return timeCell(c.Stages.Opened) }},
		{"approved", func(c Change) string { return timeCell(c.Stages.Approved) }},
		{"merged", func(c Change) string { return timeCell(c.Stages.Merged) }},
		{"firstApplied", func(c Change) string { return timeCell(c.Stages.FirstApplied) }},
		{"applied", func(c Change) string { return timeCell(c.Stages.Applied) }},
		{"reached", func(c Change) string { return strconv.Itoa(c.Reached) }},
		{"failing", func(c Change) string { return strconv.Itoa(c.Failing) }},
		{"total", func(c Change) string { return strconv.Itoa(c.Total) }},
		{"sources", func(c Change) string {
			var all []string
			for _, s := range c.Sources {
				all = append(all, s.Repo+"@"+s.SHA)
			}
			return strings.Join(all, " ")
		}},
		{"reason", func(c Change) string { return c.Reason }},
		{"url", func(c Change) string { return c.URL }},
	}
	changeClusterColumns = []column[ChangeCluster]{
		{"cluster", func(c ChangeCluster) string { return c.Cluster }},
		{"clusterType", func(c ChangeCluster) string { return c.ClusterType }},
		{"subscription", func(c ChangeCluster) string { return c.Subscription }},
		{"state", func(c ChangeCluster) string { return c.State }},
		{"fetched", func(c ChangeCluster) string { return timeCell(c.Fetched) }},
		{"applied", func(c ChangeCluster) string { return timeCell(c.Applied) }},
		{"reason", func(c ChangeCluster) string { return c.Reason }},
	}
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
