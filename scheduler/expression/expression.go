// Package expression compiles and evaluates the conditions that a scheduling policy's
// selectors have in CEL, the Common Expression Language of Kubernetes.
//
// An expression is a pure function of one object's labels and names. It has no clock,
// no network and no order of maps to depend on, its type is checked before any object
// is, and its cost is bounded, so that the same model always gives the same plan, in
// a time that does not depend on who wrote the labels.
//
// The trap is a label that is not there: CEL has no value for it, so an expression that
// needs one is not fulfilled, whichever way it asks: labels["tier"] != "gold" selects
// nothing without the label. That a label may be missing is said by "tier" in labels,
// or by labels[?"tier"].orValue("none").
package expression

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	celenv "github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"github.com/kalypso-dev/kalypso/internal/lru"
)

// Selector is the selector that an expression belongs to, by the name of its field.
// It decides which variables there are.
type Selector string

// The selectors of a scheduling policy.
const (
	OfTargets      Selector = "deploymentTargetSelector"
	OfClusterTypes Selector = "clusterTypeSelector"
)

// Limits of an expression.
const (
	MaxLength = 2000 // characters
	// MaxCost is in CEL's units, one for about each operation and each ten characters
	// that one looks at. It is for one object, and about a millisecond.
	MaxCost = 10_000
)

// What the cost of an expression is estimated by. These are the most that a workload
// may have; what exceeds them ends at MaxCost while it is evaluated.
const (
	maxLabels     = 130
	maxLabelKey   = 317
	maxLabelValue = 63
)

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	text       string
	selector   Selector
	program    cel.Program
	operands   []Operand
	references []Reference
	wanted     Wanted
}

// Operand is one of the conditions that an expression joins by &&: it is fulfilled
// when all of them are.
type Operand struct {
	Text  string
	Index int // of the byte of the expression with which it begins
}

// Error says why an expression cannot be used.
type Error struct {
	Message string
	Hint    string // "" for none
	Index   int    // of the byte of the text that it is about
	// Costly says that the expression is right, and would take too long.
	Costly bool
	// Unknown is the variable that is not known, and Variables are those that are.
	Unknown   string
	Variables []string
}

func (e *Error) Error() string { return e.Message }

// compiled keeps expressions: the same ones are compiled when a model is read, when it
// is planned, and when the plan is explained. There are 4096 of them, of which each
// takes some kilobytes.
var compiled = lru.New(4096, func(compilation) int64 { return 1 })

type compilation struct {
	expression *Expression
	err        error
}

// Compile reads and checks an expression. The error is an [*Error].
func Compile(selector Selector, text string) (*Expression, error) {
	key := string(selector) + "\n" + text
	known, found := compiled.Get(key)
	if !found {
		known.expression, known.err = compile(selector, text)
		compiled.Put(key, known)
	}
	return known.expression, known.err
}

func compile(selector Selector, text string) (*Expression, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, &Error{Message: "it is empty", Hint: "remove the field to select without it"}
	case utf8.RuneCountInString(text) > MaxLength:
		return nil, &Error{Message: fmt.Sprintf("it has more than %d characters", MaxLength), Hint: "divide the policy", Costly: true}
	}
	env := environments()[selector]
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, issueOf(selector, text, issues)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, issueOf(selector, text, issues)
	}
	tree := checked.NativeRep()
	if err := refused(tree, text); err != nil {
		return nil, err
	}
	if checked.OutputType() != cel.BoolType {
		return nil, &Error{Message: fmt.Sprintf("it must be true or false, and is of type %s", checked.OutputType()), Hint: "compare it, as in labels[\"tier\"] == \"gold\"", Index: start(tree, tree.Expr(), text)}
	}
	cost, err := env.EstimateCost(checked, estimator{})
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	if cost.Max > MaxCost {
		return nil, &Error{Message: fmt.Sprintf("it may cost more than %d units for one object", MaxCost), Hint: "ask for labels by their keys in place of looking at all of them, and put cheaper conditions into a policy of their own", Costly: true}
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(MaxCost))
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	e := &Expression{text: text, selector: selector, program: program}
	e.operands, e.references, e.wanted = operandsOf(tree, text), referencesIn(tree), wantedBy(tree)
	return e, nil
}

