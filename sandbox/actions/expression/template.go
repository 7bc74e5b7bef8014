package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rhysd/actionlint"
)

const opening = "${{"

// Interpolate replaces each ${{ }} in a text by its value.
func Interpolate(text string, env Env) (string, error) {
	var b strings.Builder
	for {
		before, source, after, found, err := cut(text)
		if err != nil {
			return "", err
		}
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		v, err := Evaluate(source, env)
		if err != nil {
			return "", err
		}
		b.WriteString(Text(v))
		text = after
	}
}

// Value is the value of a text that is one ${{ }} as a whole, which keeps its
// kind, and the interpolated text otherwise.
func Value(text string, env Env) (any, error) {
	before, source, after, found, err := cut(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	if found && before == "" && after == "" {
		return Evaluate(source, env)
	}
	return Interpolate(text, env)
}

// cut finds the first ${{ }}. A }} within a text of the expression does not
// end it.
func cut(text string) (before, source, after string, found bool, err error) {
	before, rest, found := strings.Cut(text, opening)
	if !found {
		return text, "", "", false, nil
	}
	lexer := actionlint.NewExprLexer(rest)
	for {
		token := lexer.Next()
		if lexer.Err() != nil {
			return "", "", "", false, fmt.Errorf("expression %s%s: %s", opening, firstLine(rest), lexer.Err().Message)
		}
		if token.Kind == actionlint.TokenKindEnd {
			end := lexer.Offset()
			return before, strings.TrimSuffix(rest[:end], "}}"), rest[end:], true, nil
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Condition decides an `if`, with or without ${{ }} around it. One that asks
// for no status holds only after success; an empty one is success().
func Condition(text string, env Env) (bool, error) {
	source := strings.TrimSpace(text)
	switch lower := strings.ToLower(source); lower {
	case "":
		source = "success()"
	case "true", "false": // YAML's truth values may be written True and TRUE, too
		source = lower
	}
	if strings.Contains(source, opening) {
		before, inner, after, _, err := cut(source)
		if err != nil {
			return false, err
		}
		if before != "" || after != "" {
			// On GitHub this is a text, and a text is true: nobody means that.
			return false, errors.New("the condition " + source + " is always true, since it has text outside of ${{ }}: put all of it inside")
		}
		source = inner
	}
	node, err := parse(source)
	if err != nil {
		return false, err
	}
	if !asksForStatus(node) && !env.Status.success() {
		return false, nil
	}
	v, err := Evaluate(source, env)
	return Truthy(v), err
}

func asksForStatus(node actionlint.ExprNode) bool {
	asks := false
	actionlint.VisitExprNode(node, func(n, _ actionlint.ExprNode, _ bool) {
		if f, ok := n.(*actionlint.FuncCallNode); ok {
			switch strings.ToLower(f.Callee) {
			case "always", "success", "failure", "cancelled":
				asks = true
			}
		}
	})
	return asks
}

// AsksFor tells whether a ${{ }} in a text uses a context. What cannot be read
// does not.
func AsksFor(text, context string) bool {
	for {
		_, source, after, found, err := cut(text)
		if err != nil || !found {
			return false
		}
		if node, err := parse(source); err == nil && uses(node, context) {
			return true
		}
		text = after
	}
}

func uses(node actionlint.ExprNode, context string) bool {
	found := false
	actionlint.VisitExprNode(node, func(n, _ actionlint.ExprNode, _ bool) {
		if v, ok := n.(*actionlint.VariableNode); ok && v.Name == context {
			found = true
		}
	})
	return found
}
