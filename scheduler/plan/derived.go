package plan

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// Limits of what is evaluated by itself.
const (
	maxDerivedValue = 16 << 10 // bytes of one value
	maxDerivedSize  = 2048     // bytes that one may count for in a rendering
	maxRemembered   = 4 << 20  // bytes of the values that a worker remembers
)

// evaluators evaluate derivations, and remember what comes of values that many
// assignments share.
type evaluators struct {
	all  map[*derivation]*evaluator
	size int // bytes remembered
	key  []byte
	out  limitedBuffer
}

type evaluator struct {
	template *template.Template // nil when it cannot be evaluated
	direct   *directCall        // nil when only text/template can evaluate it
	steps    budget
	known    map[string]derivedValue
}

// derivedValue is what a derivation gives.
type derivedValue struct {
	text  string
	spent int // of the budget of steps
	ok    bool
}

// of returns the value of a derivation for an assignment.
func (e *evaluators) of(d *derivation, data *assignmentData) derivedValue {
	known := e.all[d]
	if known == nil {
		if e.all == nil {
			e.all = map[*derivation]*evaluator{}
		}
		known = newEvaluator(d)
		e.all[d] = known
	}
	if known.template == nil {
		return derivedValue{}
	}
	if d.isUnique() {
		return e.evaluate(d, known, data)
	}
	e.key = data.appendInputs(e.key[:0], d)
	value, found := known.known[string(e.key)]
	if found {
		return value
	}
	value = e.evaluate(d, known, data)
	if e.size += len(e.key) + len(value.text) + entrySize; e.size > maxRemembered {
		for _, other := range e.all {
			other.known = nil
		}
		e.size = 0
	}
	if known.known == nil {
		known.known = map[string]derivedValue{}
	}
	known.known[string(e.key)] = value
	return value
}

// entrySize is about what an entry of a map takes besides its key and value.
const entrySize = 64

func newEvaluator(d *derivation) *evaluator {
	e := &evaluator{}
	t, err := template.New(templateName).Funcs(functions).Funcs(template.FuncMap{stepName: e.steps.step}).Parse(d.text)
	if err == nil {
		if call, ok := compileDirect(t); ok {
			e.direct = &call
		}
		rewriteMissingKeys(t, d.text)
		e.template = t
	}
	return e
}

func (e *evaluators) evaluate(d *derivation, known *evaluator, data *assignmentData) derivedValue {
	if known.direct != nil {
		return known.direct.evaluate(d.role, &data.renderData)
	}
	known.steps = maxSteps
	e.out.Reset()
	e.out.limit = maxDerivedValue
	if err := known.template.Execute(&e.out, data.boxed()); err != nil {
		return derivedValue{}
	}
	return derivedValue{text: e.out.String(), spent: max(0, maxSteps-int(known.steps)-stepSize), ok: true}
}

// boxed is the data as templates get it. What is derived changes none of it.
func (d *assignmentData) boxed() any {
	if d.box == nil {
		d.box = d.renderData
	}
	return d.box
}

// appendInputs appends all that a derivation depends on.
func (d *assignmentData) appendInputs(key []byte, of *derivation) []byte {
	text := func(s string) {
		key = binary.LittleEndian.AppendUint32(append(key, 1), uint32(len(s)))
		key = append(key, s...)
	}
	number := func(n int64) { key = binary.LittleEndian.AppendUint64(append(key, 2), uint64(n)) }
	for _, p := range of.inputs {
		if s := d.text(p.field); s != nil {
			text(*s)
			continue
		}
		if p.field == fieldConfigData {
			value, there := d.ConfigData[p.key]
			s, isText := value.(string)
			switch {
			case p.key == "" || there && !isText:
				number(d.configuration)
			case there:
				text(s)
			default:
				key = append(key, 0)
			}
			continue
		}
		s, there := d.texts(p.field)[p.key]
		switch {
		case p.key == "":
			number(d.target)
		case there:
			text(s)
		default:
			key = append(key, 0)
		}
	}
	return key
}

// The signs of a pattern.
const (
	isTrue     = '1'
	isFalse    = '0'
	isFilledIn = 'f'
	isLiteral  = 'l' // printed as it is
	isKept     = 'k' // a variable
)

