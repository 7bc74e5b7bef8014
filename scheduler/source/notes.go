package source

import (
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// notice tells a person who looks at a change of his own why he may not see
// it.
func (w *World) notice(l *loading, e *environments) error {
	r, ok := w.control.(*repository)
	if !ok || r.top == "" {
		return nil
	}
	name, ref := l.env.Name, l.env.ControlPlane
	if w.named(ref.Repo) == nil && !l.reader.isOwn(ref.Repo) {
		w.note("environment %s is read from %s, which is no remote of %s", name, redacted(ref.Repo), r.top)
	}
	current, onBranch, err := r.checkedOut()
	if err != nil {
		return err
	}
	environments := slices.ContainsFunc(e.objects, func(o model.EnvironmentObject) bool {
		return o.Spec.ControlPlane.Branch == current
	})
	seen, dirty := r.git.seenAs()
	switch {
	case seen || environments || w.readsAsGiven(r.top):
	case onBranch:
		w.note("branch %s, which is checked out in %s, is no environment's and not read; branch %s in place of the default one reads it as that of an environment", current, r.top, headBranch)
	default:
		w.note("what is checked out in %s is on no branch and not read; branch %s in place of the default one reads it as that of an environment", r.top, headBranch)
	}
	if dirty && onBranch && l.pinned.Commit != "" && l.pinned.Branch == current && l.reader.isOwn(l.pinned.Repo) {
		w.note("environment %s takes branch %s at the pinned commit %.8s, so what is changed there has no effect; give %s as the base to see it", name, current, l.pinned.Commit, r.top)
	}
	return nil
}

// readsAsGiven says whether a working tree is read because it, or a folder in
// it, was given in place of what the model names.
func (w *World) readsAsGiven(top string) bool {
	for _, p := range append(slices.Collect(maps.Values(w.workloads)), w.base) {
		if r, ok := p.(*repository); ok && r.top == top {
			return true
		}
	}
	return false
}
