package explain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is that of the terminal that texts are made for. Only a word that is
// longer, as paths can be, goes beyond it.
const width = 100

type page struct{ strings.Builder }

func (p *page) section(format string, args ...any) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.line(0, 0, fmt.Sprintf(format, args...))
}

// line adds a line that begins at a column. What does not fit goes on in
// further lines, at column hang.
func (p *page) line(indent, hang int, text string) {
	text = visible(text)
	for {
		rest := ""
		if at := breakAt(text, width-indent); at > 0 {
			text, rest = strings.TrimRight(text[:at], " "), strings.TrimLeft(text[at:], " ")
		}
		p.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+text, " "))
		p.WriteByte('\n')
		if rest == "" {
			return
		}
		text, indent = rest, hang
	}
}

// message adds a text that may have lines of its own.
func (p *page) message(indent, hang int, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		p.line(indent, hang, strings.TrimRight(line, "\r\n"))
		indent = hang
	}
}

// breakAt returns where a text that is too long is best broken, 0 for nowhere.
func breakAt(text string, limit int) int {
	if utf8.RuneCountInString(text) <= limit {
		return 0
	}
	column, at := 0, 0
	for i, r := range text {
		if r == ' ' && i > 0 && (column <= limit || at == 0) {
			at = i
		}
		column++
	}
	return at
}

// visible makes a text safe for a terminal: what cannot be seen, newlines and
// escapes among it, is written as Go writes it in a string.
func visible(text string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// column is how wide a column of names is; a few long ones do not widen it.
func column(names []string) int {
	const widest = 32
	w := 0
	for _, name := range names {
		if n := utf8.RuneCountInString(name); n <= widest {
			w = max(w, n)
		}
	}
	return w
}

// pad fills a name up to a column's width, and two spaces more.
func pad(name string, w int) string {
	return name + strings.Repeat(" ", max(0, w-utf8.RuneCountInString(name))+2)
}

// fails is a verb for a number of clauses.
func fails(n int) string {
	if n == 1 {
		return "1 clause fails"
	}
	return fmt.Sprintf("%d clauses fail", n)
}

func number(n int) string { return strconv.Itoa(n) }