// derive evaluates what a template derives of an assignment's data, and adds to its
// key what becomes of that. It returns false when the template must be rendered for
// this assignment alone.
func (w *worker) derive(t *knownTemplate, derived []*derivation, data *assignmentData) bool {
	for _, d := range derived {
		value := w.derived.of(d, data)
		if !value.ok {
			return false
		}
		w.spent += value.spent
		sign := byte(isKept)
		below := []*derivation(nil)
		switch {
		case d.role == decides && value.text == "":
			sign, below = isFalse, d.otherwise
		case d.role == decides:
			sign, below = isTrue, d.then
		case d.role == prints && plainDerived(value.text, t.Spec.ContentType):
			sign = isFilledIn
			w.values[d.slot], w.filled[d.slot] = value.text, true
		case d.role == prints:
			sign = isLiteral
		}
		w.pattern = append(w.pattern, sign)
		w.key = append(w.key, sign)
		if sign == isLiteral {
			if d.isUnique() || strings.Contains(value.text, t.usage.prefix) {
				return false
			}
			w.literal = append(w.literal, d.inputs...)
			w.key = data.appendInputs(w.key, d)
		}
		if !w.derive(t, below, data) {
			return false
		}
	}
	return true
}

// plainDerived is [plainValue] for what functions make, which cut texts anywhere and
// pad them. In YAML that does no harm at the end of a text.
func plainDerived(s string, contentType v1alpha1.ContentType) bool {
	if contentType != v1alpha1.ShellContent && len(s) <= maxPlaceholderValue {
		s = strings.TrimRight(s, "-_.=")
	}
	return plainValue(s)
}

// isLiteral says whether something that is derived from a value of the data is
// printed as it is, so that the value must be there.
func (w *worker) isLiteral(p fieldRef) bool {
	for _, l := range w.literal { // a function would have each p allocated
		if l.field == p.field && (l.key == p.key || l.key == "") {
			return true
		}
	}
	return false
}

// variant returns a manifest in which what is derived is decided, and has
// placeholders.
func (w *worker) variant(t *knownTemplate, manifest int, text string) *parsed {
	key := t.usage.prefix + strconv.Itoa(manifest) + string(w.pattern)
	if w.renderer.variants[key] == nil {
		if w.renderer.variants == nil || len(w.renderer.variants) >= maxVariants {
			w.renderer.variants = map[string]*parsed{}
		}
		replaced := map[parse.Pos]parse.Node{}
		w.replacements(t, manifest, t.usage.derived, replaced, w.pattern)
		w.renderer.variants[key] = parseTemplate(text, new(texts), true, func(root *parse.ListNode) { replaceIn(root, replaced) })
	}
	return w.renderer.variants[key]
}

// maxVariants bounds the parsed variants of a renderer.
const maxVariants = 200

// replacements adds what comes in place of the nodes of a manifest's derivations, by
// the signs of a pattern, and returns the signs that are left.
func (w *worker) replacements(t *knownTemplate, manifest int, derived []*derivation, replaced map[parse.Pos]parse.Node, signs []byte) []byte {
	for _, d := range derived {
		sign := signs[0]
		signs = signs[1:]
		var node parse.Node
		below := []*derivation(nil)
		switch sign {
		case isTrue:
			node, below = boolNode(d.pos, true), d.then
		case isFalse:
			node, below = boolNode(d.pos, false), d.otherwise
		case isFilledIn:
			node = textNode(d.pos, d.quotes+t.usage.placeholder(d.slot)+d.quotes)
		case isKept:
			if !d.isRead && !slices.ContainsFunc(d.inputs, w.isLiteral) {
				node = textNode(d.pos, "")
			}
		}
		if node != nil && d.manifest == manifest {
			replaced[d.pos] = node
		}
		signs = w.replacements(t, manifest, below, replaced, signs)
	}
	return signs
}

func textNode(pos parse.Pos, text string) *parse.TextNode {
	return &parse.TextNode{NodeType: parse.NodeText, Pos: pos, Text: []byte(text)}
}

func boolNode(pos parse.Pos, value bool) *parse.BoolNode {
	return &parse.BoolNode{NodeType: parse.NodeBool, Pos: pos, True: value}
}

// replaceIn replaces actions, and the conditions of ifs, by their positions.
func replaceIn(list *parse.ListNode, replaced map[parse.Pos]parse.Node) {
	if list == nil {
		return
	}
	for i, node := range list.Nodes {
		with := replaced[node.Position()]
		if branch := branchOf(node); branch != nil {
			if condition, ok := with.(*parse.BoolNode); ok && branch.NodeType == parse.NodeIf {
				branch.Pipe = newPipe(&parse.CommandNode{NodeType: parse.NodeCommand, Pos: branch.Pos, Args: []parse.Node{condition}})
			}
			replaceIn(branch.List, replaced)
			replaceIn(branch.ElseList, replaced)
			continue
		}
		if text, ok := with.(*parse.TextNode); ok && node.Type() == parse.NodeAction {
			list.Nodes[i] = text
		}
	}
}
