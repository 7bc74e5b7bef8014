package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"text/template"
	"text/template/parse"
)

// What is derived of a namespace is evaluated for every assignment. text/template
// takes microseconds for each function, since it calls them by reflection. So
// pipelines of the usual functions, of texts and numbers alone, are also compiled
// into direct calls, which give the same.

// directCall evaluates a part of a pipeline. One of its functions is there, by the type
// of the value.
type directCall struct {
	text   func(r *directRun) string
	number func(r *directRun) int
	is     func(r *directRun) bool
}

// directRun is one evaluation.
type directRun struct {
	data  *renderData
	spent int // of the budget of steps
	err   error
}

// errIndirect says that a pipeline must be evaluated by text/template.
var errIndirect = errors.New("no direct calls")

// compileDirect returns the pipeline of a template that is nothing else, in direct
// calls, and false where that is not possible.
func compileDirect(t *template.Template) (directCall, bool) {
	if t.Tree == nil || t.Root == nil || len(t.Root.Nodes) != 1 {
		return directCall{}, false
	}
	var pipe *parse.PipeNode
	switch n := t.Root.Nodes[0].(type) {
	case *parse.ActionNode:
		pipe = n.Pipe
	case *parse.IfNode:
		pipe = n.Pipe
	default:
		return directCall{}, false
	}
	call, err := directPipe(pipe)
	return call, err == nil
}

func directPipe(pipe *parse.PipeNode) (directCall, error) {
	var value directCall
	for i, command := range pipe.Cmds {
		name, calls := command.Args[0].(*parse.IdentifierNode)
		if !calls {
			if i > 0 || len(command.Args) > 1 {
				return directCall{}, errIndirect
			}
			var err error
			if value, err = directArg(command.Args[0]); err != nil {
				return directCall{}, err
			}
			continue
		}
		var args []directCall
		for _, arg := range command.Args[1:] {
			given, err := directArg(arg)
			if err != nil {
				return directCall{}, err
			}
			args = append(args, given)
		}
		if i > 0 {
			args = append(args, value)
		}
		var err error
		if value, err = directFunction(name.Ident, args); err != nil {
			return directCall{}, err
		}
	}
	return value, nil
}

func directArg(node parse.Node) (directCall, error) {
	switch n := node.(type) {
	case *parse.PipeNode:
		return directPipe(n)
	case *parse.StringNode:
		return directCall{text: func(*directRun) string { return n.Text }}, nil
	case *parse.NumberNode:
		number, err := strconv.Atoi(n.Text)
		if err != nil || strconv.Itoa(number) != n.Text {
			return directCall{}, errIndirect
		}
		return directCall{number: func(*directRun) int { return number }}, nil
	case *parse.FieldNode:
		return directField(n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return directField(n.Ident[1:])
		}
	}
	return directCall{}, errIndirect
}

func directField(names []string) (directCall, error) {
	if len(names) != 1 {
		return directCall{}, errIndirect
	}
	field, known := dataFields[names[0]]
	if !known || field.isMap() {
		return directCall{}, errIndirect
	}
	return directCall{text: func(r *directRun) string { return *r.data.text(field) }}, nil
}

// directFunction returns a call of a function, which pays as [chargePipe] makes it pay.
func directFunction(name string, args []directCall) (directCall, error) {
	if len(args) >= freeArgs || weights[name] > 0 {
		return directCall{}, errIndirect
	}
	call, ok := directLen(name, args)
	if !ok {
		call, ok = directTexts(functions[name], args)
	}
	if !ok {
		call, ok = directAny(functions[name], args)
	}
	if !ok {
		return directCall{}, errIndirect
	}
	if call.text != nil && !slices.Contains(free, name) {
		of := call.text
		call.text = func(r *directRun) string {
			s := of(r)
			if nodeSize+len(s) > maxOutput {
				r.err = errTooLong
			}
			r.spent += nodeSize + len(s)
			return s
		}
	}
	if call.is != nil && !slices.Contains(free, name) {
		of := call.is
		call.is = func(r *directRun) bool { r.spent += nodeSize; return of(r) }
	}
	return call, nil
}

func directLen(name string, args []directCall) (directCall, bool) {
	if name != "len" || len(args) != 1 || args[0].text == nil {
		return directCall{}, false
	}
	return directCall{number: func(r *directRun) int { return len(args[0].text(r)) }}, true
}

