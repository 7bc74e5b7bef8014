package api

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// The groups of a comparison.
const (
	groupDiffers   = "differs"
	groupPromotion = "promotion" // it differs, and an open pull request would change that
	groupSame      = "same"
)

// maxOpen is how many open pull requests are looked through for one that brings a difference.
const maxOpen = 500

type (
	// Compare is how one environment differs from another, or from itself at another time.
	Compare struct {
		Left   CompareSide   `json:"left"`
		Right  CompareSide   `json:"right"`
		Counts CompareCounts `json:"counts" doc:"Of all rows that q finds, in any group."`
		List[CompareRow]
	}
	// CompareSide is one of the two.
	CompareSide struct {
		Environment string    `json:"environment"`
		At          time.Time `json:"at,omitzero" doc:"The moment of the past that was asked for."`
		Commit      string    `json:"commit" doc:"Of the GitOps branch; empty where none is known."`
		Problems    int       `json:"problems" doc:"How many errors the platform model has now."`
		Error       string    `json:"error" doc:"Why a part of this side is missing or old."`
	}
	// CompareCounts are numbers of deployment targets.
	CompareCounts struct {
		Differs   int `json:"differs"`
		Promotion int `json:"promotion"`
		Same      int `json:"same"`
	}
	// CompareRow is a deployment target.
	CompareRow struct {
		Target      string              `json:"target"`
		Workload    string              `json:"workload"`
		Workspace   string              `json:"workspace"`
		Group       string              `json:"group" enum:"differs,promotion,same"`
		Left        *CompareHalf        `json:"left,omitempty" doc:"Absent where the environment does not have it."`
		Right       *CompareHalf        `json:"right,omitempty" doc:"Absent where the environment does not have it."`
		Config      []CompareConfig     `json:"config" doc:"The keys of the platform configuration that differ, on cluster types that both have."`
		PullRequest *ComparePullRequest `json:"pullRequest,omitempty" doc:"That waits, and would change it."`
	}
	// CompareHalf is a deployment target in one environment.
	CompareHalf struct {
		Versions        []CompareVersion `json:"versions" doc:"That run, the most first."`
		DesiredVersion  string           `json:"desiredVersion" doc:"As git asks for; several are joined by commas."`
		ClusterTypes    []string         `json:"clusterTypes"`
		Policies        []string         `json:"policies" doc:"That assign it; empty at a moment before they were known."`
		PolicyPositions []ComparePolicy  `json:"policyPositions" doc:"Where these are."`
	}
	// ComparePolicy is a policy and where it is.
	ComparePolicy struct {
		Name  string `json:"name"`
		Place string `json:"place" doc:"File and line, as known then; empty where they were not known."`
	}
	// CompareVersion is a version that runs.
	CompareVersion struct {
		Version string  `json:"version"`
		N       int     `json:"n" doc:"On how many clusters."`
		Share   float64 `json:"share" doc:"Of all, 0 to 1."`
	}
	// CompareConfig is a key of the platform configuration that differs.
	CompareConfig struct {
		ClusterType string        `json:"clusterType,omitempty" doc:"Absent where all have the same values."`
		Key         string        `json:"key"`
		Left        *CompareValue `json:"left,omitempty" doc:"Absent where there is none."`
		Right       *CompareValue `json:"right,omitempty" doc:"Absent where there is none."`
	}
	// CompareValue is a value and where it comes from.
	CompareValue struct {
		Value  string `json:"value"`
		Source string `json:"source" doc:"The ConfigMap: of the control plane, or at a moment of the past the one that was rendered."`
		Place  string `json:"place" doc:"File and line."`
	}
	// ComparePullRequest is one that waits.
	ComparePullRequest struct {
		Number int    `json:"number"`
		URL    string `json:"url"`
	}
	// CompareInput asks for a comparison.
	CompareInput struct {
		Left    string    `query:"left" required:"true" doc:"An environment."`
		Right   string    `query:"right" required:"true" doc:"An environment; it may be the same at another time."`
		LeftAt  time.Time `query:"leftAt" doc:"A moment of the past for left; now when absent."`
		RightAt time.Time `query:"rightAt" doc:"A moment of the past for right; now when absent."`
		Group   string    `query:"group" enum:"differs,promotion,same"`
		Text    string    `query:"q" maxLength:"200" doc:"A part of the target's or workload's name, without case."`
		Paging

		found *Compare // what the page is a part of
	}
)

func (a *api) compareRoutes() {
	list(a, operation{id: "compare", path: "/compare", summary: "How an environment differs from another, by deployment target", tagged: true}, listing[*CompareInput, CompareRow, CompareRow]{
		read: a.compare, document: a.shown, columns: compareColumns,
		around: func(input *CompareInput, page List[CompareRow]) any {
			input.found.List = page
			return input.found
		},
		aroundType: reflect.TypeFor[Compare](),
	})
}

