package api

import (
	"context"
	"strconv"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// EnvironmentProblem is something wrong in an environment's model.
	EnvironmentProblem struct {
		Environment string    `json:"environment" doc:"Empty for the control plane itself."`
		Severity    string    `json:"severity"`
		Position    string    `json:"place" doc:"File and line."`
		Message     string    `json:"message"`
		Hint        string    `json:"hint"`
		FirstSeen   time.Time `json:"firstSeen,omitzero"`
	}
	// PullRequest is a pull request of an environment, or of the control plane that environments
	// are made from.
	PullRequest struct {
		Environment string      `json:"environment" doc:"Empty for the branch of the control plane that all of its environments are made from."`
		Repo        string      `json:"repo" doc:"Clone URL."`
		Number      int         `json:"number"`
		Kind        string      `json:"kind" enum:"platform,promotion,application,control-plane"`
		Title       string      `json:"title"`
		State       string      `json:"state"`
		Author      string      `json:"author"`
		URL         string      `json:"url"`
		Held        bool        `json:"held" doc:"It removes much, and waits for a user to release it."`
		Opened      time.Time   `json:"opened,omitzero"`
		Merged      time.Time   `json:"merged,omitzero"`
		MergedBy    string      `json:"mergedBy"`
		Checks      string      `json:"checks" enum:"success,failure,pending," doc:"The statuses of its newest commit together; empty for none, and for one that is not open."`
		Clusters    int         `json:"clusters" doc:"On how many clusters it changes something."`
		Size        *ChangeSize `json:"size,omitempty" doc:"Absent where it is not known, and of applications."`
		Reason      string      `json:"reason" doc:"What an open one waits for."`
	}
	// PullRequestsInput asks for pull requests.
	PullRequestsInput struct {
		Environments []string `query:"env,explode" maxItems:"100"`
		States       []string `query:"state,explode" maxItems:"10" doc:"open, merged or closed."`
		Paging
	}
	// ProblemsInput asks for problems. There are few, so they come on one page.
	ProblemsInput struct {
		Paging
	}
	// Source is a collector: what reads git, clusters, the scheduler or the forge.
	Source struct {
		Name    string    `json:"name"`
		State   string    `json:"state" enum:"ok,failing"`
		Reason  string    `json:"reason"`
		LastOK  time.Time `json:"lastOK,omitzero" doc:"When it has read all of it last."`
		LastTry time.Time `json:"lastTry,omitzero"`
		TookMS  int64     `json:"tookMs" doc:"How long the last look took, in milliseconds."`
	}
)

func (a *api) problemRoutes() {
	list(a, operation{id: "listProblems", path: "/problems", summary: "What is wrong in the models", tagged: true}, listing[*ProblemsInput, store.Problem, EnvironmentProblem]{
		read: a.problems, document: problemDocument, columns: problemColumns,
	})
	list(a, operation{id: "listPullRequests", path: "/pull-requests", summary: "Pull requests", tagged: true}, listing[*PullRequestsInput, store.PullRequest, PullRequest]{
		read: a.pullRequests, document: pullRequestDocument, columns: pullRequestColumns,
	})
	get(a, operation{id: "listSources", path: "/sources", summary: "What the hub reads, and how that goes"}, a.sources)
}

func (a *api) problems(ctx context.Context, _ *ProblemsInput, _ store.Page) (store.List[store.Problem], error) {
	all, err := a.Store.Problems(ctx, scopeOf(ctx))
	if err != nil {
		return store.List[store.Problem]{}, err
	}
	_, asOf, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	return store.List[store.Problem]{Items: all, Total: len(all), AsOf: asOf}, err
}

func (a *api) pullRequests(ctx context.Context, input *PullRequestsInput, page store.Page) (store.List[store.PullRequest], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[store.PullRequest]{}, err
	}
	return a.Store.PullRequests(ctx, scopeOf(ctx), input.Environments, input.States, page)
}

func (a *api) sources(ctx context.Context, _ *struct{}) (List[Source], error) {
	all, err := a.Store.Sources(ctx)
	items := make([]Source, 0, len(all))
	for _, s := range all {
		items = append(items, Source{Name: s.Name, State: s.State, Reason: text(s.Reason), LastOK: s.LastOK, LastTry: s.LastTry, TookMS: s.Took.Milliseconds()})
	}
	return whole(items, time.Time{}), err
}

func problemDocument(p store.Problem) EnvironmentProblem {
	return EnvironmentProblem{Environment: p.Environment, Severity: p.Severity, Position: p.Position, Message: text(p.Message), Hint: text(p.Hint), FirstSeen: p.FirstSeen}
}

func pullRequestDocument(p store.PullRequest) PullRequest {
	return PullRequest{
		Environment: p.Environment, Repo: p.Repo, Number: p.Number, Kind: p.Kind, Title: text(p.Title), State: p.State, Author: text(p.Author), URL: p.URL,
		Held: p.Held, Opened: p.Opened, Merged: p.Merged, MergedBy: text(p.MergedBy), Checks: p.Checks, Clusters: p.Clusters, Size: sizeDocument(p.Size), Reason: text(p.Reason),
	}
}

var (
	problemColumns = []column[EnvironmentProblem]{
		{"environment", func(p EnvironmentProblem) string { return p.Environment }},
		{"severity", func(p EnvironmentProblem) string { return p.Severity }},
		{"place", func(p EnvironmentProblem) string { return p.Position }},
		{"message", func(p EnvironmentProblem) string { return p.Message }},
		{"hint", func(p EnvironmentProblem) string { return p.Hint }},
		{"firstSeen", func(p EnvironmentProblem) string { return timeCell(p.FirstSeen) }},
	}
	pullRequestColumns = []column[PullRequest]{
		{"environment", func(p PullRequest) string { return p.Environment }},
		{"repo", func(p PullRequest) string { return p.Repo }},
		{"number", func(p PullRequest) string { return strconv.Itoa(p.Number) }},
		{"kind", func(p PullRequest) string { return p.Kind }},
		{"title", func(p PullRequest) string { return p.Title }},
		{"state", func(p PullRequest) string { return p.State }},
		{"author", func(p PullRequest) string { return p.Author }},
		{"opened", func(p PullRequest) string { return timeCell(p.Opened) }},
		{"merged", func(p PullRequest) string { return timeCell(p.Merged) }},
		{"mergedBy", func(p PullRequest) string { return p.MergedBy }},
		{"checks", func(p PullRequest) string { return p.Checks }},
		{"clusters", func(p PullRequest) string { return strconv.Itoa(p.Clusters) }},
		{"reason", func(p PullRequest) string { return p.Reason }},
		{"url", func(p PullRequest) string { return p.URL }},
	}
)
