package plan

import (
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

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

// fieldRef is a value in a template's data: a field, or a key of a field that is
// a map.
type fieldRef struct {
	field dataField
	key   string
}

// fieldUsage is what a template does with its data. Most templates only print
// most values, and then another value gives the same text with that value in it.
type fieldUsage struct {
	known   bool             // else anything may happen
	used    [fieldCount]bool // more is done with the field than printing it
	printed []fieldRef       // what is only printed, once each; of no used field
	prefix  string           // of placeholders
	finder  *derivationFinder

	derived []*derivation // in the order of the template, those in branches below their conditions
	slots   int           // how many values are filled in: those printed, then those derived
}

func fieldUsageOf(spec v1alpha1.TemplateSpec) fieldUsage {
	if slices.ContainsFunc(spec.Manifests, func(m v1alpha1.Manifest) bool { return checkSize(m.Text) != nil }) {
		return fieldUsage{}
	}
	f := fieldUsage{known: true, prefix: placeholderPrefix(spec)}
	for i, m := range spec.Manifests {
		t, err := template.New(templateName).Funcs(functions).Parse(m.Text)
		if err != nil || len(t.Templates()) > 1 {
			return fieldUsage{}
		}
		if t.Tree != nil && t.Root != nil {
			f.finder = newDerivationFinder(i, t.Root)
			f.derived = append(f.derived, f.list(t.Root, true)...)
			f.readVariables()
		}
	}
	f.finder = nil
	printed := f.printed[:0]
	for _, p := range f.printed {
		if !f.used[p.field] && !slices.Contains(printed, p) {
			printed = append(printed, p)
		}
	}
	f.printed = printed
	f.slots = len(printed)
	f.number(f.derived)
	return f
}

// isUnique says whether what a template does with the data is different for each
// assignment, so that nothing is gained by remembering it.
func (f *fieldUsage) isUnique() bool {
	return f.used[fieldNamespace] ||
		f.used[fieldClusterType] && (f.used[fieldTargetName] || f.used[fieldLabels] || f.used[fieldManifests])
}

// number gives every derivation that prints its place among the values.
func (f *fieldUsage) number(derived []*derivation) {
	for _, d := range derived {
		if d.role == prints {
			d.slot = f.slots
			f.slots++
		}
		f.number(d.then)
		f.number(d.otherwise)
	}
}

// list reads nodes, and returns what is derived in them. Within with and range the
// dot is something else than the template's data.
func (f *fieldUsage) list(list *parse.ListNode, dotIsData bool) []*derivation {
	if list == nil {
		return nil
	}
	var derived []*derivation
	for _, node := range list.Nodes {
		if branch := branchOf(node); branch != nil {
			var d *derivation
			if branch.NodeType == parse.NodeIf {
				d = f.finder.find(decides, branch.Pos, branch.Pipe, dotIsData)
			}
			if d == nil {
				f.pipe(branch.Pipe, dotIsData)
			}
			then := f.list(branch.List, dotIsData && branch.NodeType == parse.NodeIf)
			otherwise := f.list(branch.ElseList, dotIsData)
			if d == nil {
				derived = append(append(derived, then...), otherwise...)
			} else {
				d.then, d.otherwise = then, otherwise
				derived = append(derived, d)
			}
			continue
		}
		switch n := node.(type) {
		case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
		case *parse.ActionNode:
			as := prints
			if len(n.Pipe.Decl) > 0 {
				as = keeps
			}
			if refs, ok := printing(n.Pipe, dotIsData); ok {
				f.printed = append(f.printed, refs...)
			} else if d := f.finder.find(as, n.Pos, n.Pipe, dotIsData); d != nil {
				derived = append(derived, d)
			} else {
				f.pipe(n.Pipe, dotIsData)
			}
		default:
			f.known = false
		}
	}
	return derived
}

// readVariables reads the declarations of variables that are derived, where anything
// else reads them, too.
func (f *fieldUsage) readVariables() {
	for again := true; again; {
		again = false
		for _, v := range f.finder.variables {
			if v.isRead && v.declaration != nil && !v.declaration.isRead {
				v.declaration.isRead, again = true, true
				f.pipe(v.pipe, v.dotIsData)
			}
		}
	}
}

// printing returns the values of the data that a pipeline prints as they are,
// between other texts or in quotes, and whether it does nothing else.
func printing(pipe *parse.PipeNode, dotIsData bool) ([]fieldRef, bool) {
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
	var refs []fieldRef
	for _, arg := range args {
		more, ok := fieldRefOf(arg, dotIsData)
		if inner, isPipe := arg.(*parse.PipeNode); isPipe {
			more, ok = printing(inner, dotIsData)
		}
		if !ok {
			return nil, false
		}
		refs = append(refs, more...)
	}
	return refs, true
}

// quotes says whether a function puts quotes around a text that needs no escapes.
func quotes(function string) bool { return function == "quote" || function == "squote" }

// printsTexts says whether a format is for so many texts.
func printsTexts(node parse.Node, args int) bool {
	format, ok := node.(*parse.StringNode)
	return ok && args > 0 && strings.Count(format.Text, "%s") == args && strings.Count(format.Text, "%") == args
}

// fieldRefOf returns the one value of the data that a node is.
func fieldRefOf(node parse.Node, dotIsData bool) ([]fieldRef, bool) {
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
		return nil, false
	}
	field, known := dataFields[names[0]]
	switch {
	case known && len(names) == 1 && !field.isMap():
		return []fieldRef{{field: field}}, true
	case known && len(names) == 2 && field.isMap():
		return []fieldRef{{field, names[1]}}, true
	}
	return nil, false
}

