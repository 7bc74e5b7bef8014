package markdown_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/kalypso-dev/kalypso/internal/markdown"
)

func TestText(t *testing.T) {
	for given, want := range map[string]string{
		"the file is not valid YAML:\nline 3":     "the file is not valid YAML: line 3",
		"inference_url is required, isn't it?":    "`inference_url` is required, isn't it?",
		"ask @octocat, Fixes #1":                  "ask `@octocat`, Fixes `#1`",
		"GH-1 and 0123abc":                        "`GH-1` and `0123abc`",
		"<b> x_y \"a.b\": no":                     "`<b> x_y` \"`a.b`\": no",
		"1. one":                                  "`1.` one",
		"run `kalypso plan`, then @x":             "run `kalypso plan`, then `@x`",
		"a ` alone":                               "a `` ` `` alone",
		"https://u:s3cret@a.test/x is down":       "`https://a.test/x` is down",
		"`a`@b":                                   "`a@b`",
		"A!``0":                                   "A! 0",
		"platform-config and 3 others (so far) …": "platform-config and 3 others (so far) …",
	} {
		if got := markdown.Text(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func TestTitle(t *testing.T) {
	for given, want := range map[string]string{
		"assign web-dev to drone, promote 0123456": "assign web-dev to drone, promote 0123456",
		"Fixes #1, gh-2 of @octocat":               "Fixes # 1, gh- 2 of @ octocat",
		"closes https://a.test/issues/1":           "closes https:// a.test/issues/1",
	} {
		if got := markdown.Title(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

var hostile = []string{
	"@octocat", "![x](http://a.test/x.png)", "Fixes #1", "closes acme/app#2", "GH-3", "!4", "[x](http://a.test)", "<details><summary>",
	"https://a.test/issues/1", "www.a.test", "a@b.test", "<!-- kalypso:plan x=y -->", "`", "``", "a`b``c```", "|", `\|`, `\`, "&lt;b&gt;",
	"# x", "1. x", "- x", "> x", "---", "===", "~~~", "```\n@x\n```", "    @x", "**x**", "_x_", "~~x~~", "$x$", "[^1]", ":smile:",
	"x\u2028# y", "\u202Ex", "\x00\r\n\r\n# x", "0123abcd", "<a href=x>", "[x]: http://a.test", "a|b`|`c@x", "", " ",
	"A!``0", "a.``b", "abcd``ef012",
}

// TestHostile has each hostile text beside and before each other.
func TestHostile(t *testing.T) {
	for _, a := range hostile {
		for _, b := range hostile {
			harmless(t, a, b)
			harmless(t, a+b, b+" "+a)
		}
	}
}

func FuzzHostile(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, hostile[len(hostile)-1-i])
	}
	f.Fuzz(func(t *testing.T, a, b string) { harmless(t, a, b) })
}

// harmless checks that two texts come out as text or code wherever they may stand.
func harmless(t *testing.T, a, b string) {
	t.Helper()
	inert(t, markdown.Text(a)+" "+markdown.Text(b)+"\n")
	inert(t, "- "+markdown.Text(a)+"\n- "+markdown.Code(b)+": "+markdown.Text(a)+"\n")
	inert(t, "> "+markdown.Text(a)+"\n\n"+markdown.Fence(b)+"\n"+markdown.Fence(a))
	if cells := inert(t, "| x | y |\n| --- | --- |\n| "+markdown.Cell(a)+" | "+markdown.Cell(b)+" |\n"); cells != 4 {
		t.Errorf("%q and %q make %d cells", a, b, cells)
	}
}

// active is what a forge makes a link or a mention of, outside of code.
var active = regexp.MustCompile(`[@#!]\w|(?i:gh-\d)|://|\w\.\w|:\w+:|(?:^|[^\p{L}\p{M}\p{N}])[0-9a-f]{7,64}(?:$|[^\p{L}\p{M}\p{N}])|[<>\[\]|$]`)

// inert checks that a page holds text and code alone, and counts cells of tables.
func inert(t *testing.T, page string) (cells int) {
	t.Helper()
	source := []byte(page)
	document := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(source))
	html := 0 // <code> that is open
	_ = ast.Walk(document, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Document, *ast.Paragraph, *ast.TextBlock, *ast.List, *ast.ListItem, *ast.Blockquote, *extast.Table, *extast.TableHeader, *extast.TableRow:
		case *ast.FencedCodeBlock, *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *extast.TableCell:
			cells++
		case *ast.RawHTML:
			switch tag := string(n.Segments.Value(source)); tag {
			case "<code>":
				html++
			case "</code>":
				html--
			default:
				t.Errorf("%s\nhas HTML: %s", page, tag)
			}
		case *ast.Text:
			if value := string(n.Segment.Value(source)); html == 0 && active.MatchString(value) {
				t.Errorf("%s\nhas %q as text", page, value)
			}
		case *ast.String:
		default:
			t.Errorf("%s\nhas %s", page, n.Kind())
		}
		if html < 0 || html > 1 {
			t.Errorf("%s\nhas tags that do not match", page)
		}
		return ast.WalkContinue, nil
	})
	if strings.Contains(page, "<!--") && regexp.MustCompile(`(?m)^<!--`).MatchString(page) && !strings.Contains(page, "```") {
		t.Errorf("%s\nhas a comment", page)
	}
	return cells
}
