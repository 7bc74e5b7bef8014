package store_test

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

const fleetClusters = 12

// exampleFleet applies twelve clusters of two types, which have three targets of two workloads in
// each of two environments, and returns the placements.
func exampleFleet(t *testing.T, s *store.Store) []store.Placement {
	t.Helper()
	states := placement.States()
	r := store.Round{At: noon, Environments: []store.Environment{{Name: "stage", Position: 1}, {Name: "dev"}}, Placements: map[string][]store.Placement{}}
	var all []store.Placement
	for i := range fleetClusters {
		c := store.Cluster{
			Name: fmt.Sprintf("Cluster-%02d", i), Source: "kubernetes", Reconciler: []string{"flux", "argocd", "flux, argocd"}[i%3], LastSeen: after(-i),
			Labels:        map[string]string{"region": []string{"west-us", "east-us"}[i%2], "number": fmt.Sprint(i)},
			Subscriptions: []fleet.Subscription{{Kind: fleet.Kustomization, Ref: fleet.Ref{Name: "dev"}, State: fleet.Compliant}},
		}
		if i == 3 {
			c.Unknown = "connection refused"
		}
		r.Clusters = append(r.Clusters, c)
		for n, target := range []string{"a", "b", "x"} {
			for _, environment := range []string{"dev", "stage"} {
				p := assigned(environment, c.Name, []string{"edge", "cloud"}[i%2], target)
				if target == "x" {
					p.Target, p.Workload, p.Workspace = "hello-x", "hello", "hello-team"
				}
				if environment == "dev" {
					p.Actual.Version = fmt.Sprintf("1.%d.0", i%4)
					if target == "b" {
						p.Actual.Version, p.Actual.Commit = "", commit(i%4)
					}
					if p.State = states[(i+n)%len(states)]; p.State != placement.OK {
						p.Reason = fmt.Sprintf("Reason %d of %s", i, p.State)
					}
				}
				p.Since, p.Labels, p.AsOf = after(-i*10-n), c.Labels, noon
				if c.Unknown != "" {
					p.AsOf = c.LastSeen
				}
				all = append(all, p)
				r.Placements[environment] = append(r.Placements[environment], p)
			}
		}
	}
	if n := apply(t, s, r); n != len(all) {
		t.Fatalf("%d transitions of %d", n, len(all))
	}
	return all
}

func id(p store.Placement) string {
	return strings.Join([]string{p.Environment, p.Cluster, p.Target}, "/")
}

func shown(p store.Placement) string {
	return cmp.Or(p.Actual.Version, fmt.Sprintf("%.8s", p.Actual.Commit))
}