// areTexts says whether the arguments from the first one on are so many texts.
func areTexts(args []directCall, first, n int) bool {
	return len(args) == first+n && !slices.ContainsFunc(args[first:], func(a directCall) bool { return a.text == nil })
}

// directTexts calls functions of texts and numbers.
func directTexts(function any, args []directCall) (directCall, bool) {
	numbers := 0
	for numbers < len(args) && args[numbers].number != nil {
		numbers++
	}
	text := func(call func(r *directRun) string) (directCall, bool) { return directCall{text: call}, true }
	switch f := function.(type) {
	case func(string) string:
		if areTexts(args, 0, 1) {
			return text(func(r *directRun) string { return f(args[0].text(r)) })
		}
	case func(string, string) string:
		if areTexts(args, 0, 2) {
			return text(func(r *directRun) string { return f(args[0].text(r), args[1].text(r)) })
		}
	case func(string, string, string) string:
		if areTexts(args, 0, 3) {
			return text(func(r *directRun) string { return f(args[0].text(r), args[1].text(r), args[2].text(r)) })
		}
	case func(string, string, string) (string, error):
		if areTexts(args, 0, 3) {
			return text(func(r *directRun) string { return r.or(f(args[0].text(r), args[1].text(r), args[2].text(r))) })
		}
	case func(int, string) string:
		if numbers == 1 && areTexts(args, 1, 1) {
			return text(func(r *directRun) string { return f(args[0].number(r), args[1].text(r)) })
		}
	case func(int, string) (string, error):
		if numbers == 1 && areTexts(args, 1, 1) {
			return text(func(r *directRun) string { return r.or(f(args[0].number(r), args[1].text(r))) })
		}
	case func(int, int, string) string:
		if numbers == 2 && areTexts(args, 2, 1) {
			return text(func(r *directRun) string { return f(args[0].number(r), args[1].number(r), args[2].text(r)) })
		}
	case func(string, string) bool:
		if areTexts(args, 0, 2) {
			return directCall{is: func(r *directRun) bool { return f(args[0].text(r), args[1].text(r)) }}, true
		}
	}
	return directCall{}, false
}

// directAny calls functions of values of any type.
func directAny(function any, args []directCall) (directCall, bool) {
	values := func(r *directRun, of []directCall) []any {
		all := make([]any, len(of))
		for i, a := range of {
			all[i] = a.value(r)
		}
		return all
	}
	switch f := function.(type) {
	case func(string, ...any) (string, error):
		if len(args) > 0 && args[0].text != nil {
			return directCall{text: func(r *directRun) string { return r.or(f(args[0].text(r), values(r, args[1:])...)) }}, true
		}
	case func(...any) string:
		return directCall{text: func(r *directRun) string { return f(values(r, args)...) }}, true
	case func(any) (string, error):
		if len(args) == 1 {
			return directCall{text: func(r *directRun) string { return r.or(f(args[0].value(r))) }}, true
		}
	case func(any) string:
		if len(args) == 1 {
			return directCall{text: func(r *directRun) string { return f(args[0].value(r)) }}, true
		}
	}
	return directCall{}, false
}

// or keeps an error.
func (r *directRun) or(text string, err error) string {
	if err != nil {
		r.err = err
	}
	return text
}

func (c directCall) value(r *directRun) any {
	switch {
	case c.text != nil:
		return c.text(r)
	case c.number != nil:
		return c.number(r)
	}
	return c.is(r)
}

// evaluate returns what text/template gives for the pipeline with such a role.
func (c directCall) evaluate(as role, data *renderData) (value derivedValue) {
	r := &directRun{data: data}
	defer func() {
		if recover() != nil { // text/template makes an error of it
			value = derivedValue{}
		}
	}()
	var result any
	if c.text != nil {
		value.text = c.text(r)
		result = value.text
	} else {
		result = c.value(r)
		value.text = fmt.Sprint(result)
	}
	switch as {
	case keeps:
		value.text = ""
	case decides:
		isTrue, _ := template.IsTrue(result)
		value.text = ""
		if isTrue {
			value.text = "1"
		}
	}
	value.spent = r.spent
	value.ok = r.err == nil && r.spent <= maxSteps && len(value.text) <= maxDerivedValue
	return value
}