// environments are what expressions of each selector can use.
var environments = sync.OnceValue(func() map[Selector]*cel.Env {
	library := celenv.NewLibrarySubset()
	for _, name := range []string{
		operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.Index, operators.In,
		overloads.Size, overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.Matches,
		overloads.TypeConvertInt, overloads.TypeConvertDouble, overloads.TypeConvertString,
	} {
		library.AddIncludedFunctions(celenv.NewFunction(name))
	}
	all := map[Selector]*cel.Env{}
	for _, selector := range []Selector{OfTargets, OfClusterTypes} {
		options := []cel.EnvOption{
			cel.StdLib(cel.StdLibSubset(library)),
			cel.OptionalTypes(),
			cel.EnableMacroCallTracking(), // to print macros as they were written
			cel.ParserRecursionLimit(50),
			cel.ParserExpressionSizeLimit(MaxLength),
		}
		for _, v := range variables {
			if v.known(selector) {
				options = append(options, cel.Variable(v.name, v.kind))
			}
		}
		env, err := cel.NewCustomEnv(options...)
		if err != nil {
			panic(fmt.Sprintf("expression: %v", err)) // nothing of it comes from a user
		}
		all[selector] = env
	}
	return all
})

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	path       = regexp.MustCompile(`^\w+(\.\w+)*`)
	operator   = regexp.MustCompile(`'_(\S+?)_'`)
	mistyped   = regexp.MustCompile(`applied to '\((string, (bool|int|double)|(bool|int|double), string)\)'`)
)

// issueOf is the first of the mistakes that CEL has found.
func issueOf(selector Selector, text string, issues *cel.Issues) *Error {
	first := slices.MinFunc(issues.Errors(), func(a, b *cel.Error) int {
		return cmp.Or(cmp.Compare(a.Location.Line(), b.Location.Line()), cmp.Compare(a.Location.Column(), b.Location.Column()))
	})
	e := &Error{Message: operator.ReplaceAllString(first.Message, "'$1'"), Index: index(text, first.Location.Line(), first.Location.Column())}
	switch name := undeclared.FindStringSubmatch(first.Message); {
	case name != nil && strings.HasPrefix(text[e.Index:], "("): // CEL has a call where its arguments begin
		e.Index = beforeCall(text, e.Index)
		e.Message = "unknown function " + name[1]
	case name != nil:
		e.Unknown = cmp.Or(path.FindString(text[e.Index:]), name[1])
		e.Message = "unknown variable " + e.Unknown
		e.Variables = Variables(selector)
	case mistyped.MatchString(first.Message):
		e.Hint = "labels and names are texts: compare them with a text in quotes"
	}
	return e
}

// index returns the byte of a text at a line, from 1, and a column, from 0.
func index(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	for ; column > 0 && at < len(text); column-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// beforeCall returns the byte of a text with which the name of a function begins whose
// arguments begin at another.
func beforeCall(text string, at int) int {
	return len(strings.TrimRightFunc(text[:at], func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }))
}

// refused finds what CEL allows, and what would make an expression depend on the
// order of a map, or on the labels what it costs.
func refused(tree *ast.AST, text string) error {
	var found *Error
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch kind := e.Kind(); {
		case found != nil:
		case kind == ast.MapKind, kind == ast.StructKind:
			found = &Error{Message: "maps and messages cannot be written in an expression", Hint: "use a list, or conditions joined by ||", Index: start(tree, e, text)}
		case kind == ast.CallKind && e.AsCall().FunctionName() == overloads.Matches:
			args := e.AsCall().Args()
			pattern := args[len(args)-1]
			if pattern.Kind() != ast.LiteralKind {
				found = &Error{Message: "the pattern of matches must be written out", Index: start(tree, pattern, text)}
			} else if p, ok := pattern.AsLiteral().Value().(string); ok {
				if _, err := regexp.Compile(p); err != nil {
					found = &Error{Message: err.Error(), Index: start(tree, pattern, text)}
				}
			}
		}
	}))
	if found == nil {
		return nil
	}
	return found
}

// estimator knows how large labels may be.
type estimator struct{}

func (estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	size := uint64(MaxLength) // of a text that the expression has put together
	switch path := node.Path(); {
	case node.Type().Kind() == types.MapKind:
		size = maxLabels
	case node.Type().Kind() != types.StringKind:
		return nil
	case len(path) > 1 && path[len(path)-1] != "@keys":
		size = maxLabelValue
	case len(path) > 0:
		size = maxLabelKey
	}
	return &checker.SizeEstimate{Max: size}
}

func (estimator) EstimateCallCost(_, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	return nil
}

// Text is the expression as it was written.
func (e *Expression) Text() string { return e.text }

// Operands are the conditions that the expression joins by &&, from left to right:
// itself where there is only one.
func (e *Expression) Operands() []Operand { return e.operands }

// Holds says whether an object fulfils the expression.
func (e *Expression) Holds(o *Object) bool {
	holds, _ := e.Evaluate(o)
	return holds
}

// Evaluate says whether an object fulfils the expression, and why that cannot be said
// of an object that does not: a label is missing, or a number is none.
func (e *Expression) Evaluate(o *Object) (bool, error) {
	value, _, err := e.program.Eval(activation{o})
	if err != nil {
		return false, reason(err)
	}
	return value == types.True, nil
}

func reason(err error) error {
	if strings.Contains(err.Error(), "actual cost limit exceeded") {
		return fmt.Errorf("it costs more than %d units", MaxCost)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "evaluation error: "))
}
