package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

type (
	// Environment is an environment of a control plane with how its placements are.
	Environment struct {
		Name         string                  `json:"name"`
		ControlPlane string                  `json:"controlPlane" doc:"Clone URL."`
		Branch       string                  `json:"branch" doc:"Of the control plane."`
		Commit       string                  `json:"commit" doc:"The head of the branch, as read last."`
		GitOps       GitOps                  `json:"gitOps"`
		Position     int                     `json:"position" doc:"In the chain of promotion."`
		Plan         string                  `json:"plan" doc:"synced, planning or error; empty while it is not known."`
		Error        string                  `json:"error" doc:"Why it cannot be loaded or planned."`
		Counts       map[placement.State]int `json:"counts" doc:"Placements by state."`
		AsOf         time.Time               `json:"asOf,omitzero"`
	}
	// GitOps is the branch that an environment's clusters follow.
	GitOps struct {
		Repo   string `json:"repo"`
		Branch string `json:"branch"`
		Path   string `json:"path"`
		Commit string `json:"commit"`
	}
	// EnvironmentInput names an environment.
	EnvironmentInput struct {
		Environment string `path:"env"`
	}
	// Cluster is a cluster of the fleet.
	Cluster struct {
		Name          string                  `json:"name"`
		Labels        map[string]string       `json:"labels"`
		Source        string                  `json:"source" doc:"Who reports it: kubernetes, arc."`
		Reconciler    string                  `json:"reconciler" doc:"flux, argocd, or both."`
		LastSeen      time.Time               `json:"lastSeen,omitzero"`
		Unknown       string                  `json:"unknown" doc:"Why nothing certain is known of it; empty of one that has answered."`
		Approximate   bool                    `json:"approximate" doc:"It was not asked itself."`
		FirstSeen     time.Time               `json:"firstSeen,omitzero"`
		Types         map[string]string       `json:"types" doc:"Environment to cluster type."`
		Counts        map[placement.State]int `json:"counts" doc:"Placements by state."`
		Subscriptions []fleet.Subscription    `json:"subscriptions,omitempty" doc:"Only of one cluster, and for those whose scope is all."`
	}
	// ClustersInput asks for clusters.
	ClustersInput struct {
		Names        []string `query:"cluster,explode" maxItems:"100"`
		Environments []string `query:"env,explode" maxItems:"100"`
		Types        []string `query:"clusterType,explode" maxItems:"100"`
		Reconcilers  []string `query:"reconciler,explode" maxItems:"10"`
		States       []State  `query:"state,explode" maxItems:"100" doc:"Those with a placement in the state."`
		Labels       string   `query:"label" maxLength:"1000" doc:"A label selector, as of Kubernetes."`
		Text         string   `query:"q" maxLength:"200" doc:"A part of the name, without case."`
		Unknown      string   `query:"unknown" enum:"true,false" doc:"true: those that have not answered."`
		SortedPaging
	}
	// ClusterInput names a cluster.
	ClusterInput struct {
		Name string `path:"name"`
	}
	// Workload is where an application runs.
	Workload struct {
		Name         string                         `json:"name"`
		Workspace    string                         `json:"workspace"`
		Environments map[string]WorkloadEnvironment `json:"environments"`
	}
	// WorkloadEnvironment is a workload in one environment.
	WorkloadEnvironment struct {
		Targets  []string                `json:"targets"`
		Versions map[string]int          `json:"versions" doc:"Placements by the version that runs."`
		Counts   map[placement.State]int `json:"counts" doc:"Placements by state."`
	}
	// Matrix is what runs where, for a table: cells have indexes of the other lists.
	Matrix struct {
		Rows     []MatrixRow       `json:"rows"`
		Cols     []MatrixCol       `json:"cols"`
		Versions []string          `json:"versions"`
		States   []placement.State `json:"states"`
		Cells    [][5]int          `json:"cells" doc:"Index of the row, of the column, of the version, of the state, and how many placements. A pair has several where versions or states differ."`
		Next     string            `json:"next,omitempty"`
		AsOf     time.Time         `json:"asOf,omitzero"`
	}
	// MatrixRow is a cluster type or a cluster.
	MatrixRow struct {
		Name        string `json:"name"`
		ClusterType string `json:"clusterType"`
		Clusters    int    `json:"clusters"`
	}
	// MatrixCol is a deployment target or a workload.
	MatrixCol struct {
		Name      string `json:"name"`
		Workload  string `json:"workload"`
		Workspace string `json:"workspace"`
	}
	// MatrixInput asks for a matrix.
	MatrixInput struct {
		EnvironmentInput
		Rows        string   `query:"rows" enum:"types,clusters" default:"types"`
		Cols        string   `query:"cols" enum:"targets,workloads" default:"targets"`
		ClusterType string   `query:"clusterType" doc:"That of the rows."`
		Targets     []string `query:"target,explode" maxItems:"100"`
		Workloads   []string `query:"workload,explode" maxItems:"100"`
		Workspaces  []string `query:"workspace,explode" maxItems:"100"`
		States      []State  `query:"state,explode" maxItems:"100"`
		Labels      string   `query:"label" maxLength:"1000" doc:"A label selector of the cluster, as of Kubernetes."`
		Text        string   `query:"q" maxLength:"200" doc:"A part of the cluster's or target's name, of a version or of a reason, without case."`
		Limit       int      `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many rows the page has at most."`
		After       string   `query:"after" maxLength:"4096" doc:"The value of next of the page before, with the same filters."`
	}
)

