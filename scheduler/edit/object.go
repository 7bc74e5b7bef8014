package edit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Kind is one of the kinds of objects that can be edited.
type Kind struct {
	Name   string // as objects have it
	Plural string // as commands and the hub's API name it
}

// Kinds are the kinds that can be edited, by their plurals.
func Kinds() []Kind {
	return []Kind{
		{v1alpha1.KindBaseRepo, "baserepos"}, {v1alpha1.KindClusterType, "clustertypes"}, {kindConfigMap, "configs"}, {v1alpha1.KindEnvironment, "environments"},
		{v1alpha1.KindGitOpsRepo, "gitopsrepos"}, {v1alpha1.KindSchedulingPolicy, "policies"}, {v1alpha1.KindWorkloadRegistration, "registrations"},
		{v1alpha1.KindRollout, "rollouts"}, {v1alpha1.KindConfigSchema, "schemas"}, {v1alpha1.KindTemplate, "templates"},
	}
}

// kindConfigMap is the one kind of another group that the model has.
const kindConfigMap = "ConfigMap"

// object is one of the model in its file.
type object struct {
	position   model.Position
	file       string
	content    []byte
	kind, name string
	index      int      // of the document in the file
	within     []string // where the object is in the document: nowhere, or an item of a List
}

// Object is an object as its file has it.
type Object struct {
	Position model.Position
	Text     string         // its document with all comments; of a List the object alone
	Fields   map[string]any // as JSON has them
}

// Find finds the object of a kind and name at or below a folder. The error is an [*Error].
func Find(tree *model.Tree, folder, kind, name string) (Object, error) {
	o, err := find(tree, folder, kind, name)
	if err != nil {
		return Object{}, err
	}
	node, err := o.node()
	if err != nil {
		return Object{}, err
	}
	found := Object{Position: o.position}
	if err := node.Decode(&found.Fields); err != nil {
		return Object{}, &Error{Position: o.position, Message: err.Error()}
	}
	if o.within == nil {
		begin, end := documentLines(o.content, o.position.Line)
		lines := bytes.SplitAfter(o.content, []byte("\n"))[begin:end]
		if isMarker(lines[0]) {
			lines = lines[1:]
		}
		found.Text = string(bytes.Join(lines, nil))
		return found, nil
	}
	text, err := encode(node)
	found.Text = string(text)
	return found, err
}

