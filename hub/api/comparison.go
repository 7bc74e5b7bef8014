package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
)

// side is what is known of one side.
type side struct {
	CompareSide
	position int // in the chain of promotion
	halves   map[string]*CompareHalf
	targets  map[string]store.TargetCount // their workloads and workspaces
	repos    map[string]string            // what they follow
	unknown  map[string]bool              // those whose policies are not known
	config   history.Configuration
	read     bool                                   // the configuration could be
	values   map[assignmentOf][]history.ConfigValue // of the configuration
}

type assignmentOf struct{ target, clusterType string }

// side reads an environment as it is, or was at a time. rendered takes the configuration from its
// GitOps branch, as for a moment of the past, and not from the plan: two sides are of one kind.
func (a *api) side(ctx context.Context, e store.Environment, at time.Time, rendered bool) (*side, error) {
	s := &side{
		CompareSide: CompareSide{Environment: e.Name, At: at}, position: e.Position,
		halves: map[string]*CompareHalf{}, targets: map[string]store.TargetCount{}, repos: map[string]string{}, unknown: map[string]bool{}, values: map[assignmentOf][]history.ConfigValue{},
	}
	desired, err := a.Store.Desired(ctx, scopeOf(ctx), e.Name, at)
	if err != nil {
		return nil, err
	}
	counts, err := a.Store.TargetCounts(ctx, scopeOf(ctx), e.Name, at)
	if err != nil {
		return nil, err
	}
	s.Commit, s.Error = desired.Commit, text(desired.Error)
	if s.Commit == "" && s.Error == "" {
		s.Error = "no commit of its GitOps branch is known"
	}
	versions := map[string][]string{}
	for _, d := range desired.Items {
		h := s.half(store.TargetCount{Target: d.Target, Workload: d.Workload, Workspace: d.Workspace})
		h.ClusterTypes = append(h.ClusterTypes, d.ClusterType)
		versions[d.Target] = append(versions[d.Target], d.ShownVersion())
		s.repos[d.Target] = d.Repo
		h.Policies = append(h.Policies, d.Policies...)
		s.unknown[d.Target] = s.unknown[d.Target] || d.Policies == nil
	}
	for _, c := range counts {
		h := s.half(c)
		h.Versions = append(h.Versions, CompareVersion{Version: text(c.Version), N: c.N})
	}
	positions, err := a.Store.PolicyPositions(ctx, e.Name, at)
	if err != nil {
		return nil, err
	}
	for target, h := range s.halves {
		h.finish(versions[target], positions)
	}
	commit := ""
	if rendered {
		if commit = s.Commit; commit == "" {
			return s, nil
		}
	}
	if s.config, err = a.Model.Configuration(ctx, e.Name, commit); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.Error = strings.TrimPrefix(s.Error+"; ", "; ") + text(redact.Error(err).Error())
		return s, nil
	}
	s.read = true
	s.Problems, s.Error = s.config.Problems, cmp.Or(s.Error, text(s.config.Error))
	all := s.config.Values
	for len(all) > 0 { // those of an assignment are together
		at := assignmentOf{all[0].Target, all[0].ClusterType}
		n := slices.IndexFunc(all, func(v history.ConfigValue) bool { return v.Target != at.target || v.ClusterType != at.clusterType })
		if n < 0 {
			n = len(all)
		}
		switch known := s.values[at]; {
		case s.halves[at.target] == nil: // of no concern, or out of scope
		case known == nil: // as nearly always, and not copied: there may be very many
			s.values[at] = all[:n:n]
		default:
			s.values[at] = slices.Concat(known, all[:n:n])
		}
		all = all[n:]
	}
	return s, nil
}

// half is that of a target, made where there is none.
func (s *side) half(of store.TargetCount) *CompareHalf {
	if s.halves[of.Target] == nil {
		s.halves[of.Target] = &CompareHalf{Versions: []CompareVersion{}, ClusterTypes: []string{}, Policies: []string{}, PolicyPositions: []ComparePolicy{}}
	}
	if of.Workload != "" || s.targets[of.Target].Target == "" {
		s.targets[of.Target] = of
	}
	return s.halves[of.Target]
}

