package plan

import (
	"slices"
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
			if p, ok := printing(n, dotIsData); ok {
				f.printed = append(f.printed, p)
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

// printing says whether an action prints a value of the data as it is.
func printing(n *parse.ActionNode, dotIsData bool) (place, bool) {
	if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
		return place{}, false
	}
	var names []string
	switch arg := n.Pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		if dotIsData {
			names = arg.Ident
		}
	case *parse.VariableNode:
		if arg.Ident[0] == "$" {
			names = arg.Ident[1:]
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
