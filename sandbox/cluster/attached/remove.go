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
	releaseWait      = 10 * time.Second
	// theirWait is how long the cluster's own reconciler may take to clean up
	// after what it has followed, before that is done for it.
	theirWait = 20 * time.Second
)

// LeftError says that something is still on a cluster, and why.
type LeftError struct {
	Cluster string
	Source  Source
	Objects []string
	Err     error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("cluster %s, %s, still has what the sandbox has put there (%s): %v", e.Cluster, e.Source, some(e.Objects), e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *LeftError) Hint() string {
	var missing *MissingError
	if errors.As(e.Err, &missing) {
		return "Put the context back and call `kalypso down` again; or if the cluster is gone, `kalypso down --delete` forgets it."
	}
	return "When that is mended, `kalypso down` again takes it off. If the cluster is gone for good, remove its context from the kubeconfig; then `kalypso down --delete` forgets it."
}

// some names a few of many.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// Remove takes off a cluster what a record says, and what the reconcilers have
// applied there. It may be cut off at any moment and called again. The notes
// tell what stays on purpose. The error is a *LeftError when something is still
// there that should not be; with a *MissingError below it, nobody knows any more
// where the cluster is. say is told what is done; it may be nil.
//
// Nothing of the sandbox may run that makes new objects.
func Remove(ctx context.Context, file string, say func(string)) (notes []string, err error) {
	r, err := readRecord(file)
	if err != nil {
		return nil, err
	}
	if r.empty() {
		return nil, forgetFile(file)
	}
	if say == nil {
		say = func(string) {}
	}
	m := &remover{file: file, record: r, say: say}
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

// Pending tells whether something is still on one of the clusters, by their
// records.
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
	file   string
	record *record
	client *cluster.Client
	say    func(string)
	notes  []string
	theirs map[Reconciler]string // namespaces of the cluster's own, where it has them
	// labelled are all objects that Flux has applied for anybody; nil as long as
	// they have not been asked for.
	labelled []unstructured.Unstructured
}

func (m *remover) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.notes, text) {
		m.notes = append(m.notes, text)
	}
}

func (m *remover) save() error { return m.record.write(m.file) }

// all removes everything in an order in which nothing makes anew what is
// removed, and nothing is lost that tells what is still to be removed.
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
	m.say("finding what has been applied")
	if err := m.gather(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"ending what follows git", m.endFollowing},
		{"removing what has been applied", m.removeApplied},
		{"removing what followed git", m.removeFollowing},
		{"removing what kalypso has made", m.removeMade},
		{"removing the kinds", m.removeDefinitions},
		{"removing the namespaces", m.removeNamespaces},
	} {
		m.say(step.what)
		if err := errors.Join(step.do(ctx), m.save()); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// connect returns false when there is nothing to remove any more.
func (m *remover) connect(ctx context.Context) (here bool, err error) {
	if m.client, _, err = m.record.Source.connect(m.record.Name, listLimit); err != nil {
		return false, err
	}
	var uid types.UID
	err = retry.Until(ctx, "an answer", removeAnswerWait, func(ctx context.Context) error {
		_, err := answers(ctx, m.client)
		if err != nil {
			pause(ctx, retryEach)
		}
		return err
	})
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
