package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// text/template knows two ways with a key that a map does not have: print
// "<no value>", or fail even where a template only asks whether the key is
// there. Neither will do for manifests. So the parsed template is rewritten:
// every place that uses a value gets a guard that fails on a missing one, and
// the places that may ask (conditions, and functions such as default) do not.

// guardName is the function that a rewritten template calls for a value that it
// uses.
const guardName = "kalypsoGuard"

// asking are the functions that may be given a missing value.
var asking = []string{
	"and", "or", "not", "eq", "ne",
	"default", "empty", "coalesce", "ternary", "all", "any",
	"kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike",
}

// missingError reports a value that is not there.
type missingError struct {
	line int
	key  string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("%s has no value", e.key)
}

// guard returns a value that is there.
func guard(line, key string, value any) (any, error) {
	if value == nil {
		n, _ := strconv.Atoi(line)
		return nil, &missingError{line: n, key: key}
	}
	return value, nil
}

// tightener rewrites one template.
type tightener struct {
	text string // of the template, for line numbers
}

// tighten puts guards and meters into all parts of a template.
func tighten(t *template.Template, text string) {
	for _, part := range t.Templates() {
		if part.Tree != nil && part.Root != nil {
			tightener := &tightener{text: text}
			tightener.list(part.Root)
			meterList(part.Root)
			meterRun(part.Root)
		}
	}
}

func (t *tightener) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			t.action(n)
		case *parse.IfNode:
			t.list(n.List)
			t.list(n.ElseList)
		case *parse.WithNode:
			t.list(n.List)
			t.list(n.ElseList)
		case *parse.RangeNode:
			t.list(n.List)
			t.list(n.ElseList)
		}
	}
}

// action guards what an action prints. One that only sets a variable prints
// nothing; the variable is guarded where it is used.
func (t *tightener) action(n *parse.ActionNode) {
	if len(n.Pipe.Decl) > 0 {
		return
	}
	text := n.Pipe.String()
	t.pipe(n.Pipe)
	n.Pipe.Cmds = append(n.Pipe.Cmds, t.guardCommand(n.Pos, text))
}

func (t *tightener) pipe(pipe *parse.PipeNode) {
	for i, command := range pipe.Cmds {
		if asks(command) {
			for _, arg := range command.Args {
				if inner, ok := arg.(*parse.PipeNode); ok && !isOperand(inner) {
					t.pipe(inner)
				}
			}
			continue
		}
		if len(command.Args) == 1 && i+1 < len(pipe.Cmds) && asks(pipe.Cmds[i+1]) {
			continue
		}
		for j, arg := range command.Args {
			command.Args[j] = t.argument(arg)
		}
	}
}

// asks says whether a command calls a function that may be given a missing
// value.
func asks(command *parse.CommandNode) bool {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	return ok && slices.Contains(asking, name.Ident)
}

// isOperand says whether parentheses hold a value and no call.
func isOperand(pipe *parse.PipeNode) bool {
	return len(pipe.Cmds) == 1 && len(pipe.Cmds[0].Args) == 1
}

// argument returns the node with a guard around it where it can be missing.
func (t *tightener) argument(node parse.Node) parse.Node {
	switch n := node.(type) {
	case *parse.PipeNode:
		t.pipe(n)
		return n
	case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode:
		command := t.guardCommand(n.Position(), n.String())
		command.Args = append(command.Args, n)
		return &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Position(), Cmds: []*parse.CommandNode{command}}
	}
	return node
}

// guardCommand is a call of the guard without its last argument.
func (t *tightener) guardCommand(pos parse.Pos, key string) *parse.CommandNode {
	str := func(s string) parse.Node {
		return &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(s), Text: s}
	}
	return &parse.CommandNode{
		NodeType: parse.NodeCommand,
		Pos:      pos,
		Args: []parse.Node{
			parse.NewIdentifier(guardName).SetPos(pos),
			str(strconv.Itoa(lineAt(t.text, int(pos)))),
			str(key),
		},
	}
}

// lineAt returns the line, from 1, of an offset in a text.
func lineAt(text string, offset int) int {
	return 1 + strings.Count(text[:min(max(offset, 0), len(text))], "\n")
}
