package plan

import (
	"slices"
	"strings"
	"text/template/parse"
)

// Many templates do more with a value than to print it: they shorten it, hash it, or
// decide by it. Such a pipeline is a pure function of a few values, so it is
// evaluated by itself for each assignment, and what it gives is filled into a
// prerendered text like any other value.

// role says what a template does with the value of a pipeline.
type role uint8

const (
	prints  role = iota // it goes into the result
	decides             // an if asks whether it is true
	keeps               // a variable has it; here it only must not fail
)

// derivation is a pipeline of a template whose value follows from single values of
// the data.
type derivation struct {
	role     role
	manifest int       // it is in
	pos      parse.Pos // of its node there
	text     string    // a template that evaluates it alone
	quotes   string    // that the template puts around the value: one character, or none
	inputs   []fieldRef
	slot     int  // among all that is filled in; of one that prints
	isRead   bool // what cannot be derived reads the variable

	then, otherwise []*derivation // within the branches of one that decides
}

// Limits of what is derived.
const (
	maxDerivations = 300
	maxDerivedText = 500 // bytes of one as a template
)

// mutating are the functions that change what they are given. Where one is called
// a value depends on what was done before.
var mutating = append([]string{"unset"}, changing...)

// isUnique says whether a value that is another one for each assignment is among
// the inputs.
func (d *derivation) isUnique() bool {
	return slices.ContainsFunc(d.inputs, func(p fieldRef) bool { return p.field == fieldNamespace })
}

// derivationFinder finds the derivations of one manifest.
type derivationFinder struct {
	manifest  int
	none      bool // a function in it changes what it is given
	variables map[string]*variable
	count     int
}

// variable is one of a manifest.
type variable struct {
	declarations int
	value        string // in parentheses, "" when it cannot be derived
	inputs       []fieldRef

	declaration *derivation
	pipe        *parse.PipeNode // of its declaration
	dotIsData   bool            // there
	isRead      bool            // by what cannot be derived
}

func newDerivationFinder(manifest int, root *parse.ListNode) *derivationFinder {
	f := &derivationFinder{manifest: manifest, variables: map[string]*variable{}}
	f.look(root)
	return f
}

// look counts where variables are set, and looks for functions that change what they
// are given.
func (f *derivationFinder) look(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		if branch := branchOf(node); branch != nil {
			f.lookAt(branch.Pipe)
			f.lookAt(branch.Pipe) // what it declares has other values in each run
			f.look(branch.List)
			f.look(branch.ElseList)
		} else if action, ok := node.(*parse.ActionNode); ok {
			f.lookAt(action.Pipe)
		}
	}
}

func (f *derivationFinder) lookAt(pipe *parse.PipeNode) {
	for _, v := range pipe.Decl {
		name := v.Ident[0]
		if f.variables[name] == nil {
			f.variables[name] = &variable{}
		}
		f.variables[name].declarations++
	}
	for _, command := range pipe.Cmds {
		for _, arg := range command.Args {
			if chain, ok := arg.(*parse.ChainNode); ok {
				arg = chain.Node
			}
			switch n := arg.(type) {
			case *parse.IdentifierNode:
				f.none = f.none || slices.Contains(mutating, n.Ident)
			case *parse.PipeNode:
				f.lookAt(n)
			}
		}
	}
}

// find returns the derivation of a pipeline, nil where there is none.
func (f *derivationFinder) find(as role, pos parse.Pos, pipe *parse.PipeNode, dotIsData bool) *derivation {
	if f.none || f.count >= maxDerivations || len(pipe.Decl) > 0 && (as != keeps || !f.isSettled(pipe)) {
		return nil
	}
	d := &derivation{role: as, manifest: f.manifest, pos: pos}
	bare := pipe
	if as == prints {
		bare, d.quotes = withoutQuotes(pipe)
	}
	text, ok := f.pipe(bare, dotIsData, d)
	isSingle := func(p fieldRef) bool { return p.key != "" || !p.field.isMap() }
	if !ok || len(text) > maxDerivedText || !slices.ContainsFunc(d.inputs, isSingle) {
		return nil
	}
	d.text = text
	switch as {
	case decides:
		d.text = "if " + text + "}}1{{end"
	case keeps:
		name := pipe.Decl[0].Ident[0]
		d.text = name + " := " + text
		v := f.variables[name]
		v.value, v.inputs, v.declaration, v.pipe, v.dotIsData = "("+text+")", d.inputs, d, pipe, dotIsData
	}
	d.text = "{{" + d.text + "}}"
	f.count++
	return d
}

