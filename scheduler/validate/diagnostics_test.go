package validate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

func TestDiagnosticsBelongToRules(t *testing.T) {
	for message, rule := range map[string]string{
		"not valid YAML: kind is missing":                                InvalidYAML,
		"unknown field spec.is missing":                                  UnknownField,
		`kind "x" is not known`:                                          UnknownKind,
		"spec must be an object":                                         InvalidField,
		"spec.manifests[0]: a manifest must be a string or an object":    InvalidField,
		"spec.manifests[0]: reading manifest object: yaml: x":            InvalidField,
		"data.A stands twice":                                            InvalidField,
		"Workload a: deployment target b stands twice for environment c": DuplicateObject,
		"something that nobody has thought of":                           InvalidModel,
	} {
		if f := fromDiagnostic(model.Diagnostic{Severity: model.Error, Message: message, Hint: "h"}, Finding{field: "x"}); f.Rule != rule || f.Hint != "h" || f.field != "x" {
			t.Errorf("%q: %+v, want rule %s", message, f, rule)
		}
	}
}

// TestNoDiagnosticIsForgotten reads the model's source for what it says, fills
// something into the gaps and expects a rule for it.
func TestNoDiagnosticIsForgotten(t *testing.T) {
	verb := regexp.MustCompile(`%[a-z+]`)
	messages := 0
	for _, text := range modelMessages(t) {
		message := strings.ReplaceAll(text, "%q", `"x"`)
		message = verb.ReplaceAllString(message, "x")
		if message == "x" || message == "x: x" || message == "SchedulingPolicy x: x: x" {
			continue // worded elsewhere, or with a field's name in it
		}
		messages++
		if f := fromDiagnostic(model.Diagnostic{Message: message}, Finding{}); f.Rule == InvalidModel {
			t.Errorf("%q belongs to no rule", text)
		}
	}
	if messages < 20 {
		t.Errorf("only %d messages are found in the source", messages)
	}
}

// modelMessages returns the texts that package model gives to diagnostics: what is
// assigned to a Message, and the format that is the third argument of the functions
// and methods that make one.
func modelMessages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../model/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	var all []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Message" {
					all = append(all, firstText(n.Value)...)
				}
			case *ast.CallExpr:
				method, _ := n.Fun.(*ast.SelectorExpr)
				function, _ := n.Fun.(*ast.Ident)
				if method != nil && method.Sel.Name == "errorf" || function != nil && (function.Name == "errorAt" || function.Name == "warningAt") {
					all = append(all, firstText(n.Args[2])...)
				}
			}
			return true
		})
	}
	return all
}

// firstText returns the text of a literal, of a literal with something behind
// it, or of a format.
func firstText(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []string{text}
		}
	case *ast.BinaryExpr:
		for _, text := range firstText(e.X) {
			return []string{fmt.Sprint(text, "x")}
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return firstText(e.Args[0])
		}
	}
	return nil
}

func TestRulesAreInOrderAndComplete(t *testing.T) {
	ids := []string{}
	for _, r := range Rules() {
		ids = append(ids, r.ID)
		if rank(r.Severity) < 0 || !strings.HasSuffix(r.Summary, ".") || r.Help == "" {
			t.Errorf("rule %+v", r)
		}
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(r.ID) {
			t.Errorf("rule %s is not in kebab case", r.ID)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("rules are not sorted, or stand twice: %v", ids)
	}
}
