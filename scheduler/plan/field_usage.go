package plan

import (
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// dataField is a field of renderData.
type dataField uint8

const (
	fieldTargetName dataField = iota
	fieldNamespace
	fieldEnvironment
	fieldWorkspace
	fieldWorkload
	fieldClusterType
	fieldLabels
	fieldManifests
	fieldConfigData
	fieldCount
)

var dataFields = map[string]dataField{
	"DeploymentTargetName": fieldTargetName,
	"Namespace":            fieldNamespace,
	"Environment":          fieldEnvironment,
	"Workspace":            fieldWorkspace,
	"Workload":             fieldWorkload,
	"ClusterType":          fieldClusterType,
	"Labels":               fieldLabels,
	"Manifests":            fieldManifests,
	"ConfigData":           fieldConfigData,
}

func (f dataField) isMap() bool { return f >= fieldLabels }

// place is a value in a template's data: a field, or a key of a field that is
// a map.
type place struct {
	field dataField
	key   string
}

// form is what a template does with its data. Most templates do nothing with
// most values but print them, and then the result for another value is the
// same text with that value in its place.
type form struct {
	known   bool             // else anything may happen
	used    [fieldCount]bool // more is done with the field than printing it
	printed []place          // what is only printed, once each; of no used field
	mark    string           // see markOf
}

// formOf reads what a template's manifests do.
func formOf(spec v1alpha1.TemplateSpec) form {
	if slices.ContainsFunc(spec.Manifests, func(m v1alpha1.Manifest) bool { return checkSize(m.Text) != nil }) {
		return form{}
	}
	f := form{known: true, mark: markOf(spec)}
	for _, m := range spec.Manifests {
		t, err := template.New(templateName).Funcs(functions).Parse(m.Text)
		if err != nil || len(t.Templates()) > 1 {
			return form{}
		}
		if t.Tree != nil && t.Root != nil {
			f.list(t.Root, true)
		}
	}
	printed := f.printed[:0]
	for _, p := range f.printed {
		if !f.used[p.field] && !slices.Contains(printed, p) {
			printed = append(printed, p)
		}
	}
	f.printed = printed
	return f
}

// list reads nodes. Within with and range the dot is something else than the
// template's data.
func (f *form) list(list *parse.ListNode, dotIsData bool) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
		case *parse.ActionNode:
			if places, ok := printing(n.Pipe, dotIsData); ok {
				f.printed = append(f.printed, places...)
			} else {
				f.pipe(n.Pipe, dotIsData)
			}
		case *parse.IfNode:
			f.branch(&n.BranchNode, dotIsData, dotIsData)
		case *parse.WithNode:
			f.branch(&n.BranchNode, dotIsData, false)
		case *parse.RangeNode:
			f.branch(&n.BranchNode, dotIsData, false)
		default:
			f.known = false
		}
	}
}

func (f *form) branch(n *parse.BranchNode, dotIsData, inside bool) {
	f.pipe(n.Pipe, dotIsData)
	f.list(n.List, inside)
	f.list(n.ElseList, dotIsData)
}

// printing returns the values of the data that a pipeline prints as they are,
// between other texts or in quotes, and whether it does nothing else.
func printing(pipe *parse.PipeNode, dotIsData bool) ([]place, bool) {
	if len(pipe.Decl) > 0 {
		return nil, false
	}
	for _, command := range pipe.Cmds[1:] {
		if name, ok := command.Args[0].(*parse.IdentifierNode); !ok || len(command.Args) > 1 || !quotes(name.Ident) {
			return nil, false
		}
	}
	args := pipe.Cmds[0].Args
	if function, ok := args[0].(*parse.IdentifierNode); ok {
		switch {
		case quotes(function.Ident) && len(args) == 2:
			args = args[1:]
		case function.Ident == "printf" && len(args) > 1 && printsTexts(args[1], len(args)-2):
			args = args[2:]
		default:
			return nil, false
		}
	} else if len(args) > 1 {
		return nil, false
	}
	var places []place
	for _, arg := range args {
		if inner, ok := arg.(*parse.PipeNode); ok {
			more, ok := printing(inner, dotIsData)
			if !ok {
				return nil, false
			}
			places = append(places, more...)
			continue
		}
		p, ok := placeOf(arg, dotIsData)
		if !ok {
			return nil, false
		}
		places = append(places, p)
	}
	return places, true
}

// quotes says whether a function puts quotes around a text that needs no escapes.
func quotes(function string) bool { return function == "quote" || function == "squote" }

