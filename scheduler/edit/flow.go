package edit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// replaceFlow sets a field of a mapping or list between brackets.
func (d *document) replaceFlow(parent *yaml.Node, name string, value any) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	flow(node)
	return d.rewriteFlow(parent, func(copied *yaml.Node) {
		for i := 0; copied.Kind == yaml.MappingNode && i+1 < len(copied.Content); i += 2 {
			if copied.Content[i].Value == name {
				if old := copied.Content[i+1]; old.Kind == yaml.ScalarNode && node.Kind == yaml.ScalarNode && old.ShortTag() == "!!str" {
					node.Style = old.Style
				}
				copied.Content[i+1] = node
				return
			}
		}
		if copied.Kind == yaml.MappingNode {
			copied.Content = append(copied.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, node)
			return
		}
		if i, _ := strconv.Atoi(name); i < len(copied.Content) {
			copied.Content[i] = node
		} else {
			copied.Content = append(copied.Content, node)
		}
	})
}

func (d *document) removeFlow(parent *yaml.Node, name string) ([]byte, error) {
	return d.rewriteFlow(parent, func(copied *yaml.Node) {
		width := 1
		i, _ := strconv.Atoi(name)
		if copied.Kind == yaml.MappingNode {
			width = 2
			for i = 0; copied.Content[i].Value != name; {
				i += 2
			}
		}
		copied.Content = slices.Delete(copied.Content, i, i+width)
	})
}

// rewriteFlow writes what is between brackets anew, on one line.
func (d *document) rewriteFlow(parent *yaml.Node, edit func(*yaml.Node)) ([]byte, error) {
	begin := d.offset(parent.Line, parent.Column)
	if begin < 0 || begin >= len(d.content) || d.content[begin] != '{' && d.content[begin] != '[' {
		return nil, errPosition
	}
	end := closing(d.content, begin)
	if end < 0 {
		return nil, errPosition
	}
	copied := *parent
	copied.Content = slices.Clone(parent.Content)
	copied.HeadComment, copied.LineComment, copied.FootComment = "", "", "" // they are outside of the brackets
	edit(&copied)
	text, err := encode(&copied)
	if err != nil {
		return nil, err
	}
	return slices.Concat(d.content[:begin], bytes.TrimSuffix(text, []byte("\n")), d.content[end:]), nil
}

// closing is where what opens with a bracket has ended, -1 where it does not.
func closing(content []byte, begin int) int {
	depth := 0
	for i := begin; i < len(content); i++ {
		switch c := content[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if before := content[i-1]; !bytes.ContainsRune([]byte(" \t\n,:{["), rune(before)) {
				continue // within a plain text
			}
			for i++; i < len(content) && content[i] != c; i++ {
				if c == '"' && content[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

// flow has a node written on one line.
func flow(node *yaml.Node) {
	node.Style |= yaml.FlowStyle
	if node.Kind == yaml.ScalarNode {
		node.Style = 0
		if strings.ContainsAny(node.Value, "\r\n") {
			node.Style = yaml.DoubleQuotedStyle
		}
	}
	for _, child := range node.Content {
		flow(child)
	}
}
