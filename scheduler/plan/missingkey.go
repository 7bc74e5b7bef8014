package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// For a key that a map does not have text/template prints "<no value>", or fails
// even where a template only asks whether the key is there. So the parsed template
// is rewritten: a guard around every value that is used fails on a missing one, and
// there is none where a template may ask (in conditions, and for functions such as
// default).

// guardName is the function that a rewritten template calls for a value that it
// uses, and quotedName for one that it quotes.
const (
	guardName  = "kalypsoGuard"
	quotedName = "kalypsoQuoted"
)

// asking are the functions that may be given a missing value.
var asking = append([]string{
	"not", "eq", "ne", "empty", "all", "any",
	"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike",
}, passing...)

// passing are those of them that return one of their arguments.
var passing = []string{"and", "or", "default", "coalesce", "ternary"}

// emptying are functions that make something empty of a missing value, so that a
// with around them asks whether it is there.
var emptying = []string{"index", "get", "quote", "squote"}

// demand is what a template needs of a value.
type demand int

const (
	asked  demand = iota // whether it is there, or what it is
	passed               // nothing yet: it goes to a variable or the dot, and is guarded when used from there
	used                 // it must be there
	quoted               // likewise, by a function that makes nothing of nothing, not even quotes
)

type missingError struct {
	line int
	key  string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("%s has no value", e.key)
}

// guard returns a value, or an error where it is missing. Labels and manifests may
// have any key, so a missing one is empty. Parent is the map that has no such key,
// where that is known.
func guard(line, key string, value any, parent ...any) (any, error) {
	switch {
	case value != nil:
		return value, nil
	case isOpen(parent):
		return "", nil
	}
	n, _ := strconv.Atoi(line)
	return nil, &missingError{line: n, key: key}
}

func guardQuoted(line, key string, value any, parent ...any) (any, error) {
	if value == nil && isOpen(parent) {
		return nil, nil
	}
	return guard(line, key, value, parent...)
}

func isOpen(parent []any) bool {
	if len(parent) == 0 {
		return false
	}
	_, open := parent[0].(map[string]string)
	return open
}

type missingKeyRewriter struct {
	lines lineIndex
}

// rewriteMissingKeys puts guards into all parts of a template, and payments for
// what they do.
func rewriteMissingKeys(t *template.Template, text string) {
	rewriter := &missingKeyRewriter{lines: indexLines(text)}
	for _, root := range roots(t) {
		rewriter.list(root)
		chargeList(root)
		chargeRun(root)
	}
}

// roots returns the nodes of a template and of all templates that it defines, by name.
func roots(t *template.Template) map[string]*parse.ListNode {
	all := map[string]*parse.ListNode{}
	for _, part := range t.Templates() {
		if part.Tree != nil && part.Root != nil {
			all[part.Name()] = part.Root
		}
	}
	return all
}

// branchOf returns what if, with and range have in common, nil for other nodes.
func branchOf(node parse.Node) *parse.BranchNode {
	switch n := node.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	}
	return nil
}

func newCommand(pos parse.Pos, function string, args ...parse.Node) *parse.CommandNode {
	name := parse.NewIdentifier(function).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{name}, args...)}
}

func newPipe(command *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: command.Pos, Cmds: []*parse.CommandNode{command}}
}

func numberNode(pos parse.Pos, n int) parse.Node {
	return &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(n), Text: strconv.Itoa(n)}
}

func (t *missingKeyRewriter) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			// One that only sets a variable prints nothing.
			if len(n.Pipe.Decl) > 0 {
				t.pipe(n.Pipe, passed)
			} else {
				t.pipe(n.Pipe, used)
			}
		case *parse.TemplateNode:
			if n.Pipe != nil {
				t.pipe(n.Pipe, passed)
			}
		case *parse.IfNode:
			// A condition's value goes nowhere, unless a variable keeps it.
			if len(n.Pipe.Decl) > 0 {
				t.pipe(n.Pipe, passed)
			}
		case *parse.WithNode:
			if !asksEmpty(n.Pipe) {
				t.pipe(n.Pipe, passed)
			}
		case *parse.RangeNode:
			t.pipe(n.Pipe, passed)
		}
		if branch := branchOf(node); branch != nil {
			t.list(branch.List)
			t.list(branch.ElseList)
		}
	}
}

// pipe guards the values of a pipeline: those that its commands are given, and
// its own when that is used.
func (t *missingKeyRewriter) pipe(pipe *parse.PipeNode, own demand) {
	var commands []*parse.CommandNode
	text := ""
	for i, command := range pipe.Cmds {
		want := own
		if i+1 < len(pipe.Cmds) {
			want = demandOf(pipe.Cmds[i+1])
		}
		if len(text) < maxShown {
			text = strings.TrimPrefix(text+" | "+command.String(), " | ")
		}
		t.command(command, want)
		commands = append(commands, command)
		if want >= used && canMiss(command) {
			commands = append(commands, t.guardCommand(want, command.Pos, text))
		}
	}
	pipe.Cmds = commands
}

func (t *missingKeyRewriter) command(command *parse.CommandNode, want demand) {
	if len(command.Args) == 1 {
		command.Args[0] = t.argument(command.Args[0], want)
		return
	}
	given := demandOf(command)
	if name, ok := command.Args[0].(*parse.IdentifierNode); ok && want != asked {
		if strict := strictNames[name.Ident]; strict != "" {
			command.Args[0] = parse.NewIdentifier(strict).SetPos(name.Pos)
		}
	}
	for i, arg := range command.Args {
		command.Args[i] = t.argument(arg, given)
	}
}