// find finds the object of a kind and name, in whichever file it is.
func find(tree *model.Tree, folder, kind, name string) (*object, error) {
	var found []*object
	var names []string
	for _, file := range model.Files(tree, folder) {
		content := tree.Files[file]
		if !bytes.Contains(content, []byte(kind)) {
			continue
		}
		documents, err := yamlpos.Documents(bytes.NewReader(content))
		if err != nil {
			continue // it is in no model
		}
		for index, document := range documents {
			for within, node := range objectsIn(document) {
				if !isOf(node, kind) {
					continue
				}
				is := yamlpos.Text(node, "metadata", "name")
				if names = append(names, is); is == name {
					position := model.Position{Repo: redact.URL(tree.Repo), Branch: tree.Branch, File: file, Line: node.Line, Column: node.Column}
					found = append(found, &object{position, file, content, kind, name, index, within.path()})
				}
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, &Error{Message: fmt.Sprintf("there is no %s %s", kind, name), Hint: model.Suggest(name, names, ""), Missing: true}
	case 1:
		return found[0], nil
	}
	return nil, &Error{Position: found[1].position, Message: fmt.Sprintf("%s %s is also at %s", kind, name, found[0].position), Hint: "remove one of them"}
}

func isMissing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Missing
}

// item is the index of an object in a List, -1 for one that is in none.
type item int

func (i item) path() []string {
	if i < 0 {
		return nil
	}
	return []string{"items", strconv.Itoa(int(i))}
}

// objectsIn iterates over the objects of a document, those of a List each for itself.
func objectsIn(document *yaml.Node) func(yield func(item, *yaml.Node) bool) {
	return func(yield func(item, *yaml.Node) bool) {
		if len(document.Content) == 0 {
			return
		}
		root := document.Content[0]
		if yamlpos.Text(root, "kind") != "List" {
			yield(-1, root)
			return
		}
		if _, items := yamlpos.Field(root, "items"); items != nil && items.Kind == yaml.SequenceNode {
			for i, node := range items.Content {
				if !yield(item(i), node) {
					return
				}
			}
		}
	}
}

// isOf is whether a node is an object of the model and of a kind.
func isOf(node *yaml.Node, kind string) bool {
	if yamlpos.Text(node, "kind") != kind {
		return false
	}
	version := yamlpos.Text(node, "apiVersion")
	if kind == kindConfigMap {
		return version == "v1"
	}
	return version == v1alpha1.APIVersion
}

// set gives a field of the object a value.
func (o *object) set(value any, path ...string) error {
	return o.edit(path, func(full []string) ([]byte, error) { return SetField(o.content, o.index, full, value) })
}

// removeKey removes a key of the mapping at a path, which must be there, and the mapping with
// its last key.
func (o *object) removeKey(name string, path ...string) error {
	node, err := o.node()
	if err != nil {
		return err
	}
	holder := yamlpos.Value(node, path...)
	if !yamlpos.Has(holder, name) {
		var names []string
		for key := range yamlpos.Fields(holder) {
			names = append(names, key.Value)
		}
		position := o.position
		key, _ := yamlpos.Closest(node, path...)
		position.Line, position.Column = key.Line, key.Column
		return &Error{Position: position, Message: fmt.Sprintf("%s %s has no %s.%s", o.kind, o.name, strings.Join(path, "."), name), Hint: model.Suggest(name, names, ""), Missing: true}
	}
	if len(holder.Content) == 2 {
		return o.remove(path...)
	}
	return o.remove(slices.Concat(path, []string{name})...)
}

func (o *object) remove(path ...string) error {
	return o.edit(path, func(full []string) ([]byte, error) { return RemoveField(o.content, o.index, full) })
}

func (o *object) edit(path []string, change func(full []string) ([]byte, error)) error {
	content, err := change(slices.Concat(o.within, path))
	if err != nil {
		position := o.position
		if failure, ok := errors.AsType[*FieldError](err); ok {
			position.Line, err = failure.Line, failure.Err
		}
		return &Error{Position: position, Message: err.Error()}
	}
	o.content = content
	return nil
}

// node is the object as it is now.
func (o *object) node() (*yaml.Node, error) {
	documents, err := yamlpos.Documents(bytes.NewReader(o.content))
	if err != nil || o.index >= len(documents) {
		return nil, &Error{Position: o.position, Message: "the file cannot be read any more"}
	}
	for within, node := range objectsIn(documents[o.index]) {
		if slices.Equal(within.path(), o.within) {
			return node, nil
		}
	}
	return nil, &Error{Position: o.position, Message: "the object is not there any more"}
}

// put makes the value at a path as it is wanted, and touches nothing that is so.
func (o *object) put(wanted any, path ...string) error {
	node, err := o.node()
	if err != nil {
		return err
	}
	var now any
	if value := at(node, path); value != nil {
		if err := value.Decode(&now); err != nil {
			return &Error{Position: o.position, Message: err.Error()}
		}
	}
	return o.change(now, wanted, path)
}

// at is the value at a path of mappings and lists, nil where there is none.
func at(node *yaml.Node, path []string) *yaml.Node {
	for _, name := range path {
		_, node = yamlpos.Field(yamlpos.Resolve(node), name)
	}
	return node
}

// change brings a value to another, field by field.
func (o *object) change(now, wanted any, path []string) error {
	if reflect.DeepEqual(now, wanted) {
		return nil
	}
	below := func(name string) []string { return slices.Concat(path, []string{name}) }
	nowFields, isMapping := now.(map[string]any)
	fields, wantsMapping := wanted.(map[string]any)
	if isMapping && wantsMapping && len(nowFields) > 0 {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if err := o.change(nowFields[name], fields[name], below(name)); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(nowFields)) {
			if _, stays := fields[name]; !stays {
				if err := o.remove(below(name)...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	nowList, isList := now.([]any)
	list, wantsList := wanted.([]any)
	if isList && wantsList && len(nowList) > 0 {
		for i, element := range list {
			var was any
			if i < len(nowList) {
				was = nowList[i]
			}
			if err := o.change(was, element, below(strconv.Itoa(i))); err != nil {
				return err
			}
		}
		for i := len(nowList) - 1; i >= len(list); i-- {
			if err := o.remove(below(strconv.Itoa(i))...); err != nil {
				return err
			}
		}
		return nil
	}
	return o.set(wanted, path...)
}

// delete removes the object from its file, and the file if nothing else is in it.
func (o *object) delete(tree *model.Tree) error {
	if o.within != nil {
		if err := o.remove(); err != nil {
			return err
		}
		tree.Files[o.file] = o.content
		return nil
	}
	before, err := values(o.content)
	if err != nil {
		return &Error{Position: o.position, Message: err.Error()}
	}
	if others := slices.Delete(slices.Clone(before), o.index, o.index+1); !slices.ContainsFunc(others, func(v any) bool { return v != nil }) {
		delete(tree.Files, o.file)
		return nil
	}
	content := withoutDocument(o.content, o.position.Line)
	after, err := values(content)
	if err != nil || !reflect.DeepEqual(slices.Delete(before, o.index, o.index+1), after) {
		return &Error{Position: o.position, Message: "the object cannot be told from the others of its file safely: remove it by hand"}
	}
	tree.Files[o.file] = content
	return nil
}

// withoutDocument is a YAML file without the document that a line is in.
func withoutDocument(content []byte, line int) []byte {
	lines := bytes.SplitAfter(content, []byte("\n"))
	begin, end := documentLines(content, line)
	if begin == 0 && !isMarker(lines[0]) && end < len(lines) {
		end++ // the marker that ends the first document
	}
	return bytes.Join(slices.Delete(lines, begin, end), nil)
}

func isMarker(line []byte) bool { return bytes.HasPrefix(line, []byte("---")) }

// documentLines are the lines of the document that a line is in, from 0, with the marker that it
// begins with.
func documentLines(content []byte, line int) (begin, end int) {
	lines := bytes.SplitAfter(content, []byte("\n"))
	end = len(lines)
	for i, l := range lines {
		switch {
		case !isMarker(l):
		case i < line:
			begin = i
		case i < end:
			end = i
		}
	}
	return begin, end
}

// newFile is where a new object goes: beside most others of its kind.
func newFile(tree *model.Tree, folder, kind, name string) (string, error) {
	folders := map[string]int{}
	for _, file := range model.Files(tree, folder) {
		documents, err := yamlpos.Documents(bytes.NewReader(tree.Files[file]))
		for _, document := range documents {
			for _, node := range objectsIn(document) {
				if err == nil && isOf(node, kind) {
					folders[path.Dir(file)]++
				}
			}
		}
	}
	dir := model.CleanFolder(folder)
	most := 0
	for _, one := range slices.Sorted(maps.Keys(folders)) {
		if folders[one] > most {
			dir, most = one, folders[one]
		}
	}
	for _, base := range []string{name, strings.ToLower(kind) + "-" + name} {
		file := path.Join(dir, base+".yaml")
		if _, taken := tree.Files[file]; !taken {
			return file, nil
		}
	}
	return "", &Error{Message: fmt.Sprintf("there is a file %s already, which has another object", path.Join(dir, name+".yaml"))}
}

// mapping is a YAML text that is one mapping.
func mapping(text string) (map[string]any, error) {
	documents, err := yamlpos.Documents(strings.NewReader(text))
	if err != nil {
		line, message := yamlpos.ExplainError([]byte(text), err)
		return nil, fmt.Errorf("line %d: %s", line, message)
	}
	if err := aliasesWithinLimits(documents); err != nil {
		return nil, err
	}
	var fields map[string]any
	if len(documents) != 1 {
		return nil, fmt.Errorf("it is %d YAML documents, and is to be one", len(documents))
	}
	if err := documents[0].Decode(&fields); err != nil || fields == nil {
		return nil, errors.New("it is no YAML mapping")
	}
	return fields, nil
}

// nameIn are the kind and name of an object of the model, "" where it has none.
func nameIn(fields map[string]any) (kind, name string) {
	kind, _ = fields["kind"].(string)
	version, _ := fields["apiVersion"].(string)
	if kind == kindConfigMap && version != "v1" || kind != kindConfigMap && version != v1alpha1.APIVersion {
		return "", ""
	}
	metadata, _ := fields["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	return kind, name
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