func testFilters(t *testing.T, o store.Options) {
	s := open(t, o)
	all := exampleFleet(t, s)
	for name, c := range map[string]struct {
		scope  store.Scope
		filter store.PlacementFilter
		want   func(store.Placement) bool
		count  bool // whether the total is known
	}{
		"all":          {want: func(store.Placement) bool { return true }, count: true},
		"environment":  {filter: store.PlacementFilter{Environments: []string{"dev"}}, want: func(p store.Placement) bool { return p.Environment == "dev" }, count: true},
		"none of them": {filter: store.PlacementFilter{Environments: []string{"prod"}}, want: func(store.Placement) bool { return false }, count: true},
		"clusters": {filter: store.PlacementFilter{Clusters: []string{"Cluster-01", "Cluster-02"}}, want: func(p store.Placement) bool {
			return p.Cluster == "Cluster-01" || p.Cluster == "Cluster-02"
		}},
		"types and targets": {filter: store.PlacementFilter{ClusterTypes: []string{"edge"}, Targets: []string{"kaizen-app-a", "hello-x"}}, want: func(p store.Placement) bool {
			return p.ClusterType == "edge" && p.Target != "kaizen-app-b"
		}, count: true},
		"workloads":  {filter: store.PlacementFilter{Workloads: []string{"hello"}}, want: func(p store.Placement) bool { return p.Workload == "hello" }, count: true},
		"workspaces": {filter: store.PlacementFilter{Workspaces: []string{"hello-team", "other"}}, want: func(p store.Placement) bool { return p.Workload == "hello" }, count: true},
		"versions": {filter: store.PlacementFilter{Versions: []string{"1.2.0", commit(1)[:8]}}, want: func(p store.Placement) bool {
			return shown(p) == "1.2.0" || shown(p) == commit(1)[:8]
		}, count: true},
		"states": {filter: store.PlacementFilter{States: []placement.State{placement.Failing, placement.Unknown}}, want: func(p store.Placement) bool {
			return p.State == placement.Failing || p.State == placement.Unknown
		}, count: true},
		"labels": {filter: store.PlacementFilter{Labels: "region in (west-us),number notin (2,4)"}, want: func(p store.Placement) bool {
			return p.Labels["region"] == "west-us" && p.Labels["number"] != "2" && p.Labels["number"] != "4"
		}},
		"text of a cluster": {filter: store.PlacementFilter{Text: "cLUSTER-1"}, want: func(p store.Placement) bool { return strings.HasPrefix(p.Cluster, "Cluster-1") }},
		"text of a target":  {filter: store.PlacementFilter{Text: "hello"}, want: func(p store.Placement) bool { return p.Target == "hello-x" }},
		"text of a version": {filter: store.PlacementFilter{Text: "1.3."}, want: func(p store.Placement) bool { return strings.Contains(shown(p), "1.3.") }},
		"text of a reason":  {filter: store.PlacementFilter{Text: "reason 4 OF"}, want: func(p store.Placement) bool { return strings.HasPrefix(p.Reason, "Reason 4 of") }},
		"no pattern":        {filter: store.PlacementFilter{Text: "Cluster_1%"}, want: func(store.Placement) bool { return false }},
		"together": {filter: store.PlacementFilter{Environments: []string{"dev"}, Labels: "region=east-us", Text: "kaizen", States: []placement.State{placement.OK, placement.Late}}, want: func(p store.Placement) bool {
			return p.Environment == "dev" && p.Labels["region"] == "east-us" && p.Workload == "kaizen-app" && (p.State == placement.OK || p.State == placement.Late)
		}},
		"scope": {scope: store.Scope{Workspaces: []string{"hello-team"}, Environments: []string{"stage"}}, want: func(p store.Placement) bool {
			return p.Workload == "hello" && p.Environment == "stage"
		}, count: true},
		"beyond the scope": {scope: store.Scope{Environments: []string{"stage"}}, filter: store.PlacementFilter{Environments: []string{"dev"}}, want: func(store.Placement) bool { return false }, count: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]store.Placement{}
			for _, p := range all {
				if c.want(p) {
					want[id(p)] = p
				}
			}
			if name != "no pattern" && name != "none of them" && name != "beyond the scope" && len(want) == 0 {
				t.Fatal("the fleet has no example")
			}
			list, err := s.Placements(t.Context(), c.scope, c.filter, store.Page{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]store.Placement{}
			for _, p := range list.Items {
				got[id(p)] = p
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if known := list.Total >= 0; known != c.count || known && list.Total != len(want) {
				t.Errorf("total %d of %d", list.Total, len(want))
			}
		})
	}
	if _, err := s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{Labels: "a in"}, store.Page{}); !errors.Is(err, store.ErrLabels) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{}, store.Page{Sort: "version"}); !errors.Is(err, store.ErrSort) {
		t.Errorf("error %v", err)
	}
}

// inPages reads a list in pages of some items.
func inPages[T any](t *testing.T, limit int, sort string, list func(store.Page) (store.List[T], error)) []T {
	t.Helper()
	var all []T
	p := store.Page{Limit: limit, Sort: sort}
	for {
		l, err := list(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Items) > limit || l.Next != "" && len(l.Items) < limit {
			t.Fatalf("%d items of %d, next %q", len(l.Items), limit, l.Next)
		}
		all = append(all, l.Items...)
		if p.After = l.Next; p.After == "" {
			return all
		}
	}
}