// demandOf says what a command does with the values that it is given.
func demandOf(command *parse.CommandNode) demand {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	switch {
	case ok && slices.Contains(passing, name.Ident):
		return passed
	case ok && slices.Contains(asking, name.Ident):
		return asked
	case ok && (name.Ident == "quote" || name.Ident == "squote"):
		return quoted
	}
	return used
}

// asksEmpty says whether a pipeline is nothing but fields and emptying functions.
func asksEmpty(pipe *parse.PipeNode) bool {
	for _, command := range pipe.Cmds {
		for _, arg := range command.Args {
			switch n := arg.(type) {
			case *parse.PipeNode, *parse.ChainNode:
				return false
			case *parse.IdentifierNode:
				if !slices.Contains(emptying, n.Ident) {
					return false
				}
			}
		}
	}
	return len(pipe.Decl) == 0
}

// canMiss says whether a command calls a function that can return a missing
// value. Fields and variables can be missing too, and get their guards as
// arguments.
func canMiss(command *parse.CommandNode) bool {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	return ok && anyResult[name.Ident]
}

// argument returns the node with a guard around it where it can be missing.
func (t *missingKeyRewriter) argument(node parse.Node, want demand) parse.Node {
	text := node.String()
	switch n := node.(type) {
	case *parse.PipeNode:
		t.pipe(n, want)
		return n
	case *parse.ChainNode:
		if inner, ok := n.Node.(*parse.PipeNode); ok {
			t.pipe(inner, passed)
		}
	case *parse.FieldNode, *parse.VariableNode, *parse.DotNode:
	default:
		return node
	}
	if want < used {
		return node
	}
	command := t.guardCommand(want, node.Position(), text)
	command.Args = append(command.Args, node)
	if parent := parentOf(node); parent != nil {
		command.Args = append(command.Args, parent)
	}
	return newPipe(command)
}

// parentOf returns what a field or variable is a field of, or nil.
func parentOf(node parse.Node) parse.Node {
	switch n := node.(type) {
	case *parse.FieldNode:
		parent, last := *n, len(n.Ident)-1
		if last == 0 {
			return &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}
		}
		parent.Ident = n.Ident[:last]
		return &parent
	case *parse.VariableNode:
		parent, last := *n, len(n.Ident)-1
		if last > 0 {
			parent.Ident = n.Ident[:last]
			return &parent
		}
	}
	return nil
}

// guardCommand is a call of the guard without its last argument.
func (t *missingKeyRewriter) guardCommand(want demand, pos parse.Pos, key string) *parse.CommandNode {
	name := guardName
	if want == quoted {
		name = quotedName
	}
	str := func(s string) parse.Node {
		return &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(s), Text: s}
	}
	return newCommand(pos, name, str(strconv.Itoa(t.lines.at(int(pos)))), str(shorten(key)))
}

// maxShown is how much of a template an error shows.
const maxShown = 200

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// lineIndex is where the lines of a text end.
type lineIndex []int

func indexLines(text string) lineIndex {
	var ends lineIndex
	for i := range len(text) {
		if text[i] == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

// at returns the line, from 1, of an offset.
func (l lineIndex) at(offset int) int {
	n, _ := slices.BinarySearch(l, offset)
	return n + 1
}

// The functions index and get return the zero value for a key that a map does not
// have. Where their result is used a rewritten template calls these instead, which
// return nil for such a key of the configuration.
const (
	strictIndex = "kalypsoIndex"
	strictGet   = "kalypsoGet"
)

var strictNames = map[string]string{"index": strictIndex, "get": strictGet}

// plainNames takes the names that rewriting has put there out of an error.
var plainNames = strings.NewReplacer(strictIndex, "index", strictGet, "get")

// anyResult are the functions that can return nil.
var anyResult = func() map[string]bool {
	m := map[string]bool{"index": true, "and": true, "or": true, "call": true}
	for name, function := range functions {
		if reflect.TypeOf(function).Out(0).Kind() == reflect.Interface {
			m[name] = true
		}
	}
	return m
}()

func get(dict map[string]any, key string) any {
	return dict[key]
}

// index returns what the keys lead to, one after the other, and nil as soon as
// one of them is not there.
func index(item any, keys ...any) (any, error) {
	if item == nil {
		return nil, errors.New("index of nothing")
	}
	for _, key := range keys {
		v, k := reflect.ValueOf(item), reflect.ValueOf(key)
		element := reflect.Value{}
		switch v.Kind() {
		case reflect.Map:
			if k.Kind() != reflect.String {
				return nil, fmt.Errorf("a map is indexed by a text, not by %T", key)
			}
			element = v.MapIndex(k.Convert(v.Type().Key()))
			if !element.IsValid() && v.Type().Elem().Kind() == reflect.String {
				return "", nil // of labels and manifests, which are open to any key
			}
			if !element.IsValid() {
				return nil, nil
			}
		case reflect.Slice, reflect.Array, reflect.String:
			if !k.CanInt() && !k.CanUint() {
				return nil, fmt.Errorf("a list is indexed by a number, not by %T", key)
			}
			n := k.Convert(reflect.TypeFor[int]()).Interface().(int)
			if n < 0 || n >= v.Len() {
				return nil, fmt.Errorf("index out of range: %v", key)
			}
			element = v.Index(n)
		case reflect.Invalid:
			return nil, nil
		default:
			return nil, fmt.Errorf("%T cannot be indexed", item)
		}
		item = element.Interface()
	}
	return item, nil
}
