// Command words holds identifiers and file names to docs/glossary.md. Linters
// that forbid identifiers look at their uses only; this looks at declarations
// too, also those of tests.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// instead has what to say in place of a word, which is a part of a name in
// camel case or between separators.
var instead = map[string]string{
	"world": "sandbox", "worlds": "sandboxes",
	"place": "position, location or server", "places": "positions, locations or servers", "placed": "assigned",
	"person": "user", "persons": "users", "people": "users", "whoever": "user",
	"tell": "report", "tells": "reports", "told": "reported", "teller": "report",
	"hear": "receive", "hears": "receives", "heard": "received",
	"sight": "check", "glance": "probe", "deed": "command or step", "honest": "check",
	"patience": "timeout or rate limit", "ledger": "inventory", "rival": "conflict", "rivals": "conflicts",
	"away": "stopped", "yields": "skip", "yielding": "skip", "outlasting": "persistent",
	"stranger": "foreign object or other user", "strangers": "foreign objects or other users",
	"keeper": "subreaper or cache", "keepers": "subreapers or caches", "pupil": "user",
	"door": "listener, client or server", "doors": "listeners, clients or servers",
	"momentary": "transient", "witness": "check",
}

var (
	part = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
	// A tutorial's name, and the field's word for Go's iterators.
	proper = regexp.MustCompile(`(?i)hello[-_]?world`)
	// What the tutorials publish, whose text is theirs, and folders that are no source.
	skipped = []string{".git", "bin", "fixtures/basic-inference", "fixtures/hello-world", "scenarios/hello-world"}
)

func main() {
	set := token.NewFileSet()
	var findings []string
	check := func(at, name string) {
		for _, word := range part.FindAllString(proper.ReplaceAllString(name, ""), -1) {
			if say, ok := instead[strings.ToLower(word)]; ok {
				findings = append(findings, fmt.Sprintf("%s: %s: not %s but %s (docs/glossary.md)", at, name, strings.ToLower(word), say))
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(skipped, path) || slices.Contains(unclean, path)):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		check(path, entry.Name())
		if filepath.Ext(path) != ".go" || strings.Contains(path, "testdata/") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		declared := func(names ...*ast.Ident) {
			for _, n := range names {
				check(set.Position(n.Pos()).String(), n.Name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared(n.Name)
			case *ast.TypeSpec:
				declared(n.Name)
			case *ast.ValueSpec:
				declared(n.Names...)
			case *ast.Field:
				// A name in JSON that users' scripts read stays, and its field with it.
				if n.Tag == nil || !strings.Contains(n.Tag.Value, `json:"place`) {
					declared(n.Names...)
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
						declared(id)
					}
				}
			case *ast.RangeStmt:
				for _, v := range []ast.Expr{n.Key, n.Value} {
					if id, ok := v.(*ast.Ident); ok && n.Tok == token.DEFINE {
						declared(id)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// unclean are the modules of components that still have such names.
var unclean = []string{}
