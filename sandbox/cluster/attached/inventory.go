package attached

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// record is all that it takes to clean a cluster up.
type record struct {
	Sandbox string `json:"sandbox"` // ID
	Name    string `json:"name"`    // of the cluster in the sandbox
	Source  Source `json:"source"`
	// Cluster tells it from another one that the context may lead to one day.
	Cluster types.UID `json:"cluster,omitempty"`
	// Since is when the first object was made, by the cluster's clock. What is
	// older was there before.
	Since time.Time `json:"since,omitzero"`
	// Removing is set as soon as a removal has begun. It is finished before
	// anything new is made.
	Removing bool    `json:"removing,omitempty"`
	Made     []entry `json:"made"`              // by kalypso, in that order
	Applied  []entry `json:"applied,omitempty"` // by reconcilers, from git; found when it is removed
}

// entry is an object.
type entry struct {
	Group     string    `json:"group,omitempty"`
	Version   string    `json:"version"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"` // "" as long as it is only about to be made
}

func entryOf(o *unstructured.Unstructured) entry {
	k := o.GroupVersionKind()
	return entry{k.Group, k.Version, k.Kind, o.GetNamespace(), o.GetName(), o.GetUID()}
}

func (e entry) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}
}

func (e entry) String() string { return cluster.Describe(e.Kind, e.Namespace, e.Name) }

// names tells whether two entries are of the same name, in whatever version.
func (e entry) names(other entry) bool {
	return e.Group == other.Group && e.Kind == other.Kind && e.Namespace == other.Namespace && e.Name == other.Name
}

// RecordFile is where the record of a cluster lies.
func RecordFile(dir, name string) string { return filepath.Join(dir, name, "made.json") }

func readRecord(file string) (*record, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &r, nil
}

func (r *record) write(file string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(file, append(b, '\n'))
}

func (r *record) empty() bool { return len(r.Made)+len(r.Applied) == 0 }

// find returns what was made by that name, nil for nothing.
func (r *record) find(e entry) *entry {
	if i := slices.IndexFunc(r.Made, e.names); i >= 0 {
		return &r.Made[i]
	}
	return nil
}

// drop forgets what there is no longer.
func (r *record) drop(e entry) {
	gone := func(other entry) bool { return e.names(other) }
	r.Made, r.Applied = slices.DeleteFunc(r.Made, gone), slices.DeleteFunc(r.Applied, gone)
}