// finish sorts what was collected, each once.
func (h *CompareHalf) finish(desired []string, positions store.PolicyPositions) {
	once := func(all []string) []string { return orEmpty(slices.Compact(slices.Sorted(slices.Values(all)))) }
	h.DesiredVersion = strings.Join(once(desired), ", ")
	h.ClusterTypes, h.Policies = once(h.ClusterTypes), once(h.Policies)
	for _, name := range h.Policies {
		h.PolicyPositions = append(h.PolicyPositions, ComparePolicy{name, positions[name]})
	}
	total := 0
	for _, v := range h.Versions {
		total += v.N
	}
	for i := range h.Versions {
		h.Versions[i].Share = float64(h.Versions[i].N) / float64(total)
	}
	h.Versions = slices.DeleteFunc(h.Versions, func(v CompareVersion) bool { return v.Version == "" }) // nothing runs yet
	slices.SortStableFunc(h.Versions, func(a, b CompareVersion) int { return cmp.Compare(b.N, a.N) })
}

// compared are the rows of both sides, what differs first. Values are still those of the
// configuration, of keys that may be hidden.
func compared(left, right *side) []CompareRow {
	targets := maps.Clone(left.targets)
	maps.Copy(targets, right.targets)
	var rows []CompareRow
	for target, of := range targets {
		r := CompareRow{Target: target, Workload: of.Workload, Workspace: of.Workspace, Group: groupSame, Left: left.halves[target], Right: right.halves[target], Config: []CompareConfig{}}
		if r.Left != nil && r.Right != nil && left.read && right.read {
			r.Config = configDifferences(left, right, target)
		}
		if r.differs(!left.unknown[target] && !right.unknown[target]) {
			r.Group = groupDiffers
		}
		rows = append(rows, r)
	}
	sortRows(rows)
	return rows
}

// differs is whether a target is not the same on both sides. What runs is on its way to what is
// desired, so it counts only where git does not say what that is.
func (r *CompareRow) differs(policies bool) bool {
	l, right := r.Left, r.Right
	switch {
	case l == nil || right == nil, len(r.Config) > 0, !slices.Equal(l.ClusterTypes, right.ClusterTypes):
		return true
	case policies && !slices.Equal(l.Policies, right.Policies):
		return true
	case l.DesiredVersion != "" && right.DesiredVersion != "":
		return l.DesiredVersion != right.DesiredVersion
	}
	names := func(h *CompareHalf) []string {
		var all []string
		for _, v := range h.Versions {
			all = append(all, v.Version)
		}
		return slices.Sorted(slices.Values(all))
	}
	return !slices.Equal(names(l), names(right))
}

// configDifferences are the keys of a target that differ on cluster types that both sides have,
// once where that is the same on all of them.
func configDifferences(left, right *side, target string) []CompareConfig {
	var types []string
	keys := map[string]bool{}
	for _, clusterType := range left.halves[target].ClusterTypes {
		at := assignmentOf{target, clusterType}
		l, r := left.values[at], right.values[at]
		if l == nil || r == nil {
			continue
		}
		types = append(types, clusterType)
		if slices.EqualFunc(l, r, func(a, b history.ConfigValue) bool { return a.Key == b.Key && a.Value == b.Value }) {
			continue // as nearly all are
		}
		for _, v := range slices.Concat(l, r) {
			keys[v.Key] = true
		}
	}
	value := func(of []history.ConfigValue, key string) *CompareValue {
		for i := range of {
			if v := of[len(of)-1-i]; v.Key == key {
				return &CompareValue{Value: v.Value, Source: v.ConfigMap, Place: v.Position.String()}
			}
		}
		return nil
	}
	all := []CompareConfig{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var some []CompareConfig
		alike := true
		for _, clusterType := range types {
			at := assignmentOf{target, clusterType}
			one := CompareConfig{ClusterType: clusterType, Key: key, Left: value(left.values[at], key), Right: value(right.values[at], key)}
			if one.Left.is(one.Right) {
				alike = false
				continue
			}
			alike = alike && (len(some) == 0 || some[0].Left.is(one.Left) && some[0].Right.is(one.Right))
			some = append(some, one)
		}
		if alike && len(some) > 0 {
			some[0].ClusterType = ""
			some = some[:1]
		}
		all = append(all, some...)
	}
	return all
}

// is whether two values are the same, wherever they come from.
func (v *CompareValue) is(other *CompareValue) bool {
	return v == other || v != nil && other != nil && v.Value == other.Value
}