func testPages(t *testing.T, o store.Options) {
	s := open(t, o)
	all := exampleFleet(t, s)
	number := func(p store.Placement) int { return slices.Index(placement.States(), p.State) }
	orders := map[string]func(a, b store.Placement) int{
		"": func(a, b store.Placement) int {
			return cmp.Or(cmp.Compare(number(a), number(b)), b.Since.Compare(a.Since))
		},
		"state": func(a, b store.Placement) int {
			return cmp.Or(cmp.Compare(number(a), number(b)), b.Since.Compare(a.Since))
		},
		"since":   func(a, b store.Placement) int { return a.Since.Compare(b.Since) },
		"-since":  func(a, b store.Placement) int { return b.Since.Compare(a.Since) },
		"cluster": func(a, b store.Placement) int { return cmp.Compare(a.Cluster, b.Cluster) },
		"target":  func(a, b store.Placement) int { return cmp.Compare(a.Target, b.Target) },
	}
	for _, sort := range append([]string{""}, store.PlacementSorts...) {
		for _, limit := range []int{1, 7, 36, 72} {
			got := inPages(t, limit, sort, func(p store.Page) (store.List[store.Placement], error) {
				return s.Placements(t.Context(), store.Scope{}, store.PlacementFilter{}, p)
			})
			found := map[string]bool{}
			for i, p := range got {
				found[id(p)] = true
				if i > 0 && orders[sort](got[i-1], p) > 0 {
					t.Errorf("sorted by %q: %s before %s", sort, id(got[i-1]), id(p))
				}
			}
			if len(got) != len(all) || len(found) != len(all) {
				t.Errorf("sorted by %q in pages of %d: %d placements, %d different, of %d", sort, limit, len(got), len(found), len(all))
			}
		}
	}
	for _, sort := range store.ClusterSorts {
		got := inPages(t, 5, sort, func(p store.Page) (store.List[store.Cluster], error) {
			return s.Clusters(t.Context(), store.Scope{}, store.ClusterFilter{}, p)
		})
		if len(got) != fleetClusters || !slices.IsSortedFunc(got, func(a, b store.Cluster) int {
			if sort == "name" {
				return cmp.Compare(a.Name, b.Name)
			}
			return a.LastSeen.Compare(b.LastSeen)
		}) {
			t.Errorf("sorted by %s: %+v", sort, got)
		}
	}
	groups := inPages(t, 2, "", func(p store.Page) (store.List[store.DriftGroup], error) {
		return s.Drift(t.Context(), store.Scope{}, store.PlacementFilter{}, p)
	})
	whole, err := s.Drift(t.Context(), store.Scope{}, store.PlacementFilter{}, store.Page{})
	if diff := gocmp.Diff(whole.Items, groups); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func testCursors(t *testing.T, o store.Options) {
	s := open(t, o)
	exampleFleet(t, s)
	f := store.PlacementFilter{Environments: []string{"dev"}}
	first, err := s.Placements(t.Context(), store.Scope{}, f, store.Page{Limit: 5, Sort: "since"})
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	text, err := base64.RawURLEncoding.DecodeString(first.Next)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(old, new string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("no %s in %s", old, text)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), old, new, 1)))
	}
	for name, c := range map[string]struct {
		scope  store.Scope
		filter store.PlacementFilter
		page   store.Page
	}{
		"other filter": {filter: store.PlacementFilter{Environments: []string{"stage"}}, page: store.Page{After: first.Next, Sort: "since"}},
		"other scope":  {scope: store.Scope{Workspaces: []string{"hello-team"}}, filter: f, page: store.Page{After: first.Next, Sort: "since"}},
		"other sort":   {filter: f, page: store.Page{After: first.Next, Sort: "-since"}},
		"cut":          {filter: f, page: store.Page{After: first.Next[:len(first.Next)-3], Sort: "since"}},
		"no base64":    {filter: f, page: store.Page{After: "%%%", Sort: "since"}},
		"no JSON":      {filter: f, page: store.Page{After: "aGVsbG8", Sort: "since"}},
		"other values": {filter: f, page: store.Page{After: changed(`"v":[1`, `"v":[2`), Sort: "since"}},
		"text":         {filter: f, page: store.Page{After: changed(`"v":[`, `"v":["a",`), Sort: "since"}},
		"fraction":     {filter: f, page: store.Page{After: changed(`"v":[`, `"v":[0.5,`), Sort: "since"}},
	} {
		t.Run(name, func(t *testing.T) {
			if list, err := s.Placements(t.Context(), c.scope, c.filter, c.page); !errors.Is(err, store.ErrCursor) {
				t.Errorf("%d items, error %v", len(list.Items), err)
			}
		})
	}
	if _, err := s.Clusters(t.Context(), store.Scope{}, store.ClusterFilter{}, store.Page{After: first.Next}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("cursor of another list: error %v", err)
	}
	if _, err := s.Matrix(t.Context(), store.Scope{}, store.MatrixQuery{Environment: "dev", Rows: "types", Cols: "targets", Page: store.Page{After: first.Next}}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("cursor of another list: error %v", err)
	}
	// a page stays where it was when what is before it changes
	second, err := s.Placements(t.Context(), store.Scope{}, f, store.Page{Limit: 5, Sort: "since", After: first.Next})
	if err != nil {
		t.Fatal(err)
	}
	all := placements(t, s, store.Scope{}, f)
	i := slices.IndexFunc(all, func(p store.Placement) bool { return id(p) == id(first.Items[0]) })
	applyTo(t, s, after(1), "dev", slices.Delete(all, i, i+1)...)
	again, err := s.Placements(t.Context(), store.Scope{}, f, store.Page{Limit: 5, Sort: "since", After: first.Next})
	ids := func(l store.List[store.Placement]) (all []string) {
		for _, p := range l.Items {
			all = append(all, id(p))
		}
		return all
	}
	if diff := gocmp.Diff(ids(second), ids(again)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