func (a *api) fleetRoutes() {
	get(a, operation{id: "listEnvironments", path: "/environments", summary: "Environments with counts by state", tagged: true}, a.environments)
	get(a, operation{id: "getEnvironment", path: "/environments/{env}", summary: "An environment", tagged: true}, a.environment)
	get(a, operation{id: "getMatrix", path: "/environments/{env}/matrix", summary: "What runs where in an environment", tagged: true}, a.matrix)
	list(a, operation{id: "listClusters", path: "/clusters", summary: "Clusters", tagged: true}, listing[*ClustersInput, store.Cluster, Cluster]{
		sorts: store.ClusterSorts, read: a.clusters, document: clusterDocument, columns: clusterColumns,
	})
	get(a, operation{id: "getCluster", path: "/clusters/{name}", summary: "A cluster with all that it follows", tagged: true}, a.cluster)
	get(a, operation{id: "listWorkloads", path: "/workloads", summary: "Workloads by environment, with versions", tagged: true}, a.workloads)
	get(a, operation{id: "getWorkload", path: "/workloads/{name}", summary: "A workload", tagged: true}, a.workload)
}

func (a *api) environments(ctx context.Context, _ *struct{}) (List[Environment], error) {
	all, err := a.Store.Environments(ctx, scopeOf(ctx))
	if err != nil {
		return List[Environment]{}, err
	}
	items := make([]Environment, 0, len(all))
	for _, e := range all {
		items = append(items, environmentDocument(e))
	}
	_, asOf, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	return whole(items, asOf), err
}

func (a *api) environment(ctx context.Context, input *EnvironmentInput) (Environment, error) {
	if err := a.inScope(ctx, input.Environment); err != nil {
		return Environment{}, err
	}
	all, err := a.Store.Environments(ctx, scopeOf(ctx))
	if err != nil {
		return Environment{}, err
	}
	i := slices.IndexFunc(all, func(e store.Environment) bool { return e.Name == input.Environment })
	if i < 0 { // it has gone since
		return Environment{}, notFound("path.env", "environment", input.Environment, nil)
	}
	return environmentDocument(all[i]), nil
}

// inScope is nil for an environment that is there and in scope.
func (a *api) inScope(ctx context.Context, environment string) error {
	names, _, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	if err != nil || slices.Contains(names, environment) {
		return err
	}
	return a.noEnvironment(ctx, "path.env", environment, names)
}

// noEnvironment has the nearest of the names that are in scope.
func (a *api) noEnvironment(ctx context.Context, location, name string, names []string) error {
	all, _, err := a.Store.EnvironmentNames(ctx, store.Scope{})
	if err != nil {
		return err
	}
	requestOf(ctx).hidden = slices.Contains(all, name)
	return notFound(location, "environment", name, names)
}

func (a *api) matrix(ctx context.Context, input *MatrixInput) (Matrix, error) {
	if err := a.inScope(ctx, input.Environment); err != nil {
		return Matrix{}, err
	}
	found, err := a.Store.Matrix(ctx, scopeOf(ctx), store.MatrixQuery{
		Environment: input.Environment, Rows: input.Rows, Cols: input.Cols, ClusterType: input.ClusterType,
		PlacementFilter: store.PlacementFilter{
			Targets: input.Targets, Workloads: input.Workloads, Workspaces: input.Workspaces,
			States: statesOf(input.States), Labels: input.Labels, Text: input.Text,
		},
		Page: store.Page{Limit: input.Limit, After: input.After},
	})
	if err != nil {
		return Matrix{}, err
	}
	m := Matrix{Rows: []MatrixRow{}, Cols: []MatrixCol{}, Versions: orEmpty(found.Versions), States: placement.States(), Cells: make([][5]int, 0, len(found.Cells)), Next: found.Next, AsOf: found.AsOf}
	for _, r := range found.Rows {
		m.Rows = append(m.Rows, MatrixRow(r))
	}
	for _, c := range found.Cols {
		m.Cols = append(m.Cols, MatrixCol(c))
	}
	for _, c := range found.Cells {
		m.Cells = append(m.Cells, [5]int{c.Row, c.Col, c.Version, c.State, c.N})
	}
	return m, nil
}

func (a *api) clusters(ctx context.Context, input *ClustersInput, page store.Page) (store.List[store.Cluster], error) {
	if err := a.knownEnvironments(ctx, input.Environments); err != nil {
		return store.List[store.Cluster]{}, err
	}
	filter := store.ClusterFilter{
		Names: input.Names, Environments: input.Environments, Types: input.Types, Reconcilers: input.Reconcilers,
		States: statesOf(input.States), Labels: input.Labels, Text: input.Text,
	}
	if input.Unknown != "" {
		filter.Unknown = new(input.Unknown == "true")
	}
	found, err := a.Store.Clusters(ctx, scopeOf(ctx), filter, page)
	for i := range found.Items {
		found.Items[i].Subscriptions = nil // many, and only for the page of the cluster
	}
	return found, err
}