// pipe reads a pipeline. Its functions are pure, so that nothing counts but
// the fields it begins with.
func (f *fieldUsage) pipe(pipe *parse.PipeNode, dotIsData bool) {
	for _, command := range pipe.Cmds {
		for _, arg := range command.Args {
			f.argument(arg, dotIsData)
		}
	}
}

func (f *fieldUsage) argument(node parse.Node, dotIsData bool) {
	switch n := node.(type) {
	case *parse.FieldNode:
		if dotIsData {
			f.use(n.Ident[0])
		}
	case *parse.VariableNode:
		if n.Ident[0] != "$" {
			if v := f.finder.variables[n.Ident[0]]; v != nil {
				v.isRead = true
			}
			return // it was set by a pipeline that has been read, or will be
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

func (f *fieldUsage) use(name string) {
	field, known := dataFields[name]
	if !known {
		f.known = false
		return
	}
	f.used[field] = true
}

// text returns a field that is a text, nil for one that is a map.
func (d *renderData) text(f dataField) *string {
	switch f {
	case fieldTargetName:
		return &d.DeploymentTargetName
	case fieldNamespace:
		return &d.Namespace
	case fieldEnvironment:
		return &d.Environment
	case fieldWorkspace:
		return &d.Workspace
	case fieldWorkload:
		return &d.Workload
	case fieldClusterType:
		return &d.ClusterType
	}
	return nil
}

// texts returns a field that is a map of texts.
func (d *renderData) texts(f dataField) map[string]string {
	if f == fieldLabels {
		return d.Labels
	}
	return d.Manifests
}

// lookUp returns a value that a template prints, and false when it is not
// there or no text.
func (d *renderData) lookUp(p fieldRef) (string, bool) {
	if text := d.text(p.field); text != nil {
		return *text, true
	}
	if p.field == fieldConfigData {
		value, ok := d.ConfigData[p.key].(string)
		return value, ok
	}
	return d.texts(p.field)[p.key], true
}

// mentions says whether any text of the data holds another.
func (d *renderData) mentions(text string) bool {
	for f := range fieldCount {
		if s := d.text(f); s != nil && strings.Contains(*s, text) {
			return true
		}
	}
	return mentions(d.Labels, text) || mentions(d.Manifests, text) || mentions(d.ConfigData, text)
}

func mentions(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, text)
	case map[string]string:
		for key, element := range v {
			if strings.Contains(key, text) || strings.Contains(element, text) {
				return true
			}
		}
	case map[string]any:
		for key, element := range v {
			if strings.Contains(key, text) || mentions(element, text) {
				return true
			}
		}
	case map[any]any:
		for key, element := range v {
			if mentions(key, text) || mentions(element, text) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(element any) bool { return mentions(element, text) })
	}
	return false
}

// with returns the data with other texts for some values.
func (d renderData) with(refs []fieldRef, texts []string) renderData {
	d.Labels, d.Manifests, d.ConfigData = maps.Clone(d.Labels), maps.Clone(d.Manifests), maps.Clone(d.ConfigData)
	for i, p := range refs {
		if text := d.text(p.field); text != nil {
			*text = texts[i]
		} else if p.field == fieldConfigData {
			d.ConfigData[p.key] = texts[i]
		} else {
			d.texts(p.field)[p.key] = texts[i]
		}
	}
	return d
}
