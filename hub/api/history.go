package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// TargetEvent is something in the history of a deployment target.
	TargetEvent struct {
		At          time.Time `json:"at" doc:"By the cluster's clock where that is known; of a version when it was committed."`
		Kind        string    `json:"kind" enum:"transition,version" doc:"What has happened on a cluster, or a version that git asked for."`
		Environment string    `json:"environment"`
		Cluster     string    `json:"cluster" doc:"Empty of a version."`
		FromState   State     `json:"fromState" doc:"Empty of a version, and where the placement was new."`
		ToState     State     `json:"toState" doc:"Empty of a version, and where the placement is gone."`
		FromVersion string    `json:"fromVersion"`
		ToVersion   string    `json:"toVersion"`
		ToCommit    string    `json:"toCommit" doc:"Of a version, the commit of the GitOps branch that brought it."`
		Reason      string    `json:"reason"`
	}
	// TargetHistoryInput asks for the history of a deployment target.
	TargetHistoryInput struct {
		Target       string   `path:"target" doc:"WORKLOAD-TARGET."`
		Environments []string `query:"env,explode" maxItems:"100" doc:"All when absent."`
		Clusters     []string `query:"cluster,explode" maxItems:"100" doc:"Only what has happened on these."`
		Paging
	}
)

func (a *api) historyRoutes() {
	list(a, operation{id: "listTargetHistory", path: "/targets/{target}/history", summary: "What has happened to a deployment target on all clusters, and which versions git asked for, the newest first", tagged: true},
		listing[*TargetHistoryInput, store.Event, TargetEvent]{read: a.targetHistory, document: targetEventDocument, columns: targetEventColumns})
}

func (a *api) targetHistory(ctx context.Context, input *TargetHistoryInput, page store.Page) (store.List[store.Event], error) {
	none := store.List[store.Event]{}
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return none, err
	}
	names, err := a.Store.TargetNames(ctx, scopeOf(ctx))
	if err != nil {
		return none, err
	}
	if !slices.Contains(names, input.Target) {
		all, err := a.Store.TargetNames(ctx, store.Scope{})
		if err != nil {
			return none, err
		}
		requestOf(ctx).hidden = slices.Contains(all, input.Target)
		return none, notFound("path.target", "deployment target", input.Target, names)
	}
	for _, name := range input.Clusters {
		if _, err := a.Store.Cluster(ctx, scopeOf(ctx), name); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				err = a.noCluster(ctx, "query.cluster", name)
			}
			return none, err
		}
	}
	return a.Store.TargetHistory(ctx, scopeOf(ctx), input.Target, store.PlacementFilter{Environments: input.Environments, Clusters: input.Clusters}, page)
}

func targetEventDocument(e store.Event) TargetEvent {
	kind := "transition"
	if e.Cluster == "" {
		kind = "version"
	}
	return TargetEvent{
		At: e.At, Kind: kind, Environment: e.Environment, Cluster: e.Cluster, FromState: State(e.FromState), ToState: State(e.ToState),
		FromVersion: e.FromVersion, ToVersion: e.ToVersion, ToCommit: e.ToCommit, Reason: text(e.Reason),
	}
}

var targetEventColumns = []column[TargetEvent]{
	{"at", func(e TargetEvent) string { return timeCell(e.At) }},
	{"kind", func(e TargetEvent) string { return e.Kind }},
	{"environment", func(e TargetEvent) string { return e.Environment }},
	{"cluster", func(e TargetEvent) string { return e.Cluster }},
	{"fromState", func(e TargetEvent) string { return string(e.FromState) }},
	{"toState", func(e TargetEvent) string { return string(e.ToState) }},
	{"fromVersion", func(e TargetEvent) string { return e.FromVersion }},
	{"toVersion", func(e TargetEvent) string { return e.ToVersion }},
	{"toCommit", func(e TargetEvent) string { return e.ToCommit }},
	{"reason", func(e TargetEvent) string { return e.Reason }},
}
