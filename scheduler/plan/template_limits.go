package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// The largest template that is parsed. text/template follows what is nested by
// recursion, whose overflow nothing can catch, and looks for variables and parts
// one by one, so that time grows with the square. The limits are far beyond
// real templates, and hold for results with actions of configuration values, too.
const (
	maxTemplateBytes = maxOutput
	maxWords         = 20000 // in all actions together
	maxNesting       = 200   // of blocks, of each else if in one, and of parentheses
	maxPipe          = 200   // commands in one action
)

// checkSize says whether a text is small enough to be parsed as a template. It
// reads actions as text/template does, and at least as many: what is no template
// is left to the parser.
func checkSize(text string) error {
	if len(text) > maxTemplateBytes {
		return &renderError{message: fmt.Sprintf("the template is longer than %d bytes", maxTemplateBytes), hint: "divide it into several manifests"}
	}
	s := sizes{chains: make([]int, 0, 8)}
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			return nil
		}
		at += open + len("{{")
		end, message := s.action(text[at:])
		if message != "" {
			return &renderError{line: indexLines(text).at(at), message: message, hint: "divide it into several manifests, or make it simpler"}
		}
		at += end
	}
}

// sizes are those of a template as far as it has been read.
type sizes struct {
	words  int
	depth  int
	chains []int // for each block that is open: how many else ifs are in it
}

// action reads an action from behind its opening braces, and returns where it
// ends and what is too much in it.
func (s *sizes) action(text string) (end int, message string) {
	body := strings.TrimLeft(strings.TrimPrefix(text, "-"), " \t\r\n")
	if strings.HasPrefix(body, "/*") {
		_, rest, _ := strings.Cut(body, "*/")
		return len(text) - len(rest), ""
	}
	parentheses, commands, words := 0, 1, 0
	var first, second string
	for i := len(text) - len(body); i < len(text); {
		rest := text[i:]
		n := 1
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "}}"):
			return i, s.block(first, second)
		case c == '"' || c == '\'' || c == '`':
			n = skipQuoted(rest)
			words++
			s.words++
		case isWord(c):
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			if words++; words == 1 {
				first = rest[:n]
			} else if words == 2 {
				second = rest[:n]
			}
			s.words++
		case c == '.' && (len(rest) == 1 || !isWord(rest[1])):
			words++
			s.words++
		case c == '(':
			parentheses++
			s.words++
		case c == ')':
			parentheses--
		case c == '|':
			commands++
		}
		i += n
		switch {
		case s.words > maxWords:
			return i, fmt.Sprintf("a template of more than %d words in actions is too much", maxWords)
		case parentheses > maxNesting:
			return i, fmt.Sprintf("more than %d nested parentheses are too much", maxNesting)
		case commands > maxPipe:
			return i, fmt.Sprintf("a pipe of more than %d commands is too much", maxPipe)
		}
	}
	return len(text), ""
}

// block follows the blocks that actions open and close, by their first words.
func (s *sizes) block(first, second string) string {
	last := len(s.chains) - 1
	switch first {
	case "if", "range", "with", "block", "define":
		s.chains = append(s.chains, 0)
		s.depth++
	case "else":
		if last >= 0 && (second == "if" || second == "with") {
			s.chains[last]++
			s.depth++
		}
	case "end":
		if last >= 0 {
			s.depth -= 1 + s.chains[last]
			s.chains = s.chains[:last]
		}
	}
	if s.depth > maxNesting {
		return fmt.Sprintf("more than %d nested blocks are too much", maxNesting)
	}
	return ""
}

// skipQuoted returns how long the string or character at the beginning of a text is.
func skipQuoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && text[0] != '`':
			i++
		case c == text[0]:
			return i + 1
		}
	}
	return len(text)
}

// isWord says whether a byte belongs to a name, a field or a number. Those of a
// chain of fields are one word each.
func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// A short template can make more than a machine can hold: a loop that doubles a
// text, a map that is put into itself, loops in loops. So each rendering has a
// budget, and the rewritten template calls stepName to pay for every run through a
// loop and for all that its functions make. What a single call could make too much
// of, its function refuses, see functions.go.
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
	size := sizeOfValue(reflect.ValueOf(value), maxOutput)
	if size > maxOutput {
		return nil, errTooLong
	}
	if weight < 1 || *b < 0 || size > int(*b)/weight {
		*b = -1
		return nil, errTooManySteps
	}
	*b -= budget(weight * size)
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

// chargeList makes all that is called in a list of nodes pay for itself.
func chargeList(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			chargePipe(n.Pipe)
		case *parse.TemplateNode:
			chargePipe(n.Pipe)
		}
		branch := branchOf(node)
		if branch == nil {
			continue
		}
		chargePipe(branch.Pipe)
		chargeList(branch.List)
		chargeList(branch.ElseList)
		if branch.NodeType == parse.NodeRange {
			chargeRun(branch.List)
		}
	}
}

// chargeRun makes every run through a list of nodes pay. It prints nothing.
func chargeRun(list *parse.ListNode) {
	nothing := &parse.StringNode{NodeType: parse.NodeString, Pos: list.Pos, Quoted: `""`}
	pipe := newPipe(newCommand(list.Pos, stepName, numberNode(list.Pos, stepSize/nodeSize), nothing))
	action := &parse.ActionNode{NodeType: parse.NodeAction, Pos: list.Pos, Pipe: pipe}
	list.Nodes = slices.Insert(list.Nodes, 0, parse.Node(action))
}

// chargePipe puts a payment behind each call of a function, and before those
// that are dear.
func chargePipe(pipe *parse.PipeNode) {
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
				chargePipe(inner)
			}
		}
		function, ok := command.Args[0].(*parse.IdentifierNode)
		if !ok || slices.Contains(free, function.Ident) {
			commands = append(commands, command)
			continue
		}
		pos, weight := command.Pos, weights[function.Ident]
		if weight == 0 && len(command.Args) > freeArgs {
			weight = 1
		}
		if weight > 0 {
			for j, arg := range command.Args[1:] {
				// A number stays bare, for its type is that of the parameter.
				if arg.Type() != parse.NodeNumber {
					command.Args[j+1] = newPipe(newCommand(pos, stepName, numberNode(pos, weight), arg))
				}
			}
			if strings.Contains(function.Ident, "egex") && len(command.Args) > 1 {
				command.Args[1] = newPipe(newCommand(pos, patternName, command.Args[1]))
			}
			if i > 0 {
				commands = append(commands, newCommand(pos, stepName, numberNode(pos, weight)))
			}
		}
		commands = append(commands, command, newCommand(pos, stepName, numberNode(pos, max(1, weight))))
	}
	pipe.Cmds = commands
}

// sizeOfValue measures a value in bytes. It stops beyond the limit, and so with a
// value that holds itself.
func sizeOfValue(v reflect.Value, limit int) int {
	size := nodeSize
	if !v.IsValid() || limit < size {
		return size
	}
	switch v.Kind() {
	case reflect.String:
		size += v.Len()
	case reflect.Interface:
		size += sizeOfValue(v.Elem(), limit-size)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && size <= limit; i++ {
			size += sizeOfValue(v.Index(i), limit-size)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next() && size <= limit; {
			size += sizeOfValue(entries.Key(), limit-size) + sizeOfValue(entries.Value(), limit-size)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			size += sizeOfValue(v.Field(i), limit-size)
		}
	}
	return size
}
