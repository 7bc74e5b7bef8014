package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// A result is read twice more after a template has made it: as a template, for
// the actions that configuration values hold, and as YAML. Neither may read as more
// than text what a workload provides. So the parsed template is rewritten: what an
// action prints that can depend on a workload's labels, manifests or names is kept
// aside, and a token goes into the result instead. The tokens are replaced at the
// end, once by what was printed and once by plain words, and both results must have
// the same structure (see structure.go).

// taintLevel says how far a workload decides a value.
type taintLevel uint8

const (
	unseen   taintLevel = iota // not analysed yet
	trusted                    // of templates, ConfigMaps, names of the environment and of cluster types
	rootData                   // all that templates get: the level depends on the field
	tainted                    // of a workload, at least in part or possibly
)

func joinTaint(a, b taintLevel) taintLevel {
	switch {
	case a == b, b == unseen:
		return a
	case a == unseen:
		return b
	}
	return tainted
}

// platformFields are the template's data that no workload decides.
var platformFields = []string{"Environment", "ClusterType", "ConfigData"}

// choosing are functions that return a part of their first argument, whichever
// the others choose.
var choosing = []string{"index", "get", strictIndex, strictGet}

// changing are the functions that put their arguments into a map that others
// see.
var changing = []string{"set", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}

// taintAnalysis finds the levels of the values in a template. Levels only grow from
// pass to pass, so the passes end.
type taintAnalysis struct {
	dots    map[string]taintLevel // of the parts of the template, by name
	vars    map[string]taintLevel // of all variables of a name in a part, by "part $name"
	part    string
	changed bool
	all     bool // nothing is certain
}

// maxPasses ends what would take one pass for each of many variables.
const maxPasses = 20

func analyzeTaint(t *template.Template) *taintAnalysis {
	a := &taintAnalysis{dots: map[string]taintLevel{t.Name(): rootData}, vars: map[string]taintLevel{}}
	for pass := 0; pass == 0 || a.changed; pass++ {
		a.changed = false
		if pass == maxPasses {
			a.all = true
			break
		}
		a.each(t, nil)
	}
	return a
}

// each goes over all parts and calls print for every action that prints.
func (a *taintAnalysis) each(t *template.Template, print func(n *parse.ActionNode, of, dot taintLevel)) {
	for name, root := range roots(t) {
		a.part = name
		a.list(root, a.dots[name], print)
	}
}

func (a *taintAnalysis) list(list *parse.ListNode, dot taintLevel, print func(n *parse.ActionNode, of, dot taintLevel)) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		if branch := branchOf(node); branch != nil {
			inside := a.pipe(branch.Pipe, dot)
			if branch.NodeType == parse.NodeIf {
				inside = dot
			}
			a.list(branch.List, inside, print)
			a.list(branch.ElseList, dot, print)
			continue
		}
		switch n := node.(type) {
		case *parse.ActionNode:
			of := a.pipe(n.Pipe, dot)
			if len(n.Pipe.Decl) == 0 && print != nil {
				print(n, of, dot)
			}
		case *parse.TemplateNode:
			of := trusted
			if n.Pipe != nil {
				of = a.pipe(n.Pipe, dot)
			}
			a.grow(a.dots, n.Name, of)
		}
	}
}

func (a *taintAnalysis) grow(all map[string]taintLevel, name string, of taintLevel) {
	if grown := joinTaint(all[name], of); grown != all[name] {
		all[name], a.changed = grown, true
	}
}

// pipe returns the level of a pipeline's value, and keeps it for the variables
// that it sets.
func (a *taintAnalysis) pipe(pipe *parse.PipeNode, dot taintLevel) taintLevel {
	of := unseen
	for i, command := range pipe.Cmds {
		of = a.command(command, dot, of, i > 0)
	}
	for _, variable := range pipe.Decl {
		a.grow(a.vars, a.part+" "+variable.Ident[0], of)
	}
	return of
}

