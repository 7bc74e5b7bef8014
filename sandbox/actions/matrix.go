package actions

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
	"go.yaml.in/yaml/v3"
)

// placedError is about a line of a workflow.
type placedError struct {
	line int
	err  error
}

func (e *placedError) Error() string { return e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// checkMatrix refuses a matrix that the forge cannot make jobs of: of such a
// one it makes a single job, without any cell. It also refuses what the runner
// cannot know of one among several jobs.
func checkMatrix(matrix *yaml.Node, asksForStrategy bool) error {
	if matrix.Kind == yaml.AliasNode {
		return &placedError{matrix.Line, fmt.Errorf("strategy: matrix: the alias *%s is not served here, since the forge does not follow it: write the values out", matrix.Value)}
	}
	if matrix.IsZero() || matrix.Tag == "!!null" {
		return nil
	}
	if n := findExpression(matrix); n != nil {
		return &placedError{n.Line, fmt.Errorf("strategy: matrix: the expression %s is not served here, since the forge makes jobs of a matrix before anything has run: write the values out", strings.TrimSpace(n.Value))}
	}
	if matrix.Kind != yaml.MappingNode {
		return &placedError{matrix.Line, errors.New("strategy: matrix: it is not a mapping of names to lists of values")}
	}
	for i := 0; i+1 < len(matrix.Content); i += 2 {
		name, values := matrix.Content[i], resolved(matrix.Content[i+1])
		switch {
		case name.Value == "<<":
		case values.Kind != yaml.SequenceNode:
			return &placedError{name.Line, fmt.Errorf("strategy: matrix: %s is not a list of values", name.Value)}
		case len(values.Content) == 0 && name.Value != "include" && name.Value != "exclude":
			return &placedError{name.Line, fmt.Errorf("strategy: matrix: %s has no values", name.Value)}
		}
	}
	if asksForStrategy {
		return &placedError{matrix.Line, errors.New("strategy: its context is not served here for a job with a matrix, such as strategy.job-index: tell the jobs apart by values of the matrix")}
	}
	return nil
}

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func findExpression(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${{") {
		return n
	}
	for _, inner := range n.Content {
		if found := findExpression(inner); found != nil {
			return found
		}
	}
	return nil
}

// asksFor tells whether an expression anywhere in a job uses a context. An
// `if` is one without ${{ }}, too.
func asksFor(n *yaml.Node, context string) bool {
	if n.Kind == yaml.ScalarNode {
		return expression.AsksFor(n.Value, context)
	}
	for i, inner := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "if" && expression.AsksFor("${{"+inner.Value+"}}", context) {
			return true
		}
		if asksFor(inner, context) {
			return true
		}
	}
	return false
}

// strategy is the context of that name. Without a matrix there is one job.
func (j *Job) strategy() map[string]any {
	if len(j.Matrix) > 0 {
		return map[string]any{}
	}
	return map[string]any{"fail-fast": true, "max-parallel": 1.0, "job-index": 0.0, "job-total": 1.0}
}
