package attached

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

// The groups of the entries, in the order in which they go.

// follows tells whether an entry makes something follow git: its finalizers are
// for a reconciler that does not run any more.
func (e entry) follows() bool {
	return !e.isDefinition() && (strings.HasSuffix(e.Group, ".toolkit.fluxcd.io") || e.Group == application.Group)
}

// lastFirst picks entries, those that were made last first.
func (m *remover) lastFirst(from []entry, pick func(entry) bool) (picked []entry) {
	for _, e := range slices.Backward(from) {
		if pick(e) {
			picked = append(picked, e)
		}
	}
	return picked
}

func (m *remover) following() []entry {
	return m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), entry.follows)
}

func plain(e entry) bool { return !e.follows() && !e.isDefinition() && !e.isNamespace() }

// endFollowing marks as deleted what makes reconcilers apply things, so that
// even one which runs applies nothing any more.
func (m *remover) endFollowing(ctx context.Context) error {
	for _, e := range m.following() {
		if err := m.delete(ctx, e); err != nil {
			return err
		}
	}
	// one of the cluster's own takes away itself what it has applied
	m.theirs = map[Reconciler]string{}
	for _, r := range []Reconciler{Flux, ArgoCD} {
		l := preflight{name: m.record.Name, source: m.record.Source, client: m.client, requirements: Requirements{Reconciler: r, Namespace: "argocd"}}
		// half a reconciler is none that would do it
		if in, err := l.theirs(ctx, r.traits().parts); err == nil && in != "" {
			m.theirs[r] = in
		}
	}
	if len(m.theirs) > 0 {
		_ = m.gone(ctx, m.following(), theirWait) // what is not gone then is helped
	}
	return nil
}

func (m *remover) removeApplied(ctx context.Context) error {
	return m.remove(ctx, m.lastFirst(m.record.Applied, plain))
}

// removeFollowing takes off the finalizers. What they were for has been done.
func (m *remover) removeFollowing(ctx context.Context) error {
	all := m.following()
	err := retry.Until(ctx, "the finalizers", releaseWait, func(ctx context.Context) error {
		for _, e := range all {
			if err := m.release(ctx, e); err != nil {
				return err // perhaps somebody has just changed the object
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.gone(ctx, all, goneWait)
}

func (m *remover) removeMade(ctx context.Context) error {
	return m.remove(ctx, m.lastFirst(m.record.Made, plain))
}

// removeDefinitions leaves those of which people have objects: these would go
// with them.
func (m *remover) removeDefinitions(ctx context.Context) error {
	return m.removeUnused(ctx, m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), entry.isDefinition), m.usedDefinition)
}

// removeNamespaces leaves those in which people have put something.
func (m *remover) removeNamespaces(ctx context.Context) error {
	return m.removeUnused(ctx, m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), entry.isNamespace), m.usedNamespace)
}

// removeUnused removes what nobody else uses; used says what for, "" for nothing.
func (m *remover) removeUnused(ctx context.Context, entries []entry, used func(context.Context, entry) (string, error)) error {
	var unused []entry
	for _, e := range entries {
		o, err := m.mine(ctx, e)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		by, err := used(ctx, e)
		if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		if by == "" {
			unused = append(unused, e)
			continue
		}
		m.note("%s stays: %s", e, by)
		m.record.drop(e)
	}
	return m.remove(ctx, unused)
}
