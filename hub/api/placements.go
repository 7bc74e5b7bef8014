package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

type (
	// Placement is an assignment on a cluster, as it should be and as it is.
	Placement struct {
		view.PlacementDocument
		Workload  string   `json:"workload"`
		Workspace string   `json:"workspace"`
		Policies  []string `json:"policies" doc:"The scheduling policies that assign it."`
	}
	// PlacementEvent is a transition of a placement.
	PlacementEvent struct {
		ID          int64     `json:"id"`
		At          time.Time `json:"at" doc:"By the cluster's clock, where it says."`
		SeenAt      time.Time `json:"seenAt" doc:"By the hub's clock."`
		FromState   State     `json:"fromState,omitempty" doc:"Absent of the first."`
		ToState     State     `json:"toState,omitempty" doc:"Absent when it is gone."`
		FromVersion string    `json:"fromVersion"`
		ToVersion   string    `json:"toVersion"`
		FromCommit  string    `json:"fromCommit"`
		ToCommit    string    `json:"toCommit"`
		Reason      string    `json:"reason"`
	}
	// PlacementsInput asks for placements.
	PlacementsInput struct {
		PlacementFilter
		At time.Time `query:"at" doc:"A moment of the past: what git asked for then, and what was observed. Labels, workspaces and policies are those of now."`
		SortedPaging
	}
	// PlacementInput names a placement.
	PlacementInput struct {
		Environment string `path:"environment"`
		Cluster     string `path:"cluster"`
		Target      string `path:"target"`
	}
	// PlacementEventsInput asks for the history of a placement.
	PlacementEventsInput struct {
		PlacementInput
		Paging
	}
	// DriftGroup are placements that differ from what they should be for one reason.
	DriftGroup struct {
		Environment  string           `json:"environment"`
		State        State            `json:"state"`
		Reason       string           `json:"reason" doc:"With # for its numbers and hashes."`
		Example      string           `json:"example" doc:"The reason of one of them."`
		Clusters     int              `json:"clusters" doc:"On how many clusters."`
		N            int              `json:"n" doc:"How many placements."`
		Since        time.Time        `json:"since,omitzero" doc:"Of the one that began first."`
		Targets      []string         `json:"targets" doc:"20 of them at most."`
		ClusterNames []string         `json:"clusterNames" doc:"20 of them at most."`
		Change       *ChangeReference `json:"change,omitempty" doc:"That it has begun with, where that is known."`
	}
	// Outlier is a placement at another version than nearly all others of its cluster type.
	Outlier struct {
		Environment string    `json:"environment"`
		Cluster     string    `json:"cluster"`
		ClusterType string    `json:"clusterType"`
		Target      string    `json:"target"`
		Version     string    `json:"version"`
		Usual       string    `json:"usual" doc:"The version of the others."`
		Share       float64   `json:"share" minimum:"0" maximum:"1" doc:"Of the other clusters of the type, those at the usual version; 0.9 or more."`
		Since       time.Time `json:"since,omitzero"`
	}
	// OutliersInput asks for outliers.
	OutliersInput struct {
		Environments []string `query:"env,explode" maxItems:"100"`
		Paging
	}
	// DriftInput asks for what is not as it should be.
	DriftInput struct {
		PlacementFilter
		Paging
	}
)

func (a *api) placementRoutes() {
	list(a, operation{id: "listPlacements", path: "/placements", summary: "Placements", tagged: true}, listing[*PlacementsInput, store.Placement, Placement]{
		sorts: store.PlacementSorts, read: a.placements, document: placementDocument, columns: placementColumns,
	})
	get(a, operation{id: "getPlacement", path: "/placements/{environment}/{cluster}/{target}", summary: "A placement", tagged: true}, a.placement)
	list(a, operation{id: "listPlacementEvents", path: "/placements/{environment}/{cluster}/{target}/events", summary: "The history of a placement, the newest first", tagged: true},
		listing[*PlacementEventsInput, store.Event, PlacementEvent]{read: a.placementEvents, document: eventDocument, columns: eventColumns})
	list(a, operation{id: "listDrift", path: "/drift", summary: "What is not as it should be, by reason", tagged: true}, listing[*DriftInput, store.DriftGroup, DriftGroup]{
		read: a.drift, document: driftDocument, columns: driftColumns,
	})
	list(a, operation{id: "listOutliers", path: "/outliers", summary: "Placements at another version than the others of their cluster type", tagged: true}, listing[*OutliersInput, store.Outlier, Outlier]{
		read: a.outliers, document: func(o store.Outlier) Outlier { return Outlier(o) }, columns: outlierColumns,
	})
}

