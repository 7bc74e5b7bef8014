package plan

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// A YAML error names a line of the result, and what a person can correct is a
// line of the template. To go from one to the other the template is rendered
// once more with marks in it: before each piece stands the line it comes from,
// and whether its newlines are the template's own.

// markByte encloses marks. YAML cannot hold it.
const markByte = "\x00"

// mark puts marks before all pieces of a template.
func mark(t *template.Template, text string) {
	lines := indexLines(text)
	for _, part := range t.Templates() {
		if part.Tree != nil && part.Root != nil {
			markList(part.Root, lines)
		}
	}
}

func markList(list *parse.ListNode, lines lineIndex) {
	if list == nil {
		return
	}
	var marked []parse.Node
	for _, node := range list.Nodes {
		kind := "a" // an action: its newlines are not the template's
		switch n := node.(type) {
		case *parse.TextNode:
			kind = "t"
		case *parse.IfNode:
			markList(n.List, lines)
			markList(n.ElseList, lines)
		case *parse.WithNode:
			markList(n.List, lines)
			markList(n.ElseList, lines)
		case *parse.RangeNode:
			markList(n.List, lines)
			markList(n.ElseList, lines)
		}
		line := lines.at(int(node.Position()))
		marked = append(marked, &parse.TextNode{
			NodeType: parse.NodeText,
			Pos:      node.Position(),
			Text:     fmt.Appendf(nil, "%s%s%d%s", markByte, kind, line, markByte),
		}, node)
	}
	list.Nodes = marked
}

// templateLine returns the line of a template's text that made a line of its
// result, 0 when that cannot be told.
func templateLine(text string, data renderData, resultLine int) int {
	if resultLine < 1 || strings.Contains(text, markByte) {
		return 0
	}
	marked, err := execute(parseTemplate(text, nil, true), data)
	if err != nil {
		return 0
	}
	pieces := strings.Split(marked, markByte)
	line, at, own := 1, 1, true
	// Pieces alternate: text, mark, text, mark, text.
	for i, piece := range pieces {
		if i%2 == 1 {
			own = strings.HasPrefix(piece, "t")
			at, _ = strconv.Atoi(strings.TrimLeft(piece, "ta"))
			continue
		}
		for _, c := range piece {
			if line == resultLine && c != ' ' {
				return at
			}
			if c != '\n' {
				continue
			}
			line++
			if own {
				at++
			}
		}
	}
	if line >= resultLine {
		return at
	}
	return 0
}
