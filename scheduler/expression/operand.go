package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// Reference is a label or a name that an expression looks at.
type Reference struct {
	Variable string // as Variables has it
	Key      string // of a label, "" for a name
	Optional bool   // a missing label is no reason that the expression is not fulfilled
}

// String is the reference as users write it.
func (r Reference) String() string {
	if r.Key == "" {
		return r.Variable
	}
	return r.Variable + "[" + quoted(r.Key) + "]"
}

// Own says whether the reference is to a label that matchLabels sees, too.
func (r Reference) Own() bool { return r.Key != "" && r.Variable != "workload.labels" }

// Value returns what an object has there, and false for a label that it has not.
func (r Reference) Value(o *Object) (string, bool) {
	v, known := variableNamed(r.Variable)
	switch {
	case !known:
		return "", false
	case v.labels == nil:
		return v.text(o), true
	}
	value, there := v.labels(o)[r.Key]
	return value, there
}

// References are the labels and names that the expression looks at, each once, in the
// order they are written in. Labels whose keys are computed are not among them.
func (e *Expression) References() []Reference { return e.references }

// Wanted is the label of an expression that compares one label with texts.
type Wanted struct {
	Key    string // "" for an expression of another form
	Values []string
}

// Wanted returns which label must have which values, where the expression says no more
// than that.
func (e *Expression) Wanted() Wanted { return e.wanted }

// operandsOf takes an expression apart at its outermost &&.
func operandsOf(tree *ast.AST, text string) []Operand {
	var all []Operand
	var collect func(e ast.Expr)
	collect = func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
			for _, arg := range e.AsCall().Args() {
				collect(arg)
			}
			return
		}
		printed, err := cel.ExprToString(e, tree.SourceInfo())
		if err != nil {
			printed = text
		}
		all = append(all, Operand{Text: printed, Index: start(tree, e, text)})
	}
	collect(tree.Expr())
	if len(all) == 1 {
		all[0].Text = text
	}
	return all
}

// start returns the byte with which a part of an expression begins.
func start(tree *ast.AST, part ast.Expr, text string) int {
	first := -1
	ast.PreOrderVisit(part, ast.NewExprVisitor(func(e ast.Expr) {
		if at, known := tree.SourceInfo().GetOffsetRange(e.ID()); known && (first < 0 || int(at.Start) < first) {
			first = int(at.Start)
		}
	}))
	at := index(text, 1, max(first, 0)) // CEL counts characters from the beginning
	if strings.HasPrefix(text[at:], "(") {
		return beforeCall(text, at)
	}
	return at
}

// referencesIn finds what an expression looks at.
func referencesIn(tree *ast.AST) []Reference {
	var found []Reference
	labels := map[int64]bool{} // the parts that stand for all labels
	add := func(r Reference) {
		if i := slices.IndexFunc(found, func(f Reference) bool { return f.Variable == r.Variable && f.Key == r.Key }); i >= 0 {
			found[i].Optional = found[i].Optional && r.Optional
			return
		}
		found = append(found, r)
	}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if r, of, ok := labelIn(e); ok {
			labels[of] = true
			add(r)
			return
		}
		if e.Kind() != ast.IdentKind || labels[e.ID()] {
			return
		}
		if v, known := variableNamed(e.AsIdent()); known && v.labels == nil {
			add(Reference{Variable: v.name})
		}
	}))
	return found
}

// labelIn reads a part of an expression that looks at one label, and returns the part
// of it that stands for all labels.
func labelIn(e ast.Expr) (r Reference, of int64, ok bool) {
	var labels, key ast.Expr
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		r.Variable, ok = labelsNamed(s.Operand())
		r.Key, r.Optional = s.FieldName(), s.IsTestOnly()
		return r, s.Operand().ID(), ok
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.Index:
			labels, key = args[0], args[1]
		case operators.OptIndex, operators.OptSelect:
			labels, key, r.Optional = args[0], args[1], true
		case operators.In:
			labels, key, r.Optional = args[1], args[0], true
		default:
			return r, 0, false
		}
	default:
		return r, 0, false
	}
	if r.Variable, ok = labelsNamed(labels); !ok || key.Kind() != ast.LiteralKind {
		return r, 0, false
	}
	r.Key, ok = key.AsLiteral().Value().(string)
	return r, labels.ID(), ok
}

// labelsNamed returns the variable with labels that a part of an expression is.
func labelsNamed(e ast.Expr) (string, bool) {
	if e.Kind() != ast.IdentKind {
		return "", false
	}
	v, known := variableNamed(e.AsIdent())
	return v.name, known && v.labels != nil
}

// wantedBy reads labels["k"] == "v" and labels["k"] in ["v", "w"].
func wantedBy(tree *ast.AST) Wanted {
	e := tree.Expr()
	if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
		return Wanted{}
	}
	left, right := e.AsCall().Args()[0], e.AsCall().Args()[1]
	var texts []ast.Expr
	switch e.AsCall().FunctionName() {
	case operators.Equals:
		if left.Kind() == ast.LiteralKind {
			left, right = right, left
		}
		texts = []ast.Expr{right}
	case operators.In:
		if right.Kind() == ast.ListKind {
			texts = right.AsList().Elements()
		}
	}
	if len(texts) == 0 {
		return Wanted{}
	}
	r, _, ok := labelIn(left)
	if !ok || !r.Own() || r.Optional {
		return Wanted{}
	}
	var values []string
	for _, text := range texts {
		if text.Kind() != ast.LiteralKind {
			return Wanted{}
		}
		value, isText := text.AsLiteral().Value().(string)
		if !isText {
			return Wanted{}
		}
		values = append(values, value)
	}
	return Wanted{Key: r.Key, Values: values}
}

func quoted(key string) string { return "\"" + key + "\"" }
