// Package markdown writes texts of others, such as a platform model's names and
// messages, into the Markdown of pull requests, issues and comments, so that they
// come out as text or code and nothing else. Escapes do not do: a forge looks for
// @mentions, #references and URLs in what Markdown has made of a text, and only in
// code it does not. Credentials in URLs are taken out, see package redact.
package markdown

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/kalypso-dev/kalypso/internal/redact"
)

// Line is a text in one line, without what a browser does not show or shows in
// another order. It is not for Markdown yet.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
	return strings.TrimSpace(redact.Text(s))
}

// references are what forges take for one in a title, and commits close by.
var references = regexp.MustCompile(`(?i)([@#!]|://|\b[a-z]{1,10}-)(\d|\b[a-z])`)

// Title is a text for a title or the first line of a commit's message, where
// Markdown does not count, and mentions and references do.
func Title(s string) string {
	return references.ReplaceAllStringFunc(Line(s), func(at string) string {
		lead, next := at[:len(at)-1], at[len(at)-1:]
		if strings.HasSuffix(lead, "-") && !strings.EqualFold(lead, "gh-") {
			return at
		}
		return lead + " " + next
	})
}

// Code is a text in one line as a code span.
func Code(s string) string { return code(Line(s)) }

func code(line string) string {
	if line == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longest(line)+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return ticks + line + ticks
}

// longest is the length of the longest run of backticks.
func longest(s string) int {
	most, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}

// Cell is a text as code in a table's cell.
func Cell(s string) string {
	line := Line(s)
	if !strings.Contains(line, "|") {
		return code(line)
	}
	// How a backslash ahead of an escaped bar reads differs between forges.
	var b strings.Builder
	for _, r := range line {
		if r < unicode.MaxASCII && unicode.IsOneOf([]*unicode.RangeTable{unicode.P, unicode.S}, r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteString(html.EscapeString(string(r)))
		}
	}
	return "<code>" + b.String() + "</code>"
}

// Fence is a text as a block of code, which ends with a newline.
func Fence(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = line[:indent] + Line(line)
	}
	text := strings.Join(lines, "\n")
	ticks := strings.Repeat("`", max(3, longest(text)+1))
	return ticks + "\n" + text + "\n" + ticks + "\n"
}

var (
	// A word that is one for Markdown and every forge: no name of a file or a user,
	// no number with a point, no reference to an issue or a commit.
	word        = regexp.MustCompile(`^[("']*[\p{L}\p{M}\p{N}]+(?:['’-]\p{L}+)*[)"',.;:!?…]*$`)
	commit      = regexp.MustCompile(`^[("']*[0-9a-fA-F]{7,64}\b`)
	listNumber  = regexp.MustCompile(`^\d+[.)]`)
	punctuation = regexp.MustCompile(`^(?:[("']*[)"',.;:!?…]*|[–—])$`)
	around      = regexp.MustCompile(`^([("']*)(.*?)([)"',.;:!?…]*)$`)
)

// Text is a sentence in one line: words stay as they are, and what is none becomes
// a code span, as does what stands between backticks.
func Text(s string) string {
	parts := strings.Split(Line(s), "`")
	if n := len(parts); n%2 == 0 { // the last one opens nothing
		parts = append(parts[:n-2], parts[n-2]+"`"+parts[n-1])
	}
	var t text
	for i, part := range parts {
		if i%2 == 1 {
			t.code(part)
			if part == "" { // or the words beside it become one, such as a reference
				t.space = true
			}
			continue
		}
		for j, w := range strings.Split(part, " ") {
			if j > 0 {
				t.space = true
			}
			t.word(w)
		}
	}
	t.end()
	return t.b.String()
}

// text puts words and code together. Code spans beside each other become one: two
// would be read as something else.
type text struct {
	b       strings.Builder
	pending string // code that is not written yet
	space   bool   // stands ahead of what comes
}

func (t *text) word(w string) {
	first := t.b.Len() == 0 && t.pending == ""
	switch {
	case w == "":
	case punctuation.MatchString(w), word.MatchString(w) && !commit.MatchString(w) && (!first || !listNumber.MatchString(w)):
		t.plain(w)
	default:
		m := around.FindStringSubmatch(w)
		if m[2] == "" || first && listNumber.MatchString(w) {
			m = []string{"", "", w, ""}
		}
		t.plain(m[1])
		t.code(m[2])
		t.plain(m[3])
	}
}

func (t *text) plain(s string) {
	if s == "" {
		return
	}
	t.end()
	t.gap()
	t.b.WriteString(s)
}

func (t *text) code(s string) {
	if s == "" {
		return
	}
	if t.pending == "" {
		// some parsers take word`code@host for a mail address
		if written := t.b.String(); written != "" && !strings.Contains(`("'`, written[len(written)-1:]) {
			t.space = true
		}
		t.gap()
	} else if t.space {
		t.pending += " "
		t.space = false
	}
	t.pending += s
}

func (t *text) gap() {
	if t.space && t.b.Len() > 0 {
		t.b.WriteByte(' ')
	}
	t.space = false
}

// end writes the pending code ahead of a gap.
func (t *text) end() {
	if t.pending != "" {
		t.b.WriteString(code(t.pending))
		t.pending = ""
	}
}