// command returns the level of a command's value, given that of the value that
// comes through the pipe.
func (a *taintAnalysis) command(command *parse.CommandNode, dot, piped taintLevel, isPiped bool) taintLevel {
	function, calls := command.Args[0].(*parse.IdentifierNode)
	if !calls && len(command.Args) == 1 && !isPiped {
		return a.node(command.Args[0], dot)
	}
	of := piped
	for i, arg := range command.Args {
		if i == 0 && calls {
			continue
		}
		given := a.node(arg, dot)
		if i == 1 && calls && slices.Contains(choosing, function.Ident) && given == trusted {
			return trusted
		}
		of = joinTaint(of, given)
	}
	switch of {
	case unseen:
		of = trusted // a function without arguments
	case rootData:
		of = tainted
	}
	if calls && of == tainted && slices.Contains(changing, function.Ident) {
		a.all = true
	}
	return of
}

func (a *taintAnalysis) node(node parse.Node, dot taintLevel) taintLevel {
	switch n := node.(type) {
	case *parse.PipeNode:
		return a.pipe(n, dot)
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return field(dot, n.Ident)
	case *parse.ChainNode:
		return field(a.node(n.Node, dot), n.Field)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return field(a.dots[a.part], n.Ident[1:])
		}
		return field(a.vars[a.part+" "+n.Ident[0]], n.Ident[1:])
	}
	return trusted
}

// field returns the level of a field of a value.
func field(of taintLevel, names []string) taintLevel {
	if len(names) == 0 || of != rootData {
		return of
	}
	if slices.Contains(platformFields, names[0]) {
		return trusted
	}
	return tainted
}

// textName is the function that a rewritten template calls for what it prints,
// and wordName the one that replaces texts by words.
const (
	textName = "kalypsoText"
	wordName = "kalypsoWord"
)

// setAside rewrites all actions of a template that print something tainted. The
// template's text has meaningful lines when it is as written, and not a result.
func setAside(t *template.Template, text string, written bool) {
	a, lines := analyzeTaint(t), indexLines(text)
	a.each(t, func(n *parse.ActionNode, of, dot taintLevel) {
		if of == trusted && !a.all {
			return
		}
		worded := a.inWords(n.Pipe, dot)
		line := 0
		if written {
			line = lines.at(int(n.Pos))
		}
		call := newCommand(n.Pos, textName, numberNode(n.Pos, line))
		if worded != nil {
			call.Args = append(call.Args, worded)
		}
		n.Pipe.Cmds = append(n.Pipe.Cmds, call)
	})
}

// building are the functions that make a larger text or value of their arguments
// and leave those what they are. What they add is the template's own.
var building = []string{
	"toYaml", "toJson", "toPrettyJson", "toRawJson", "mustToJson", "mustToPrettyJson", "mustToRawJson", "stringify",
	"indent", "nindent", "quote", "squote", "toString", "toStrings", "print", "println", "cat", "join", "trim",
	"list", "tuple", "dict", "append", "prepend", "concat", "printf",
}

// inWords returns a pipeline that gives what this one gives, with words for the
// workload's texts, or nil when that is a single word.
func (a *taintAnalysis) inWords(pipe *parse.PipeNode, dot taintLevel) parse.Node {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	if function, ok := last.Args[0].(*parse.IdentifierNode); !ok || !builds(function.Ident, last) {
		return nil
	}
	return a.worded(pipe.Copy(), dot)
}

// builds says whether a call leaves its arguments what they are. A printf does
// that with verbs for whole values only.
func builds(function string, call *parse.CommandNode) bool {
	if function != "printf" {
		return slices.Contains(building, function)
	}
	if len(call.Args) < 2 {
		return false
	}
	format, ok := call.Args[1].(*parse.StringNode)
	verbs := strings.NewReplacer("%s", "", "%v", "", "%d", "", "%q", "", "%%", "")
	return ok && !strings.Contains(verbs.Replace(format.Text), "%")
}

// worded rewrites a pipeline or an argument so that words replace every tainted
// value in it.
func (a *taintAnalysis) worded(node parse.Node, dot taintLevel) parse.Node {
	if a.node(node, dot) == trusted && !a.all {
		return node
	}
	switch n := node.(type) {
	case *parse.PipeNode:
		last := n.Cmds[len(n.Cmds)-1]
		function, calls := last.Args[0].(*parse.IdentifierNode)
		if !calls || !builds(function.Ident, last) {
			return newPipe(newCommand(n.Position(), wordName, n))
		}
		if before := n.Cmds[:len(n.Cmds)-1]; len(before) > 0 {
			inner := &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Pos, Line: n.Line, Cmds: slices.Clone(before)}
			last.Args = append(last.Args, inner)
			n.Cmds = []*parse.CommandNode{last}
		}
		for i, arg := range last.Args[1:] {
			last.Args[i+1] = a.worded(arg, dot)
		}
		return n
	case *parse.FieldNode, *parse.VariableNode, *parse.DotNode, *parse.ChainNode:
		return newPipe(newCommand(n.Position(), wordName, n))
	}
	return node
}