// isSettled says whether a pipeline sets a variable that nothing else sets, to a
// value that is not missing.
func (f *derivationFinder) isSettled(pipe *parse.PipeNode) bool {
	if pipe.IsAssign || len(pipe.Decl) != 1 || f.variables[pipe.Decl[0].Ident[0]].declarations != 1 {
		return false
	}
	last := pipe.Cmds[len(pipe.Cmds)-1]
	_, calls := last.Args[0].(*parse.IdentifierNode)
	return calls && !canMiss(last)
}

// withoutQuotes takes the function that puts the value of a pipeline in quotes off
// it.
func withoutQuotes(pipe *parse.PipeNode) (*parse.PipeNode, string) {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	name, ok := last.Args[0].(*parse.IdentifierNode)
	if !ok || !quotes(name.Ident) {
		return pipe, ""
	}
	mark := `"`
	if name.Ident == "squote" {
		mark = "'"
	}
	if len(pipe.Cmds) == 1 {
		if len(last.Args) == 2 {
			if inner, ok := last.Args[1].(*parse.PipeNode); ok && len(inner.Decl) == 0 {
				return inner, mark
			}
		}
		return pipe, ""
	}
	if len(last.Args) > 1 {
		return pipe, ""
	}
	bare := *pipe
	bare.Cmds = pipe.Cmds[:len(pipe.Cmds)-1]
	return &bare, mark
}

// pipe writes a pipeline with the values of variables in their places, and adds to
// the inputs. It returns false for one that depends on anything else.
func (f *derivationFinder) pipe(pipe *parse.PipeNode, dotIsData bool, d *derivation) (string, bool) {
	var commands []string
	for _, command := range pipe.Cmds {
		var args []string
		for _, arg := range command.Args {
			text, ok := f.argument(arg, dotIsData, d)
			if !ok {
				return "", false
			}
			args = append(args, text)
		}
		commands = append(commands, strings.Join(args, " "))
	}
	return strings.Join(commands, " | "), true
}

func (f *derivationFinder) argument(node parse.Node, dotIsData bool, d *derivation) (string, bool) {
	switch n := node.(type) {
	case *parse.IdentifierNode, *parse.BoolNode, *parse.NumberNode, *parse.StringNode, *parse.NilNode:
		return n.String(), true
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			return "", false
		}
		text, ok := f.pipe(n, dotIsData, d)
		return "(" + text + ")", ok
	case *parse.FieldNode:
		return n.String(), dotIsData && d.input(n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return n.String(), d.input(n.Ident[1:])
		}
		v := f.variables[n.Ident[0]]
		if v == nil || v.value == "" || len(n.Ident) > 1 {
			return "", false
		}
		for _, p := range v.inputs {
			d.add(p)
		}
		return v.value, true
	}
	return "", false
}

// input adds a field of the data, as a single value where it is one.
func (d *derivation) input(names []string) bool {
	if len(names) == 0 {
		return false
	}
	field, known := dataFields[names[0]]
	if !known || !field.isMap() && len(names) > 1 {
		return false
	}
	p := fieldRef{field: field}
	if len(names) > 1 {
		p.key = names[1]
	}
	d.add(p)
	return true
}

func (d *derivation) add(p fieldRef) {
	if !slices.Contains(d.inputs, p) {
		d.inputs = append(d.inputs, p)
	}
}