func (a *api) placements(ctx context.Context, input *PlacementsInput, page store.Page) (store.List[store.Placement], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[store.Placement]{}, err
	}
	if !input.At.IsZero() {
		if err := notInFuture("query.at", input.At); err != nil {
			return store.List[store.Placement]{}, err
		}
		return a.Store.PlacementsAt(ctx, scopeOf(ctx), input.filter(), input.At, page)
	}
	return a.Store.Placements(ctx, scopeOf(ctx), input.filter(), page)
}

// notInFuture is a problem about a time that has not been yet.
func notInFuture(location string, at time.Time) error {
	if !at.After(time.Now()) {
		return nil
	}
	return newProblem(http.StatusUnprocessableEntity, "nothing is known of "+timeCell(at)+", which has not been yet").at(location, at)
}

func (a *api) placement(ctx context.Context, input *PlacementInput) (Placement, error) {
	found, err := a.Store.Placement(ctx, scopeOf(ctx), input.Environment, input.Cluster, input.Target)
	if errors.Is(err, store.ErrNotFound) {
		return Placement{}, a.noPlacement(ctx, input)
	}
	return placementDocument(found), err
}

func (a *api) placementEvents(ctx context.Context, input *PlacementEventsInput, page store.Page) (store.List[store.Event], error) {
	found, err := a.Store.PlacementEvents(ctx, scopeOf(ctx), input.Environment, input.Cluster, input.Target, page)
	if err == nil && len(found.Items) == 0 && page.After == "" { // one that is gone has a history
		return found, a.noPlacement(ctx, &input.PlacementInput)
	}
	return found, err
}

// noPlacement says which part of a placement's name is not there. That it is there, and out of
// scope, only the audit is told.
func (a *api) noPlacement(ctx context.Context, p *PlacementInput) error {
	_, hidden := a.Store.Placement(ctx, store.Scope{}, p.Environment, p.Cluster, p.Target)
	defer func() { requestOf(ctx).hidden = hidden == nil }()
	environments, _, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	if err != nil {
		return err
	}
	if !slices.Contains(environments, p.Environment) {
		return notFound("path.environment", "environment", p.Environment, environments)
	}
	if _, err := a.Store.Cluster(ctx, scopeOf(ctx), p.Cluster); errors.Is(err, store.ErrNotFound) {
		return a.noCluster(ctx, "path.cluster", p.Cluster)
	} else if err != nil {
		return err
	}
	beside, err := a.Store.Placements(ctx, scopeOf(ctx), store.PlacementFilter{Environments: []string{p.Environment}, Clusters: []string{p.Cluster}}, store.Page{Limit: maxLimit})
	if err != nil {
		return err
	}
	var targets []string
	for _, one := range beside.Items {
		targets = append(targets, one.Target)
	}
	return notFound("path.target", "placement of target", p.Target, targets)
}

func (a *api) drift(ctx context.Context, input *DriftInput, page store.Page) (store.List[store.DriftGroup], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[store.DriftGroup]{}, err
	}
	return a.Store.Drift(ctx, scopeOf(ctx), input.filter(), page)
}

func (a *api) outliers(ctx context.Context, input *OutliersInput, page store.Page) (store.List[store.Outlier], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[store.Outlier]{}, err
	}
	return a.Store.Outliers(ctx, scopeOf(ctx), input.Environments, page)
}

func placementDocument(p store.Placement) Placement {
	p.Reason = text(p.Reason)
	return Placement{PlacementDocument: view.PlacementDocument{Placement: p.Placement}, Workload: p.Workload, Workspace: p.Workspace, Policies: orEmpty(p.Policies)}
}

func eventDocument(e store.Event) PlacementEvent {
	return PlacementEvent{
		ID: e.ID, At: e.At, SeenAt: e.SeenAt, FromState: State(e.FromState), ToState: State(e.ToState),
		FromVersion: e.FromVersion, ToVersion: e.ToVersion, FromCommit: e.FromCommit, ToCommit: e.ToCommit, Reason: text(e.Reason),
	}
}

