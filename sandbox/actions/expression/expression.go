// Package expression evaluates the ${{ }} expressions of workflows.
//
// Reading is left to actionlint, whose grammar is GitHub's. This package gives
// the tree its meaning: what a value is, how values of different kinds compare,
// and what the functions do. It is pure but for Env.HashFiles, which the caller
// supplies.
//
//	env := expression.Env{Contexts: map[string]any{
//		"github": map[string]any{"ref_name": "main"},
//	}}
//	v, err := expression.Evaluate(`github.ref_name == 'main'`, env) // true
//
// A value is one of nil, bool, float64, string, []any and map[string]any. Keys
// of maps are found in any case. What is not there is nil and no error, as on
// GitHub; an unknown context or function is an error, since it is a typing
// mistake or something that this runner does not serve.
package expression

import (
	"fmt"
	"math"
	"strings"

	"github.com/rhysd/actionlint"
)

// maxLength is GitHub's own limit on an expression. It also bounds how deep one
// can nest.
const maxLength = 21000

// Env is what an expression can see.
type Env struct {
	// Contexts by lower-case name: github, env, steps and so on.
	Contexts map[string]any
	// Status answers success(), failure() and cancelled().
	Status Status
	// HashFiles answers hashFiles(); nil where there are no files to see.
	HashFiles func(patterns []string) (string, error)
}

// Status is how things went up to here.
type Status struct {
	Failed    bool
	Cancelled bool
	Skipped   bool // something that is needed was left out: no success, and no failure
}

func (s Status) success() bool { return !s.Failed && !s.Cancelled && !s.Skipped }

// Evaluate returns the value of an expression, which is written without the
// ${{ }} around it.
func Evaluate(source string, env Env) (any, error) {
	node, err := parse(source)
	if err != nil {
		return nil, err
	}
	v, err := env.eval(node)
	if err != nil {
		return nil, fmt.Errorf("expression %s: %w", strings.TrimSpace(source), err)
	}
	return plain(v), nil
}

func parse(source string) (actionlint.ExprNode, error) {
	if len(source) > maxLength {
		return nil, fmt.Errorf("expression of %d characters: at most %d are allowed", len(source), maxLength)
	}
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(source + "}}"))
	if err != nil {
		return nil, fmt.Errorf("expression %s: %s", strings.TrimSpace(source), err.Message)
	}
	return node, nil
}

// filtered is what `.*` yields: a list whose next property is taken of each
// element.
type filtered []any

// plain turns what only exists during evaluation into a value.
func plain(v any) any {
	if f, ok := v.(filtered); ok {
		return []any(f)
	}
	return v
}

func (e Env) eval(node actionlint.ExprNode) (any, error) {
	switch n := node.(type) {
	case *actionlint.NullNode:
		return nil, nil
	case *actionlint.BoolNode:
		return n.Value, nil
	case *actionlint.IntNode:
		return float64(n.Value), nil
	case *actionlint.FloatNode:
		return n.Value, nil
	case *actionlint.StringNode:
		return n.Value, nil
	case *actionlint.VariableNode:
		return e.context(n.Name)
	case *actionlint.NotOpNode:
		v, err := e.eval(n.Operand)
		return !Truthy(v), err
	case *actionlint.LogicalOpNode:
		left, err := e.eval(n.Left)
		if err != nil || Truthy(left) == (n.Kind == actionlint.LogicalOpNodeKindOr) {
			return left, err
		}
		return e.eval(n.Right)
	case *actionlint.CompareOpNode:
		left, right, err := e.pair(n.Left, n.Right)
		if err != nil {
			return nil, err
		}
		return compare(n.Kind, left, right), nil
	case *actionlint.ObjectDerefNode:
		v, err := e.eval(n.Receiver)
		return property(v, n.Property), err
	case *actionlint.ArrayDerefNode:
		v, err := e.eval(n.Receiver)
		return elements(v), err
	case *actionlint.IndexAccessNode:
		v, index, err := e.pair(n.Operand, n.Index)
		return at(v, index), err
	case *actionlint.FuncCallNode:
		return e.call(n)
	}
	return nil, fmt.Errorf("%T is not known here", node)
}

func (e Env) pair(a, b actionlint.ExprNode) (left, right any, err error) {
	if left, err = e.eval(a); err != nil {
		return nil, nil, err
	}
	right, err = e.eval(b)
	return left, right, err
}

func (e Env) context(name string) (any, error) {
	switch name {
	case "infinity":
		return math.Inf(1), nil
	case "nan":
		return math.NaN(), nil
	}
	v, ok := e.Contexts[name]
	if !ok {
		return nil, fmt.Errorf("there is no context %q here", name)
	}
	return v, nil
}