// tokenByte encloses tokens. No text of a model can hold it: YAML cannot.
const tokenByte = "\x00"

// texts are what actions have printed during a rendering.
type texts struct {
	printed []printedText
	size    int // of all, in bytes
	words   int
}

func (t *texts) reset() { *t = texts{} }

// printedText is what one action has printed, and the same in words.
type printedText struct {
	line         int // of the action in the template, 0 when unknown
	text, worded string
}

// text keeps what an action prints, its last argument, and returns the token
// that goes into the result. The argument before it is the same in words, where
// that is more than one.
func (t *texts) text(line int, args ...any) (string, error) {
	p := printedText{line: line, text: fmt.Sprint(args[len(args)-1])}
	if len(args) > 1 {
		p.worded = fmt.Sprint(args[0])
	} else {
		p.worded = fmt.Sprint(t.word(args[0]))
	}
	if t.size += len(p.text) + len(p.worded); t.size > 4*maxOutput {
		return "", errTooLong
	}
	t.printed = append(t.printed, p)
	return tokenByte + strconv.Itoa(len(t.printed)-1) + tokenByte, nil
}

// word returns a value with a word of its own in place of each text.
func (t *texts) word(value any) any {
	switch v := value.(type) {
	case renderData:
		for _, s := range []*string{&v.DeploymentTargetName, &v.Namespace, &v.Workspace, &v.Workload} {
			*s = t.wordFor(*s)
		}
		v.Labels, _ = t.word(v.Labels).(map[string]string)
		v.Manifests, _ = t.word(v.Manifests).(map[string]string)
		return v
	case map[string]string:
		m := make(map[string]string, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m[t.wordFor(key)] = t.wordFor(v[key])
		}
		return m
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m[t.wordFor(key)] = t.word(v[key])
		}
		return m
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return t.wordFor(v.String())
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = t.word(v.Index(i).Interface())
		}
		return list
	}
	return value
}

// wordFor returns a new word, or the text where that is nothing but blanks. The
// words' order is that in which they are made.
func (t *texts) wordFor(s string) string {
	if strings.TrimSpace(s) == "" {
		return s
	}
	t.words++
	return "kalypso" + strconv.Itoa(100000+t.words) + "x"
}

// rendition is what rendering a template gives: a text with tokens, and what
// those stand for.
type rendition struct {
	marked  string
	printed []printedText
}

// errToken reports a token that no action has printed.
var errToken = &renderError{message: "the result holds the character U+0000", hint: "no file of text may hold it"}

// fill replaces the tokens, in a result of so many bytes at most.
func (r rendition) fill(limit int, with func(n int) string) (string, error) {
	pieces := strings.Split(r.marked, tokenByte)
	if len(pieces)%2 == 0 {
		return "", errToken
	}
	var out strings.Builder
	for i, piece := range pieces {
		if i%2 == 1 {
			n, err := strconv.Atoi(piece)
			if err != nil || n < 0 || n >= len(r.printed) {
				return "", errToken
			}
			piece = with(n)
		}
		if out.Len()+len(piece) > limit {
			return "", &renderError{message: errTooLong.Error()}
		}
		out.WriteString(piece)
	}
	return out.String(), nil
}

// isPlaceholder says whether every printed text is a placeholder, and a single word
// like what is filled in for it.
func (r rendition) isPlaceholder(prefix string) bool {
	return !slices.ContainsFunc(r.printed, func(p printedText) bool {
		return !strings.HasPrefix(p.text, prefix) || !isAlphanumeric(p.text) || !isAlphanumeric(p.worded)
	})
}

func isAlphanumeric(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

func (r rendition) text() (string, error) {
	return r.fill(maxOutput, func(n int) string { return r.printed[n].text })
}

// worded is the result with words for all printed texts but one, or for all when
// that is negative.
func (r rendition) worded(but int) (string, error) {
	return r.fill(16*maxOutput, func(n int) string { // words can be longer
		if n == but {
			return r.printed[n].text
		}
		return r.printed[n].worded
	})
}
