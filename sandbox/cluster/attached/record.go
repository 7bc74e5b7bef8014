package attached

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-dev/kalypso/sandbox/cluster"
)

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
