package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// A template needs few words to make more than a machine can hold: a loop that
// doubles a text, a map that is put into itself, a loop within a loop. So that
// no template takes the scheduler with it, each rendering has a budget, and the
// rewritten template pays from it for every run through a loop, for every
// template it calls and for all that its functions make. What one call alone
// could make out of proportion its function refuses: see bounds.go, printf.go and
// pattern.go.

// stepName is the function that a rewritten template pays with.
const stepName = "kalypsoStep"

const (
	maxRuns  = 20000              // runs through loops that a rendering can pay for
	stepSize = 4096               // what one of them costs
	maxSteps = maxRuns * stepSize // the whole budget, in bytes
	nodeSize = 16                 // what a value costs however short it is
	freeArgs = 8                  // arguments that a function is given unmeasured
)

var errTooManySteps = fmt.Errorf("the template takes more than %d steps", maxRuns)

// budget is what is left for a rendering, in bytes.
type budget int

// step pays for a value, weight times its size, and returns it. It fails when
// the value is longer than any result may be, and when the budget is used up.
func (b *budget) step(weight int, value any) (any, error) {
	g := gauge{limit: maxOutput}
	g.add(reflect.ValueOf(value))
	if g.size > maxOutput {
		return nil, errTooLong
	}
	if weight < 1 || *b < 0 || g.size > int(*b)/weight {
		*b = -1
		return nil, errTooManySteps
	}
	*b -= budget(weight * g.size)
	return value, nil
}

// weights are the functions whose work is out of proportion to what they make,
// and by how much. They pay for their arguments. Of those with "regex" in their
// names the first argument is an expression; see [pattern].
var weights = map[string]int{
	"derivePassword": 400000, // slow on purpose

	"regexMatch": 1000, "regexFind": 1000, "regexFindAll": 1000, "regexSplit": 1000,
	"regexReplaceAll": 1000, "regexReplaceAllLiteral": 1000,
	"mustRegexMatch": 1000, "mustRegexFind": 1000, "mustRegexFindAll": 1000, "mustRegexSplit": 1000,
	"mustRegexReplaceAll": 1000, "mustRegexReplaceAllLiteral": 1000,

	"uniq": 64, "mustUniq": 64, "without": 16, "mustWithout": 16,
}

// free are the functions that make nothing: they answer a question, return a
// number or what is there already.
var free = append([]string{
	guardName, stepName, textName, wordName,
	"index", "get", strictIndex, strictGet, "dig", "first", "mustFirst", "last", "mustLast",
	"len", "lt", "le", "gt", "ge", "has", "mustHas", "hasKey", "contains", "hasPrefix", "hasSuffix", "deepEqual",
	"int", "int64", "float64", "atoi", "add", "add1", "sub", "mul", "div", "mod", "max", "min",
}, asking...)

// meterList makes all that is called in a list of nodes pay for itself.
func meterList(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			meterPipe(n.Pipe)
		case *parse.TemplateNode:
			meterPipe(n.Pipe)
		case *parse.IfNode:
			meterBranch(&n.BranchNode)
		case *parse.WithNode:
			meterBranch(&n.BranchNode)
		case *parse.RangeNode:
			meterBranch(&n.BranchNode)
			meterRun(n.List)
		}
	}
}

func meterBranch(n *parse.BranchNode) {
	meterPipe(n.Pipe)
	meterList(n.List)
	meterList(n.ElseList)
}

// meterRun makes every run through a list of nodes pay. It prints nothing.
func meterRun(list *parse.ListNode) {
	nothing := &parse.StringNode{NodeType: parse.NodeString, Pos: list.Pos, Quoted: `""`}
	pipe := call(nothing, stepName, number(nothing, stepSize/nodeSize))
	action := &parse.ActionNode{NodeType: parse.NodeAction, Pos: list.Pos, Pipe: pipe}
	list.Nodes = slices.Insert(list.Nodes, 0, parse.Node(action))
}

// meterPipe puts a payment behind each call of a function, and before those
// that are dear.
func meterPipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	var commands []*parse.CommandNode
	for i, command := range pipe.Cmds {
		for _, arg := range command.Args {
			if chain, ok := arg.(*parse.ChainNode); ok {
				arg = chain.Node
			}
			if inner, ok := arg.(*parse.PipeNode); ok {
				meterPipe(inner)
			}
		}
		function, ok := command.Args[0].(*parse.IdentifierNode)
		if !ok || slices.Contains(free, function.Ident) {
			commands = append(commands, command)
			continue
		}
		weight := weights[function.Ident]
		if weight == 0 && len(command.Args) > freeArgs {
			weight = 1
		}
		if weight > 0 {
			for j, arg := range command.Args[1:] {
				// A number stays bare, for its type is that of the parameter.
				if arg.Type() != parse.NodeNumber {
					command.Args[j+1] = call(arg, stepName, number(arg, weight))
				}
			}
			if strings.Contains(function.Ident, "egex") && len(command.Args) > 1 {
				command.Args[1] = call(command.Args[1], patternName)
			}
			if i > 0 {
				commands = append(commands, pay(command.Pos, weight))
			}
		}
		commands = append(commands, command, pay(command.Pos, max(1, weight)))
	}
	pipe.Cmds = commands
}

// call puts a call of a function around a node, its last argument.
func call(node parse.Node, function string, args ...parse.Node) *parse.PipeNode {
	name := parse.NewIdentifier(function).SetPos(node.Position())
	command := &parse.CommandNode{
		NodeType: parse.NodeCommand,
		Pos:      node.Position(),
		Args:     append(append([]parse.Node{name}, args...), node),
	}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: node.Position(), Cmds: []*parse.CommandNode{command}}
}

// pay is a payment for what comes through the pipe.
func pay(pos parse.Pos, weight int) *parse.CommandNode {
	name := parse.NewIdentifier(stepName).SetPos(pos)
	return &parse.CommandNode{
		NodeType: parse.NodeCommand,
		Pos:      pos,
		Args:     []parse.Node{name, number(name, weight)},
	}
}

func number(at parse.Node, n int) parse.Node {
	return &parse.NumberNode{
		NodeType: parse.NodeNumber, Pos: at.Position(),
		IsInt: true, Int64: int64(n), Text: strconv.Itoa(n),
	}
}
