package attached

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

const (
	removeAnswerWait = 10 * time.Second
	goneWait         = 2 * time.Minute
	finalizerWait    = 10 * time.Second
	// reconcilerWait is how long the cluster's own reconciler may take to delete
	// what it has applied, before the sandbox does it.
	reconcilerWait = 20 * time.Second
)

// LeftError is about objects that could not be removed from a cluster, and why.
type LeftError struct {
	Cluster string
	Source  Source
	Objects []string
	Err     error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("cluster %s, %s, still has what the sandbox has put there (%s): %v", e.Cluster, e.Source, abbreviate(e.Objects), e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

// Hint is what the user can do.
func (e *LeftError) Hint() string {
	var missing *MissingError
	if errors.As(e.Err, &missing) {
		return "Put the context back and call `kalypso down` again; or if the cluster is gone, `kalypso down --delete` forgets it."
	}
	return "When that is mended, `kalypso down` again takes it off. If the cluster is gone for good, remove its context from the kubeconfig; then `kalypso down --delete` forgets it."
}

// abbreviate names a few of many.
func abbreviate(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// Remove deletes from a cluster the objects of an inventory file, and those that
// the reconcilers have applied. It may be interrupted at any moment and called
// again. The notes name what stays on purpose. The error is a *LeftError when
// objects are left; it wraps a *MissingError when the kubeconfig has the
// cluster's context no longer. report gets each step; it may be nil.
//
// Nothing of the sandbox may run that creates new objects.
func Remove(ctx context.Context, file string, report func(string)) (notes []string, err error) {
	r, err := readRecord(file)
	if err != nil {
		return nil, err
	}
	if r.empty() {
		return nil, forgetFile(file)
	}
	if report == nil {
		report = func(string) {}
	}
	m := &remover{file: file, record: r, report: report}
	err = m.all(ctx)
	if err != nil {
		left := &LeftError{Cluster: r.Name, Source: r.Source, Err: err}
		for _, e := range slices.Concat(r.Made, r.Applied) {
			left.Objects = append(left.Objects, e.String())
		}
		return m.notes, left
	}
	return m.notes, forgetFile(file)
}

func forgetFile(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Pending reports whether an inventory file still has objects.
func Pending(files []string) (bool, error) {
	for _, f := range files {
		if r, err := readRecord(f); err != nil || !r.empty() {
			return err == nil, err
		}
	}
	return false, nil
}

// remover is one removal.
type remover struct {
	file        string
	record      *record
	client      *cluster.Client
	report      func(string)
	notes       []string
	reconcilers map[Reconciler]string // namespaces of the cluster's own, where it has them
	// labelled are all objects that any Flux has applied; nil before they are listed.
	labelled []unstructured.Unstructured
}

func (m *remover) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.notes, text) {
		m.notes = append(m.notes, text)
	}
}

func (m *remover) save() error { return m.record.write(m.file) }

// all removes everything in an order in which no reconciler creates again what is
// removed, and the reconcilers' own inventories are read before they go.
func (m *remover) all(ctx context.Context) error {
	here, err := m.connect(ctx)
	if err != nil {
		return err
	}
	if !here {
		return nil
	}
	m.record.Removing = true
	if err := m.save(); err != nil {
		return err
	}
	m.report("finding what has been applied")
	if err := m.collectApplied(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"ending the subscriptions to git", m.deleteSubscriptions},
		{"removing what has been applied", m.removeApplied},
		{"removing the subscriptions to git", m.removeSubscriptions},
		{"removing what kalypso has created", m.removeMade},
		{"removing the kinds", m.removeDefinitions},
		{"removing the namespaces", m.removeNamespaces},
	} {
		m.report(step.what)
		if err := errors.Join(step.do(ctx), m.save()); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// connect returns false when the context leads to another cluster by now.
func (m *remover) connect(ctx context.Context) (here bool, err error) {
	if m.client, _, err = m.record.Source.connect(m.record.Name, listLimit); err != nil {
		return false, err
	}
	var uid types.UID
	err = retry.Until(ctx, "an answer", removeAnswerWait, func(ctx context.Context) error {
		_, err := answers(ctx, m.client)
		return err
	}, retry.Every(retryEach))
	if err == nil {
		uid, err = identity(ctx, m.client)
	}
	if err != nil {
		return false, err
	}
	if uid != m.record.Cluster {
		m.note("%s leads to another cluster by now: what the sandbox has %s on the former one cannot be removed any more, if that still exists",
			m.record.Source, count(len(m.record.Made)))
		return false, nil
	}
	return true, nil
}

// isSubscription reports whether an entry is an object of Flux or Argo CD that
// makes the cluster follow git. Its finalizers are for a reconciler that does not
// run any more.
func (e entry) isSubscription() bool {
	return !e.isDefinition() && (strings.HasSuffix(e.Group, ".toolkit.fluxcd.io") || e.Group == application.Group)
}

// lastFirst picks entries, the latest first.
func (m *remover) lastFirst(from []entry, pick func(entry) bool) (picked []entry) {
	for _, e := range slices.Backward(from) {
		if pick(e) {
			picked = append(picked, e)
		}
	}
	return picked
}

func (m *remover) subscriptions() []entry {
	return m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), entry.isSubscription)
}

func plain(e entry) bool { return !e.isSubscription() && !e.isDefinition() && !e.isNamespace() }

// deleteSubscriptions deletes the subscriptions without waiting, so that a
// reconciler which still runs applies nothing any more.
func (m *remover) deleteSubscriptions(ctx context.Context) error {
	for _, e := range m.subscriptions() {
		if err := m.delete(ctx, e); err != nil {
			return err
		}
	}
	// the cluster's own reconciler deletes what it has applied
	m.reconcilers = map[Reconciler]string{}
	for _, r := range []Reconciler{Flux, ArgoCD} {
		l := preflight{name: m.record.Name, source: m.record.Source, client: m.client, requirements: Requirements{Reconciler: r, Namespace: "argocd"}}
		// an incomplete reconciler would not do it
		if in, err := l.reconcilerNamespace(ctx, r.traits().parts); err == nil && in != "" {
			m.reconcilers[r] = in
		}
	}
	if len(m.reconcilers) > 0 {
		_ = m.waitGone(ctx, m.subscriptions(), reconcilerWait) // what is not gone then is removed below
	}
	return nil
}

func (m *remover) removeApplied(ctx context.Context) error {
	return m.remove(ctx, m.lastFirst(m.record.Applied, plain))
}

// removeSubscriptions removes the finalizers: their work has been done.
func (m *remover) removeSubscriptions(ctx context.Context) error {
	all := m.subscriptions()
	err := retry.Until(ctx, "the finalizers", finalizerWait, func(ctx context.Context) error {
		for _, e := range all {
			if err := m.removeFinalizers(ctx, e); err != nil {
				return err // such as a conflict with a concurrent change
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.waitGone(ctx, all, goneWait)
}

func (m *remover) removeMade(ctx context.Context) error {
	return m.remove(ctx, m.lastFirst(m.record.Made, plain))
}

// removeDefinitions leaves those with foreign objects, which would be deleted
// with them.
func (m *remover) removeDefinitions(ctx context.Context) error {
	return m.removeUnused(ctx, m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), entry.isDefinition), m.usedDefinition)
}

// removeNamespaces leaves those with foreign objects.
func (m *remover) removeNamespaces(ctx context.Context) error {
	return m.removeUnused(ctx, m.lastFirst(slices.Concat(m.record.Made, m.record.Applied), entry.isNamespace), m.usedNamespace)
}

// removeUnused removes what is not in use; used returns by what, "" for nothing.
func (m *remover) removeUnused(ctx context.Context, entries []entry, used func(context.Context, entry) (string, error)) error {
	var unused []entry
	for _, e := range entries {
		o, err := m.current(ctx, e)
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