func (a *api) cluster(ctx context.Context, input *ClusterInput) (Cluster, error) {
	found, err := a.Store.Cluster(ctx, scopeOf(ctx), input.Name)
	if errors.Is(err, store.ErrNotFound) {
		return Cluster{}, a.noCluster(ctx, "path.name", input.Name)
	}
	return clusterDocument(found), err
}

// noCluster has the nearest name of the clusters that are in scope.
func (a *api) noCluster(ctx context.Context, location, name string) error {
	if _, err := a.Store.Cluster(ctx, store.Scope{}, name); err == nil {
		requestOf(ctx).hidden = true
	}
	var names []string
	page := store.Page{Limit: maxLimit}
	for range maxPagesOfNames {
		found, err := a.Store.Clusters(ctx, scopeOf(ctx), store.ClusterFilter{}, page)
		if err != nil {
			return err
		}
		for _, c := range found.Items {
			names = append(names, c.Name)
		}
		if page.After = found.Next; page.After == "" {
			break
		}
	}
	return notFound(location, "cluster", name, names)
}

// maxPagesOfNames bounds the search for a name that was meant.
const maxPagesOfNames = 4

func (a *api) workloads(ctx context.Context, _ *struct{}) (List[Workload], error) {
	all, err := a.Store.Workloads(ctx, scopeOf(ctx))
	if err != nil {
		return List[Workload]{}, err
	}
	items := make([]Workload, 0, len(all))
	for _, w := range all {
		items = append(items, workloadDocument(w))
	}
	_, asOf, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	return whole(items, asOf), err
}

func (a *api) workload(ctx context.Context, input *ClusterInput) (Workload, error) {
	all, err := a.Store.Workloads(ctx, scopeOf(ctx))
	if err != nil {
		return Workload{}, err
	}
	var names []string
	for _, w := range all {
		if w.Name == input.Name {
			return workloadDocument(w), nil
		}
		names = append(names, w.Name)
	}
	hidden, err := a.Store.Workloads(ctx, store.Scope{})
	if err != nil {
		return Workload{}, err
	}
	requestOf(ctx).hidden = slices.ContainsFunc(hidden, func(w store.Workload) bool { return w.Name == input.Name })
	return Workload{}, notFound("path.name", "workload", input.Name, names)
}

func environmentDocument(e store.Environment) Environment {
	return Environment{
		Name: e.Name, ControlPlane: e.ControlPlane, Branch: e.ControlPlaneBranch, Commit: e.Commit,
		GitOps:   GitOps{Repo: e.GitOpsRepo, Branch: e.GitOpsBranch, Path: e.GitOpsRoot, Commit: e.GitOpsCommit},
		Position: e.Position, Plan: e.Plan, Error: text(e.Error), Counts: orEmptyMap(e.Counts), AsOf: e.AsOf,
	}
}

func clusterDocument(c store.Cluster) Cluster {
	subscriptions := slices.Clone(c.Subscriptions)
	for i := range subscriptions {
		subscriptions[i].Reason, subscriptions[i].Edited = text(subscriptions[i].Reason), text(subscriptions[i].Edited)
	}
	return Cluster{
		Name: c.Name, Labels: orEmptyMap(c.Labels), Source: c.Source, Reconciler: c.Reconciler, LastSeen: c.LastSeen, Unknown: text(c.Unknown),
		Approximate: c.Approximate, FirstSeen: c.FirstSeen, Types: orEmptyMap(c.Types), Counts: orEmptyMap(c.Counts), Subscriptions: subscriptions,
	}
}

func workloadDocument(w store.Workload) Workload {
	d := Workload{Name: w.Name, Workspace: w.Workspace, Environments: map[string]WorkloadEnvironment{}}
	for name, e := range w.Environments {
		d.Environments[name] = WorkloadEnvironment{Targets: orEmpty(e.Targets), Versions: orEmptyMap(e.Versions), Counts: orEmptyMap(e.Counts)}
	}
	return d
}

var clusterColumns = []column[Cluster]{
	{"name", func(c Cluster) string { return c.Name }},
	{"types", func(c Cluster) string { return pairs(c.Types) }},
	{"reconciler", func(c Cluster) string { return c.Reconciler }},
	{"source", func(c Cluster) string { return c.Source }},
	{"firstSeen", func(c Cluster) string { return timeCell(c.FirstSeen) }},
	{"lastSeen", func(c Cluster) string { return timeCell(c.LastSeen) }},
	{"unknown", func(c Cluster) string { return c.Unknown }},
	{"labels", func(c Cluster) string { return pairs(c.Labels) }},
}

// pairs is a map as key=value, sorted.
func pairs(m map[string]string) string {
	var all []string
	for key, value := range m {
		all = append(all, key+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