// printsTexts says whether a format is for so many texts.
func printsTexts(node parse.Node, args int) bool {
	format, ok := node.(*parse.StringNode)
	return ok && args > 0 && strings.Count(format.Text, "%s") == args && strings.Count(format.Text, "%") == args
}

// placeOf returns which value of the data a node is.
func placeOf(node parse.Node, dotIsData bool) (place, bool) {
	var names []string
	switch n := node.(type) {
	case *parse.FieldNode:
		if dotIsData {
			names = n.Ident
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			names = n.Ident[1:]
		}
	}
	if len(names) == 0 {
		return place{}, false
	}
	field, known := dataFields[names[0]]
	switch {
	case known && len(names) == 1 && !field.isMap():
		return place{field: field}, true
	case known && len(names) == 2 && field.isMap():
		return place{field, names[1]}, true
	}
	return place{}, false
}

// pipe reads a pipeline. Its functions are pure, so that nothing counts but
// the fields it begins with.
func (f *form) pipe(pipe *parse.PipeNode, dotIsData bool) {
	for _, command := range pipe.Cmds {
		for _, arg := range command.Args {
			f.argument(arg, dotIsData)
		}
	}
}

func (f *form) argument(node parse.Node, dotIsData bool) {
	switch n := node.(type) {
	case *parse.FieldNode:
		if dotIsData {
			f.use(n.Ident[0])
		}
	case *parse.VariableNode:
		if n.Ident[0] != "$" {
			return // it was set by a pipeline that has been read
		}
		if len(n.Ident) == 1 {
			f.known = false
			return
		}
		f.use(n.Ident[1])
	case *parse.DotNode:
		f.known = f.known && !dotIsData
	case *parse.PipeNode:
		f.pipe(n, dotIsData)
	case *parse.ChainNode:
		f.argument(n.Node, dotIsData)
	case *parse.IdentifierNode, *parse.BoolNode, *parse.NumberNode, *parse.StringNode, *parse.NilNode:
	default:
		f.known = false
	}
}

func (f *form) use(name string) {
	field, known := dataFields[name]
	if !known {
		f.known = false
		return
	}
	f.used[field] = true
}

// lookUp returns a value that a template prints, and false when it is not
// there or no text.
func (d *renderData) lookUp(p place) (string, bool) {
	switch p.field {
	case fieldTargetName:
		return d.DeploymentTargetName, true
	case fieldNamespace:
		return d.Namespace, true
	case fieldEnvironment:
		return d.Environment, true
	case fieldWorkspace:
		return d.Workspace, true
	case fieldWorkload:
		return d.Workload, true
	case fieldClusterType:
		return d.ClusterType, true
	case fieldLabels:
		return d.Labels[p.key], true
	case fieldManifests:
		return d.Manifests[p.key], true
	case fieldConfigData:
		value, ok := d.ConfigData[p.key].(string)
		return value, ok
	}
	return "", false
}

// mentions says whether any text of the data holds another.
func (d *renderData) mentions(text string) bool {
	for _, s := range []string{d.DeploymentTargetName, d.Namespace, d.Environment, d.Workspace, d.Workload, d.ClusterType} {
		if strings.Contains(s, text) {
			return true
		}
	}
	for _, m := range []map[string]string{d.Labels, d.Manifests} {
		for key, value := range m {
			if strings.Contains(key, text) || strings.Contains(value, text) {
				return true
			}
		}
	}
	return valueMentions(d.ConfigData, text)
}

func valueMentions(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, text)
	case map[string]any:
		for key, element := range v {
			if strings.Contains(key, text) || valueMentions(element, text) {
				return true
			}
		}
	case map[any]any:
		for key, element := range v {
			if valueMentions(key, text) || valueMentions(element, text) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if valueMentions(element, text) {
				return true
			}
		}
	}
	return false
}

// with returns the data with other texts in some places.
func (d renderData) with(places []place, texts []string) renderData {
	d.Labels, d.Manifests, d.ConfigData = maps.Clone(d.Labels), maps.Clone(d.Manifests), maps.Clone(d.ConfigData)
	for i, p := range places {
		switch text := texts[i]; p.field {
		case fieldTargetName:
			d.DeploymentTargetName = text
		case fieldNamespace:
			d.Namespace = text
		case fieldEnvironment:
			d.Environment = text
		case fieldWorkspace:
			d.Workspace = text
		case fieldWorkload:
			d.Workload = text
		case fieldClusterType:
			d.ClusterType = text
		case fieldLabels:
			d.Labels[p.key] = text
		case fieldManifests:
			d.Manifests[p.key] = text
		case fieldConfigData:
			d.ConfigData[p.key] = text
		}
	}
	return d
}
