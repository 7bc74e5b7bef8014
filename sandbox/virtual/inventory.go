package virtual

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

var (
	_ fleet.Observer = (*Fleet)(nil)
	_ fleet.Reader   = (*Fleet)(nil)
)

// Inventory implements [fleet.Reader].
func (f *Fleet) Inventory(context.Context) (fleet.Snapshot, error) {
	now := time.Now().UTC()
	s := fleet.Snapshot{At: now, Clusters: []fleet.Cluster{}}
	for _, r := range f.Reports() {
		c := fleet.Cluster{Name: r.Name, LastSeen: now, Subscriptions: []fleet.Subscription{}}
		for i, one := range r.Sources {
			alone := one.Object.Name == ""
			known := slices.ContainsFunc(r.Sources[:i], func(before Source) bool { return before.Repository == one.Repository })
			if !alone || !known {
				c.Subscriptions = append(c.Subscriptions, one.subscription())
			}
		}
		fleet.SortSubscriptions(c.Subscriptions)
		if r.State == Offline {
			c.LastSeen = r.LastSeen.UTC()
			c.Forget(r.Reason)
		}
		s.Clusters = append(s.Clusters, c)
	}
	return s, nil
}

func (s Source) subscription() fleet.Subscription {
	out := fleet.Subscription{
		Kind: s.Kind(), Ref: fleet.Ref(s.Object), Repo: s.URL, Branch: s.Branch, Path: s.Path,
		Commit: s.Fetched, Applied: s.Applied, At: cmp.Or(s.AppliedAt, s.FetchedAt).UTC(),
	}
	if s.Repository.Name != "" {
		source := fleet.Ref(s.Repository)
		out.Source = &source
		if s.Object.Name == "" {
			out.Kind, out.Ref = fleet.GitRepository, source
		}
	}
	if s.AppliedBy.Name != "" {
		by := fleet.Ref(s.AppliedBy)
		out.Parent = &by
	}
	for _, o := range s.Objects {
		group, _, found := strings.Cut(o.APIVersion, "/")
		if !found {
			group = ""
		}
		out.Objects = append(out.Objects, fleet.Object{Group: group, Kind: o.Kind, Ref: fleet.Ref{Namespace: o.Namespace, Name: o.Name}})
	}
	out.State, out.Reason = Combined([]Source{s}, s)
	return out
}
