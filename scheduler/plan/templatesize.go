package plan

import (
	"fmt"
	"strings"
)

// The largest template that is parsed. text/template follows what is nested by
// recursion, whose overflow nothing can catch, and looks for variables and parts
// one by one, so that time grows with the square. The figures are far beyond what
// people write; a result that holds actions of configuration values is read by
// the same ones.
const (
	maxTemplateBytes = maxOutput
	maxWords         = 20000 // in all actions together
	maxNesting       = 200   // of blocks, of each else if in one, and of parentheses
	maxPipe          = 200   // commands in one action
)

// checkSize says whether a text is small enough to be parsed as a template. It
// reads actions as text/template does, and at least as many: what is no template
// is left to the parser.
func checkSize(text string) error {
	if len(text) > maxTemplateBytes {
		return &renderError{message: fmt.Sprintf("the template is longer than %d bytes", maxTemplateBytes), hint: "divide it into several manifests"}
	}
	s := sizes{chains: make([]int, 0, 8)}
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			return nil
		}
		at += open + len("{{")
		end, message := s.action(text[at:])
		if message != "" {
			return &renderError{line: lineAt(text, at), message: message, hint: "divide it into several manifests, or make it simpler"}
		}
		at += end
	}
}

// sizes are those of a template as far as it has been read.
type sizes struct {
	words  int
	depth  int
	chains []int // for each block that is open: how many else ifs are in it
}

// action reads an action from behind its opening braces, and returns where it
// ends and what is too much in it.
func (s *sizes) action(text string) (end int, message string) {
	body := strings.TrimLeft(strings.TrimPrefix(text, "-"), " \t\r\n")
	if strings.HasPrefix(body, "/*") {
		_, rest, _ := strings.Cut(body, "*/")
		return len(text) - len(rest), ""
	}
	parentheses, commands, words := 0, 1, 0
	var first, second string
	for i := len(text) - len(body); i < len(text); {
		rest := text[i:]
		n := 1
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "}}"):
			return i, s.block(first, second)
		case c == '"' || c == '\'' || c == '`':
			n = skipQuoted(rest)
			words++
			s.words++
		case isWord(c):
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			if words++; words == 1 {
				first = rest[:n]
			} else if words == 2 {
				second = rest[:n]
			}
			s.words++
		case c == '.' && (len(rest) == 1 || !isWord(rest[1])):
			words++
			s.words++
		case c == '(':
			parentheses++
			s.words++
		case c == ')':
			parentheses--
		case c == '|':
			commands++
		}
		i += n
		switch {
		case s.words > maxWords:
			return i, fmt.Sprintf("a template of more than %d words in actions is too much", maxWords)
		case parentheses > maxNesting:
			return i, fmt.Sprintf("more than %d nested parentheses are too much", maxNesting)
		case commands > maxPipe:
			return i, fmt.Sprintf("a pipe of more than %d commands is too much", maxPipe)
		}
	}
	return len(text), ""
}

// block follows the blocks that actions open and close, by their first words.
func (s *sizes) block(first, second string) string {
	last := len(s.chains) - 1
	switch first {
	case "if", "range", "with", "block", "define":
		s.chains = append(s.chains, 0)
		s.depth++
	case "else":
		if last >= 0 && (second == "if" || second == "with") {
			s.chains[last]++
			s.depth++
		}
	case "end":
		if last >= 0 {
			s.depth -= 1 + s.chains[last]
			s.chains = s.chains[:last]
		}
	}
	if s.depth > maxNesting {
		return fmt.Sprintf("more than %d nested blocks are too much", maxNesting)
	}
	return ""
}

// skipQuoted returns how long the string or character at the beginning of a text is.
func skipQuoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && text[0] != '`':
			i++
		case c == text[0]:
			return i + 1
		}
	}
	return len(text)
}

// isWord says whether a byte belongs to a name, a field or a number. Those of a
// chain of fields are one word each.
func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
