// Command words holds identifiers, file names, comments, messages and pages to
// docs/glossary.md. Linters that forbid identifiers look at their uses only; this
// looks at declarations too, also those of tests.
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
	"person": "user", "persons": "users", "people": "users", "whoever": "the user, caller or process that",
	"tell": "report", "tells": "reports", "told": "reported", "teller": "report",
	"hear": "receive", "hears": "receives", "heard": "received",
	"sight": "check", "glance": "probe", "deed": "command or step", "honest": "check",
	"patience": "timeout or rate limit", "ledger": "inventory", "ledgers": "inventories", "rival": "conflict", "rivals": "conflicts",
	"away": "stopped", "yields": "skip", "yielding": "skip", "outlasting": "persistent",
	"stranger": "foreign object or other user", "strangers": "foreign objects or other users",
	"keeper": "subreaper or cache", "keepers": "subreapers or caches", "pupil": "user", "pupils": "users",
	"door": "listener, client or server", "doors": "listeners, clients or servers",
	"momentary": "transient", "witness": "check",
}

// inProse are those of these words that prose has no other use for.
var inProse = regexp.MustCompile(`(?i)\b(worlds?|persons?|people|whoever|pupils?|rivals?|ledgers?|witness|teller)\b`)

var (
	part = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
	// A tutorial's name, and what programs print first.
	proper = regexp.MustCompile(`(?i)hello,?[-_ ]?world`)
	// What the tutorials publish, whose text is theirs, and folders that are no source.
	skipped = []string{".git", "bin", "fixtures/basic-inference", "fixtures/hello-world", "hub/web/node_modules", "hub/web/dist"}
	// What lists the words itself.
	listing = []string{".ci/words/main.go", "docs/glossary.md"}
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
	checkProse := func(path string, line int, text string) {
		for i, t := range strings.Split(proper.ReplaceAllString(text, ""), "\n") {
			for _, word := range inProse.FindAllString(t, -1) {
				findings = append(findings, fmt.Sprintf("%s:%d: not %s but %s (docs/glossary.md)", path, line+i, word, instead[strings.ToLower(word)]))
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, path):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		check(path, entry.Name())
		if slices.Contains(listing, path) {
			return nil
		}
		if filepath.Ext(path) == ".md" {
			page, err := os.ReadFile(path)
			checkProse(path, 1, string(page))
			return err
		}
		if filepath.Ext(path) != ".go" || strings.Contains(path, "testdata/") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		declared := func(names ...*ast.Ident) {
			for _, n := range names {
				check(set.Position(n.Pos()).String(), n.Name)
			}
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				checkProse(path, set.Position(c.Pos()).Line, c.Text)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && !strings.HasSuffix(path, "_test.go") { // the data of tests is as it comes
					checkProse(path, set.Position(n.Pos()).Line, n.Value)
				}
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
