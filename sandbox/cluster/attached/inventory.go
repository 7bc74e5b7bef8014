package attached

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

// ownerAnnotation is on all that a sandbox puts on an existing cluster. It tells
// whose an object is that was made just before its ID could be noted.
const ownerAnnotation = "kalypso.dev/sandbox"

// inventory writes down what is about to be made, and lets be what was there.
type inventory struct {
	file   string
	id     string // of the sandbox
	source Source

	mu     sync.Mutex
	record *record // nil before the first use
}

var _ cluster.Inventory = (*inventory)(nil)

// load reads the record once. Nobody else writes it while a daemon runs.
func (l *inventory) load() error {
	if l.record != nil {
		return nil
	}
	r, err := readRecord(l.file)
	if err != nil {
		return err
	}
	l.record = r
	return nil
}

// begin notes which cluster the record is about.
func (l *inventory) begin(name string, uid types.UID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return err
	}
	l.record.Sandbox, l.record.Name, l.record.Source, l.record.Cluster = l.id, name, l.source, uid
	return l.record.write(l.file)
}

// read returns a copy of the record.
func (l *inventory) read() (record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return record{}, err
	}
	r := *l.record
	r.Made, r.Applied = slices.Clone(r.Made), slices.Clone(r.Applied)
	return r, nil
}

// forget makes the next use read the record again.
func (l *inventory) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = nil
}

// Claim implements cluster.Inventory.
func (l *inventory) Claim(o, there *unstructured.Unstructured) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return false, err
	}
	if there != nil && !l.ours(there) {
		return false, leave(o, there)
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownerAnnotation] = l.id
	o.SetAnnotations(annotations)
	if there != nil {
		return true, nil
	}
	e := entryOf(o)
	e.UID = ""
	if old := l.record.find(e); old != nil {
		*old = e // the one before is gone
	} else {
		l.record.Made = append(l.record.Made, e)
	}
	return true, l.record.write(l.file)
}

// Made implements cluster.Inventory.
func (l *inventory) Made(o *unstructured.Unstructured) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return err
	}
	e := entryOf(o)
	old := l.record.find(e)
	switch {
	case old == nil:
		l.record.Made = append(l.record.Made, e)
	case old.UID != e.UID:
		old.UID = e.UID
		if l.record.Since.IsZero() {
			l.record.Since = o.GetCreationTimestamp().UTC()
		}
	default:
		return nil
	}
	return l.record.write(l.file)
}

func (l *inventory) ours(there *unstructured.Unstructured) bool {
	return l.record.made(entryOf(there), marked(there, l.id))
}

// marked tells whether an object bears the ID of a sandbox, which has none as
// long as it is only thought of.
func marked(o *unstructured.Unstructured, sandbox string) bool {
	return sandbox != "" && o.GetAnnotations()[ownerAnnotation] == sandbox
}

// made tells whether an object that is there is one that was made. Its mark
// counts only where its ID has not been noted: people copy objects with all that
// they bear.
func (r *record) made(there entry, marked bool) bool {
	e := r.find(there)
	if e == nil || e.UID == "" {
		return marked
	}
	return e.UID == there.UID
}

// leave returns nil for what may be used though it is somebody else's.
func leave(o, there *unstructured.Unstructured) error {
	switch e := entryOf(o); {
	case e.isNamespace():
		return nil
	case e.isDefinition():
		return serves(there, o)
	default:
		return &cluster.ForeignError{Object: e.String()}
	}
}

func (e entry) isNamespace() bool { return e.Group == "" && e.Kind == "Namespace" }

func (e entry) isDefinition() bool {
	return e.Group == "apiextensions.k8s.io" && e.Kind == "CustomResourceDefinition"
}

// serves returns nil when a definition has all versions that another has.
func serves(there, wanted *unstructured.Unstructured) error {
	has := served(there)
	for _, v := range served(wanted) {
		if !slices.Contains(has, v) {
			return fmt.Errorf("the definition %s is there already, and does not serve %s, which is needed: upgrade it, or use another cluster", there.GetName(), v)
		}
	}
	return nil
}

func served(definition *unstructured.Unstructured) (versions []string) {
	all, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range all {
		if m, ok := v.(map[string]any); ok && m["served"] == true {
			name, _ := m["name"].(string)
			versions = append(versions, name)
		}
	}
	return versions
}
