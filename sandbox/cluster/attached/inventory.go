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

// ownerAnnotation is on all objects that a sandbox applies to an attached cluster.
// It identifies those that were created just before their UID could be recorded.
const ownerAnnotation = "kalypso.dev/sandbox"

// inventory records an object before it is created, and refuses foreign objects.
type inventory struct {
	file   string
	id     string // of the sandbox
	source Source

	mu     sync.Mutex
	record *record // nil before the first use
}

var _ cluster.Inventory = (*inventory)(nil)

// load reads the record once: only one daemon writes it at a time.
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

// begin records which cluster the inventory is of.
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

// forget makes the next use read the file again.
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
		return false, foreignConflict(o, there)
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
		*old = e // the former object is gone
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

// marked reports whether an object has a sandbox's ID as its owner. A sandbox that
// has not been created yet has no ID.
func marked(o *unstructured.Unstructured, sandbox string) bool {
	return sandbox != "" && o.GetAnnotations()[ownerAnnotation] == sandbox
}

// made reports whether an object on the cluster was created by kalypso. The owner
// annotation counts only where no UID was recorded: users copy objects with their
// annotations.
func (r *record) made(there entry, marked bool) bool {
	e := r.find(there)
	if e == nil || e.UID == "" {
		return marked
	}
	return e.UID == there.UID
}

// foreignConflict returns nil for foreign objects that may be shared: namespaces,
// and definitions that serve all needed versions.
func foreignConflict(o, there *unstructured.Unstructured) error {
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

// record is an inventory's file: all that it takes to clean a cluster up.
type record struct {
	Sandbox string `json:"sandbox"` // ID
	Name    string `json:"name"`    // of the cluster in the sandbox
	Source  Source `json:"source"`
	// Cluster identifies it, since the context may lead to another one later.
	Cluster types.UID `json:"cluster,omitempty"`
	// Since is when the first object was created, by the cluster's clock. Older
	// objects are foreign.
	Since time.Time `json:"since,omitzero"`
	// Removing is set when a removal has begun. It is completed before anything
	// new is applied.
	Removing bool    `json:"removing,omitempty"`
	Made     []entry `json:"made"`              // by kalypso, in that order
	Applied  []entry `json:"applied,omitempty"` // by reconcilers, from git; found when it is removed
}

// entry names an object.
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

// sameName reports whether two entries name the same object, in whatever version.
func (e entry) sameName(other entry) bool {
	return e.Group == other.Group && e.Kind == other.Kind && e.Namespace == other.Namespace && e.Name == other.Name
}

// RecordFile is the inventory file of a cluster.
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

// find returns the created entry of that name, nil for none.
func (r *record) find(e entry) *entry {
	if i := slices.IndexFunc(r.Made, e.sameName); i >= 0 {
		return &r.Made[i]
	}
	return nil
}

// drop removes an entry.
func (r *record) drop(e entry) {
	gone := func(other entry) bool { return e.sameName(other) }
	r.Made, r.Applied = slices.DeleteFunc(r.Made, gone), slices.DeleteFunc(r.Applied, gone)
}