func driftDocument(g store.DriftGroup) DriftGroup {
	return DriftGroup{
		Environment: g.Environment, State: State(g.State), Reason: text(g.Reason), Example: text(g.Example), Clusters: g.Clusters, N: g.N,
		Since: g.Since, Targets: orEmpty(g.Targets), ClusterNames: orEmpty(g.ClusterNames), Change: changeReference(g.Change),
	}
}

func statesOf(all []State) []placement.State {
	var states []placement.State
	for _, s := range all {
		states = append(states, placement.State(s))
	}
	return states
}

var (
	placementColumns = []column[Placement]{
		{"environment", func(p Placement) string { return p.Environment }},
		{"cluster", func(p Placement) string { return p.Cluster }},
		{"clusterType", func(p Placement) string { return p.ClusterType }},
		{"target", func(p Placement) string { return p.Target }},
		{"workload", func(p Placement) string { return p.Workload }},
		{"workspace", func(p Placement) string { return p.Workspace }},
		{"desiredVersion", func(p Placement) string { return p.Desired.Version }},
		{"desiredCommit", func(p Placement) string { return p.Desired.Commit }},
		{"actualVersion", func(p Placement) string { return p.Actual.Version }},
		{"actualCommit", func(p Placement) string { return p.Actual.Commit }},
		{"state", func(p Placement) string { return string(p.State) }},
		{"since", func(p Placement) string { return timeCell(p.Since) }},
		{"asOf", func(p Placement) string { return timeCell(p.AsOf) }},
		{"reason", func(p Placement) string { return p.Reason }},
		{"policies", func(p Placement) string { return strings.Join(p.Policies, " ") }},
	}
	eventColumns = []column[PlacementEvent]{
		{"id", func(e PlacementEvent) string { return strconv.FormatInt(e.ID, 10) }},
		{"at", func(e PlacementEvent) string { return timeCell(e.At) }},
		{"seenAt", func(e PlacementEvent) string { return timeCell(e.SeenAt) }},
		{"fromState", func(e PlacementEvent) string { return string(e.FromState) }},
		{"toState", func(e PlacementEvent) string { return string(e.ToState) }},
		{"fromVersion", func(e PlacementEvent) string { return e.FromVersion }},
		{"toVersion", func(e PlacementEvent) string { return e.ToVersion }},
		{"fromCommit", func(e PlacementEvent) string { return e.FromCommit }},
		{"toCommit", func(e PlacementEvent) string { return e.ToCommit }},
		{"reason", func(e PlacementEvent) string { return e.Reason }},
	}
	driftColumns = []column[DriftGroup]{
		{"environment", func(g DriftGroup) string { return g.Environment }},
		{"state", func(g DriftGroup) string { return string(g.State) }},
		{"since", func(g DriftGroup) string { return timeCell(g.Since) }},
		{"clusters", func(g DriftGroup) string { return strconv.Itoa(g.Clusters) }},
		{"placements", func(g DriftGroup) string { return strconv.Itoa(g.N) }},
		{"reason", func(g DriftGroup) string { return g.Reason }},
		{"example", func(g DriftGroup) string { return g.Example }},
		{"targets", func(g DriftGroup) string { return strings.Join(g.Targets, " ") }},
		{"clusterNames", func(g DriftGroup) string { return strings.Join(g.ClusterNames, " ") }},
		{"change", func(g DriftGroup) string {
			if g.Change == nil {
				return ""
			}
			return g.Change.URL
		}},
	}
	outlierColumns = []column[Outlier]{
		{"environment", func(o Outlier) string { return o.Environment }},
		{"cluster", func(o Outlier) string { return o.Cluster }},
		{"clusterType", func(o Outlier) string { return o.ClusterType }},
		{"target", func(o Outlier) string { return o.Target }},
		{"version", func(o Outlier) string { return o.Version }},
		{"usual", func(o Outlier) string { return o.Usual }},
		{"share", func(o Outlier) string { return strconv.FormatFloat(o.Share, 'f', 3, 64) }},
		{"since", func(o Outlier) string { return timeCell(o.Since) }},
	}
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