func (a *api) compare(ctx context.Context, input *CompareInput, page store.Page) (store.List[CompareRow], error) {
	none := store.List[CompareRow]{}
	environments, err := a.Store.Environments(ctx, scopeOf(ctx))
	if err != nil {
		return none, err
	}
	past := !input.LeftAt.IsZero() || !input.RightAt.IsZero()
	var sides [2]*side
	var asOf time.Time
	group, running := errgroup.WithContext(ctx)
	for i, given := range []struct {
		name, parameter string
		at              time.Time
	}{{input.Left, "left", input.LeftAt}, {input.Right, "right", input.RightAt}} {
		at := slices.IndexFunc(environments, func(e store.Environment) bool { return e.Name == given.name })
		if at < 0 {
			var names []string
			for _, e := range environments {
				names = append(names, e.Name)
			}
			return none, a.noEnvironment(ctx, "query."+given.parameter, given.name, names)
		}
		if err := notInFuture("query."+given.parameter+"At", given.at); err != nil {
			return none, err
		}
		group.Go(func() (err error) {
			sides[i], err = a.side(running, environments[at], given.at, past)
			return err
		})
		if observed := environments[at].AsOf; given.at.IsZero() && !observed.IsZero() && (asOf.IsZero() || observed.Before(asOf)) {
			asOf = observed
		}
	}
	if err := group.Wait(); err != nil {
		return none, err
	}
	left, right := sides[0], sides[1]
	rows := compared(left, right)
	if !past {
		if err := a.addPullRequests(ctx, rows, left, right); err != nil {
			return none, err
		}
	}
	input.found = &Compare{Left: left.CompareSide, Right: right.CompareSide}
	like := strings.ToLower(input.Text)
	rows = slices.DeleteFunc(rows, func(r CompareRow) bool {
		return like != "" && !strings.Contains(strings.ToLower(r.Target), like) && !strings.Contains(strings.ToLower(r.Workload), like)
	})
	for _, r := range rows {
		switch r.Group {
		case groupDiffers:
			input.found.Counts.Differs++
		case groupPromotion:
			input.found.Counts.Promotion++
		default:
			input.found.Counts.Same++
		}
	}
	rows = slices.DeleteFunc(rows, func(r CompareRow) bool { return input.Group != "" && r.Group != input.Group })
	found, err := store.PageOf(rows, CompareRow.key, page, "compare", scopeOf(ctx), input.Left, input.Right, input.LeftAt, input.RightAt, input.Group, like)
	found.AsOf = asOf
	return found, err
}

// key is what rows are sorted by: what differs is first.
func (r CompareRow) key() string {
	return strconv.Itoa(r.rank()) + "\x00" + r.Workload + "\x00" + r.Target
}

func (r CompareRow) rank() int {
	return slices.Index([]string{groupDiffers, groupPromotion, groupSame}, r.Group)
}

// sortRows puts rows in the order of their keys.
func sortRows(rows []CompareRow) {
	slices.SortFunc(rows, func(a, b CompareRow) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Target, b.Target))
	})
}

// addPullRequests finds for what differs the open pull request that would change it: in the
// environment that comes later in the chain, since changes go that way.
func (a *api) addPullRequests(ctx context.Context, rows []CompareRow, left, right *side) error {
	later := right
	if left.position > right.position {
		later = left
	}
	open, err := a.Store.PullRequests(ctx, scopeOf(ctx), nil, []string{"open"}, store.Page{Limit: maxOpen})
	if err != nil {
		return err
	}
	var platform *store.PullRequest // the newest of each
	applications := map[string]*store.PullRequest{}
	for i := range open.Items {
		p := &open.Items[i]
		switch {
		case p.Environment != later.Environment:
		case p.Kind != "application":
			platform = cmp.Or(platform, p)
		default:
			applications[p.Repo] = cmp.Or(applications[p.Repo], p)
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Group != groupDiffers {
			continue
		}
		brings := applications[later.repos[r.Target]]
		if brings == nil && later.config.Changed[r.Target] {
			brings = platform
		}
		if brings != nil {
			r.Group, r.PullRequest = groupPromotion, &ComparePullRequest{brings.Number, brings.URL}
		}
	}
	sortRows(rows)
	return nil
}

// shown is a row without hidden values.
func (a *api) shown(r CompareRow) CompareRow {
	hide := func(key string, v *CompareValue) *CompareValue {
		if v == nil {
			return nil
		}
		return &CompareValue{text(a.redaction.value(key, v.Value)), v.Source, v.Place}
	}
	r.Config = slices.Clone(r.Config)
	for i, c := range r.Config {
		r.Config[i].Left, r.Config[i].Right = hide(c.Key, c.Left), hide(c.Key, c.Right)
	}
	return r
}

var compareColumns = []column[CompareRow]{
	{"target", func(r CompareRow) string { return r.Target }},
	{"workload", func(r CompareRow) string { return r.Workload }},
	{"workspace", func(r CompareRow) string { return r.Workspace }},
	{"group", func(r CompareRow) string { return r.Group }},
	{"leftDesiredVersion", func(r CompareRow) string { return r.Left.cells().DesiredVersion }},
	{"rightDesiredVersion", func(r CompareRow) string { return r.Right.cells().DesiredVersion }},
	{"leftVersions", func(r CompareRow) string { return r.Left.cells().versions() }},
	{"rightVersions", func(r CompareRow) string { return r.Right.cells().versions() }},
	{"leftClusterTypes", func(r CompareRow) string { return strings.Join(r.Left.cells().ClusterTypes, " ") }},
	{"rightClusterTypes", func(r CompareRow) string { return strings.Join(r.Right.cells().ClusterTypes, " ") }},
	{"leftPolicies", func(r CompareRow) string { return strings.Join(r.Left.cells().Policies, " ") }},
	{"rightPolicies", func(r CompareRow) string { return strings.Join(r.Right.cells().Policies, " ") }},
	{"config", func(r CompareRow) string {
		var keys []string
		for _, c := range r.Config {
			keys = append(keys, strings.TrimPrefix(c.ClusterType+"/"+c.Key, "/"))
		}
		return strings.Join(keys, " ")
	}},
	{"pullRequest", func(r CompareRow) string {
		if r.PullRequest == nil {
			return ""
		}
		return r.PullRequest.URL
	}},
}

// cells is the half, or an empty one where there is none.
func (h *CompareHalf) cells() *CompareHalf { return cmp.Or(h, &CompareHalf{}) }

func (h *CompareHalf) versions() string {
	var all []string
	for _, v := range h.Versions {
		all = append(all, v.Version+" "+strconv.Itoa(v.N))
	}
	return strings.Join(all, ", ")
}
