// Package edit changes the objects of a platform model in the files that hold them.
//
// An [Edit] says what is to be changed in the terms of the model: a label, a selector, a key of
// the configuration, an object. [Apply] finds the object's file, wherever a user has put it, and
// changes it where it stands: comments, order, quotes and everything else stay. What cannot be
// expressed so is an error with its place, and nothing is changed.
package edit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Operation is what an Edit does.
type Operation string

// The operations.
const (
	SetLabel        Operation = "setLabel"        // the label Key of an object gets Value
	RemoveLabel     Operation = "removeLabel"     // the label Key of an object goes
	SetSelector     Operation = "setSelector"     // the selector Key of a policy is as in Content
	SetConfigKey    Operation = "setConfigKey"    // the key Key of a platform configuration gets Value
	RemoveConfigKey Operation = "removeConfigKey" // the key Key of a platform configuration goes
	PutObject       Operation = "putObject"       // the object is as in Content, changed or new
	DeleteObject    Operation = "deleteObject"    // the object goes, and its file if it held nothing else
)

// Edit is one change of a platform model.
type Edit struct {
	Operation Operation `json:"operation"`
	Kind      string    `json:"kind,omitempty"` // of the object, as ClusterType
	Name      string    `json:"name,omitempty"`
	Key       string    `json:"key,omitempty"` // of a selector: deploymentTargetSelector or clusterTypeSelector
	Value     string    `json:"value,omitempty"`
	Content   string    `json:"content,omitempty"` // YAML of an object or of a selector
}

// Error is about an edit that cannot be made.
type Error struct {
	Position model.Position // zero where it is about no file
	Message  string
	Hint     string
	Missing  bool // what is to be edited is not there
}

func (e *Error) Error() string {
	message := e.Message
	if e.Position.File != "" {
		message = e.Position.String() + ": " + message
	}
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	return message
}

// Apply makes edits, one after the other, in the tree of an environment's branch, at or below
// a folder. It returns the files that differ then, nil for one that is gone. The tree stays as
// it is. The error is an [*Error].
func Apply(tree *model.Tree, folder string, edits []Edit) (map[string][]byte, error) {
	now := *tree
	now.Files = maps.Clone(tree.Files)
	for _, e := range edits {
		if err := e.apply(&now, folder); err != nil {
			return nil, err
		}
	}
	if err := newMistake(tree, &now, folder); err != nil {
		return nil, err
	}
	changed := map[string][]byte{}
	for file, content := range now.Files {
		if before, known := tree.Files[file]; !known || !bytes.Equal(before, content) {
			changed[file] = content
		}
	}
	for file := range tree.Files {
		if _, there := now.Files[file]; !there {
			changed[file] = nil
		}
	}
	return changed, nil
}

// newMistake is the first error in a model that an edit has made.
func newMistake(before, now *model.Tree, folder string) error {
	type mistake struct{ code, file, message string }
	known := map[mistake]bool{}
	for _, d := range model.Errors(model.LoadFiles(before, folder).Diagnostics) {
		known[mistake{d.Code, d.Position.File, d.Message}] = true
	}
	for _, d := range model.Errors(model.LoadFiles(now, folder).Diagnostics) {
		if !known[mistake{d.Code, d.Position.File, d.Message}] {
			return &Error{Position: d.Position, Message: d.Message, Hint: d.Hint}
		}
	}
	return nil
}

// The selectors of a scheduling policy.
const (
	targetSelector      = "deploymentTargetSelector"
	clusterTypeSelector = "clusterTypeSelector"
)

func (e Edit) apply(tree *model.Tree, folder string) error {
	switch e.Operation {
	case SetLabel:
		if wrong := slices.Concat(validation.IsQualifiedName(e.Key), validation.IsValidLabelValue(e.Value)); len(wrong) > 0 {
			return &Error{Message: fmt.Sprintf("%s=%s is no label", e.Key, e.Value), Hint: model.Requirement(wrong[0])}
		}
		return e.onObject(tree, folder, func(o *object) error { return o.set(e.Value, "metadata", "labels", e.Key) })
	case RemoveLabel:
		return e.onObject(tree, folder, func(o *object) error { return o.removeKey(e.Key, "metadata", "labels") })
	case SetSelector:
		if e.Kind != v1alpha1.KindSchedulingPolicy || e.Key != targetSelector && e.Key != clusterTypeSelector {
			return &Error{Message: fmt.Sprintf("%s %s has no selector %q", e.Kind, e.Name, e.Key), Hint: "a SchedulingPolicy has " + targetSelector + " and " + clusterTypeSelector}
		}
		selector, err := mapping(e.Content)
		if err != nil {
			return &Error{Message: "the selector: " + err.Error()}
		}
		return e.onObject(tree, folder, func(o *object) error { return o.put(selector, "spec", e.Key) })
	case SetConfigKey, RemoveConfigKey:
		if e.Kind != kindConfigMap {
			return &Error{Message: fmt.Sprintf("%s %s has no configuration", e.Kind, e.Name), Hint: "a ConfigMap has"}
		}
		if wrong := validation.IsConfigMapKey(e.Key); len(wrong) > 0 {
			return &Error{Message: fmt.Sprintf("%q is no key of a ConfigMap", e.Key), Hint: model.Requirement(wrong[0])}
		}
		return e.onObject(tree, folder, func(o *object) error {
			if e.Operation == RemoveConfigKey {
				return o.removeKey(e.Key, "data")
			}
			return o.set(e.Value, "data", e.Key)
		})
	case PutObject:
		return e.put(tree, folder)
	case DeleteObject:
		found, err := find(tree, folder, e.Kind, e.Name)
		if err != nil {
			return err
		}
		return found.delete(tree)
	}
	return &Error{Message: fmt.Sprintf("there is no operation %q", e.Operation)}
}

// onObject changes the object of an edit.
func (e Edit) onObject(tree *model.Tree, folder string, change func(*object) error) error {
	found, err := find(tree, folder, e.Kind, e.Name)
	if err != nil {
		return err
	}
	if err := change(found); err != nil {
		return err
	}
	tree.Files[found.file] = found.content
	return nil
}

// put changes the object that the edit's content is, or adds it.
func (e Edit) put(tree *model.Tree, folder string) error {
	wanted, err := mapping(e.Content)
	if err != nil {
		return &Error{Message: "the object: " + err.Error()}
	}
	kind, name := nameIn(wanted)
	if kind == "" || name == "" || e.Kind != "" && e.Kind != kind || e.Name != "" && e.Name != name {
		return &Error{Message: fmt.Sprintf("the object is %s %s, and is to be %s %s", orNone(kind), orNone(name), orNone(e.Kind), orNone(e.Name)), Hint: "it needs apiVersion, kind and metadata.name"}
	}
	switch found, err := find(tree, folder, kind, name); {
	case err == nil:
		err = found.put(wanted)
		tree.Files[found.file] = found.content
		return err
	case !isMissing(err):
		return err
	}
	file, err := newFile(tree, folder, kind, name)
	if err != nil {
		return err
	}
	content := []byte(e.Content)
	if !bytes.HasSuffix(content, []byte("\n")) {
		content = append(content, '\n')
	}
	tree.Files[file] = content
	return nil
}
