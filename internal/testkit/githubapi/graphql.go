package githubapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

var graphSchema = sync.OnceValues(func() (*ast.Schema, error) {
	data, err := graph.published(context.Background())
	if err != nil {
		return nil, err
	}
	return gqlparser.LoadSchema(&ast.Source{Name: graph.file, Input: string(data)})
})

// CheckGraphQL returns in what an exchange of the GraphQL API is not what its
// schema says: a query or variables that GitHub would refuse, and an answer with
// data that lacks a field which was asked for, has another one, or has a null or
// a kind of value where there can be none. A request that was refused may be
// anything. The first call on a machine fetches the schema.
func CheckGraphQL(x Exchange) error {
	if x.Status >= http.StatusBadRequest {
		return nil
	}
	schema, err := graphSchema()
	if err != nil {
		return err
	}
	var request struct {
		Query     string
		Variables map[string]any
	}
	if err := json.Unmarshal(x.Body, &request); err != nil {
		return fmt.Errorf("GraphQL request: %w", err)
	}
	query, list := gqlparser.LoadQueryWithRules(schema, request.Query, rules.NewDefaultRules())
	if len(list) > 0 {
		return fmt.Errorf("GraphQL query %s: %w", request.Query, list)
	}
	operation := query.Operations[0]
	if _, err := validator.VariableValues(schema, operation, request.Variables); err != nil {
		return fmt.Errorf("variables of GraphQL query %s: %w", request.Query, err)
	}
	var answer struct {
		Data   any
		Errors []struct{ Message *string }
	}
	if err := json.Unmarshal(x.Answer, &answer); err != nil {
		return fmt.Errorf("GraphQL answer: %w", err)
	}
	for _, e := range answer.Errors {
		if e.Message == nil {
			return errors.New("GraphQL answer: an error without a message")
		}
	}
	if answer.Data == nil && len(answer.Errors) > 0 {
		return nil
	}
	root := map[ast.Operation]*ast.Definition{ast.Query: schema.Query, ast.Mutation: schema.Mutation}[operation.Operation]
	if err := checkSelection(schema, ast.NonNullNamedType(root.Name, nil), operation.SelectionSet, answer.Data, "data"); err != nil {
		return fmt.Errorf("answer to GraphQL query %s: %w", request.Query, err)
	}
	return nil
}

// checkSelection holds a value of an answer to its type and to what of it was
// selected.
func checkSelection(schema *ast.Schema, of *ast.Type, selected ast.SelectionSet, value any, at string) error {
	if value == nil {
		if of.NonNull {
			return fmt.Errorf("%s is null, and is %s", at, of)
		}
		return nil
	}
	if of.Elem != nil {
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s is no list, and is %s", at, of)
		}
		var wrong []error
		for i, v := range list {
			wrong = append(wrong, checkSelection(schema, of.Elem, selected, v, fmt.Sprintf("%s[%d]", at, i)))
		}
		return errors.Join(wrong...)
	}
	if schema.Types[of.Name()].IsLeafType() {
		return checkLeaf(schema.Types[of.Name()], value, at)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no object, and is %s", at, of)
	}
	var wrong []error
	known := map[string]bool{}
	for _, s := range selected {
		f, ok := s.(*ast.Field)
		if !ok {
			return fmt.Errorf("%s is selected by a fragment, of which nothing is known here", at)
		}
		known[f.Alias] = true
		v, has := fields[f.Alias]
		if !has {
			wrong = append(wrong, fmt.Errorf("%s lacks the field %s", at, f.Alias))
			continue
		}
		wrong = append(wrong, checkSelection(schema, f.Definition.Type, f.SelectionSet, v, at+"."+f.Alias))
	}
	for name := range fields {
		if !known[name] {
			wrong = append(wrong, fmt.Errorf("%s has the field %s, which was not asked for", at, name))
		}
	}
	return errors.Join(wrong...)
}

// checkLeaf holds a scalar or a member of an enumeration to its type. GitHub's own
// scalars, such as URI, are all strings.
func checkLeaf(of *ast.Definition, value any, at string) error {
	ok := false
	switch of.Name {
	case "Boolean":
		_, ok = value.(bool)
	case "Int", "Float":
		_, ok = value.(float64)
	default:
		var text string
		text, ok = value.(string)
		ok = ok && (of.Kind != ast.Enum || of.EnumValues.ForName(text) != nil)
	}
	if !ok {
		return fmt.Errorf("%s is %v, and no %s", at, value, of.Name)
	}
	return nil
}
