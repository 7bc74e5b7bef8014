// Package edit changes the objects of a platform model in the files that hold them.
//
// An [Edit] says what is to be changed in the terms of the model: a label, a selector, a key of
// the configuration, an object. [Apply] finds the object's file, wherever a user has put it, and
// changes it where it stands: comments, order, quotes and everything else stay. What cannot be
// expressed so is an error with its place, and nothing is changed.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
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
	PutFile         Operation = "putFile"         // the file at Path has Content; without any it goes
)

const (
	// maxFile is how large a file may become, in bytes.
	maxFile = 1 << 20
	// maxExpanded is how many values the aliases of a file may stand for together.
	maxExpanded = 100_000
)

// Edit is one change of a platform model.
type Edit struct {
	Operation Operation `json:"operation"`
	Kind      string    `json:"kind,omitempty"` // of the object, as ClusterType
	Name      string    `json:"name,omitempty"`
	Key       string    `json:"key,omitempty"` // of a selector: deploymentTargetSelector or clusterTypeSelector
	Value     string    `json:"value,omitempty"`
	Content   string    `json:"content,omitempty"` // YAML of an object or of a selector, or what is in a file
	Path      string    `json:"path,omitempty"`    // of a file, from the repository's root
}

// Object is the kind and name of the object that an edit is about, "" for a file.
func (e Edit) Object() (kind, name string) {
	if e.Operation == PutObject && (e.Kind == "" || e.Name == "") {
		if fields, err := mapping(e.Content); err == nil {
			return nameIn(fields)
		}
	}
	return e.Kind, e.Name
}

// Error is about an edit that cannot be made.
type Error struct {
	Position model.Position // zero where it is about no file
	Message  string
	Hint     string
	Index    int  // which edit it is about, -1 for all of them together
	Missing  bool // what is to be edited is not there
	Denied   bool // the file is none that may be edited
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
	for i, e := range edits {
		if err := e.apply(&now, folder); err != nil {
			if known, ok := errors.AsType[*Error](err); ok {
				known.Index = i
			}
			return nil, err
		}
	}
	changed := map[string][]byte{}
	for file, content := range now.Files {
		before, known := tree.Files[file]
		if known && bytes.Equal(before, content) {
			continue
		}
		if err := withinLimits(content); err != nil {
			at := model.Position{Repo: redact.URL(tree.Repo), Branch: tree.Branch, File: file}
			return nil, &Error{Position: at, Message: err.Error(), Index: -1}
		}
		changed[file] = content
	}
	for file := range tree.Files {
		if _, there := now.Files[file]; !there {
			changed[file] = nil
		}
	}
	if len(changed) == 0 {
		return changed, nil
	}
	return changed, newMistake(tree, &now, folder)
}

// withinLimits is an error about a file that is too large, or whose aliases stand for too much.
func withinLimits(content []byte) error {
	if len(content) > maxFile {
		return fmt.Errorf("the file would have %d bytes, and may have %d", len(content), maxFile)
	}
	if !bytes.ContainsRune(content, '*') {
		return nil
	}
	documents, err := yamlpos.Documents(bytes.NewReader(content))
	if err != nil {
		return nil // what is no YAML has no aliases
	}
	return aliasesWithinLimits(documents)
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
			return &Error{Position: d.Position, Message: d.Message, Hint: d.Hint, Index: -1}
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
		if err := checkLabel(e.Key, e.Value); err != nil {
			return err
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
	case PutFile:
		return e.putFile(tree, folder)
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
	if err := checkLabels(wanted); err != nil {
		return err
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
	tree.Files[file] = withLineEnd(e.Content)
	return nil
}

// checkLabels is an error about a label of an object that Kubernetes would refuse.
func checkLabels(fields map[string]any) error {
	metadata, _ := fields["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value, isText := labels[key].(string)
		if !isText {
			return &Error{Message: fmt.Sprintf("label %s is %v, and not a text", key, labels[key]), Hint: "write it between quotes"}
		}
		if err := checkLabel(key, value); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(key, value string) error {
	if wrong := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)); len(wrong) > 0 {
		return &Error{Message: fmt.Sprintf("%s=%s is no label", key, value), Hint: model.Requirement(wrong[0])}
	}
	return nil
}

// withLineEnd is a text whose last line has its end.
func withLineEnd(text string) []byte {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

// putFile writes or removes the edit's file. It has to be of the platform's model: what workflows
// do, and who has to approve, is decided by others.
func (e Edit) putFile(tree *model.Tree, folder string) error {
	denied := ""
	parts := strings.Split(e.Path, "/")
	switch {
	case e.Path == "" || e.Path == "." || path.Clean(e.Path) != e.Path || path.IsAbs(e.Path) || parts[0] == ".." || strings.ContainsAny(e.Path, "\\\x00"):
		denied = fmt.Sprintf("%q is no path of a file, from the repository's root", e.Path)
	case !model.Within(e.Path, folder):
		denied = fmt.Sprintf("%s is outside of %s, the environment's folder", e.Path, model.CleanFolder(folder))
	case slices.ContainsFunc(parts, ofForge):
		denied = e.Path + " is the forge's, not the platform's model"
	}
	if denied != "" {
		return &Error{Message: denied, Denied: true}
	}
	_, there := tree.Files[e.Path]
	switch {
	case e.Content != "":
		tree.Files[e.Path] = withLineEnd(e.Content)
	case !there:
		names := slices.Sorted(maps.Keys(tree.Files))
		return &Error{Message: "there is no file " + e.Path, Hint: model.Suggest(e.Path, names, ""), Missing: true}
	default:
		delete(tree.Files, e.Path)
	}
	return nil
}

// ofForge is whether a part of a path names what forges and git read for themselves.
func ofForge(part string) bool {
	return slices.ContainsFunc([]string{".git", ".github", ".gitea", ".forgejo", "CODEOWNERS"}, func(name string) bool { return strings.EqualFold(part, name) })
}
