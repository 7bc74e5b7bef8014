package explain

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	long := strings.Repeat("x", 120)
	full := strings.Repeat("x", 98)
	for _, test := range []struct {
		name, text, want string
	}{
		{"short", "a b", "  a b\n"},
		{"nothing", "", "\n"},
		{"as wide as the terminal", full, "  " + full + "\n"},
		{"a word to the last column", full[:96] + " b c", "  " + full[:96] + " b\n    c\n"},
		{"broken at the last space", full[:90] + " 123456 789", "  " + full[:90] + " 123456\n    789\n"},
		{"the space is at the edge", full + " b", "  " + full + "\n    b\n"},
		{"a word that fits nowhere", long, "  " + long + "\n"},
		{"one that fits nowhere among others", "a " + long + " b", "  a\n    " + long + "\n    b\n"},
		{"twice", full[:97] + " " + full[:95] + " b", "  " + full[:97] + "\n    " + full[:95] + "\n    b\n"},
		{"a column of runes", strings.Repeat("é", 98), "  " + strings.Repeat("é", 98) + "\n"},
		{"what a terminal may obey", "\x1b[1m\r\n\a", `  \x1b[1m\r\n\a` + "\n"},
		{"what can be seen beside it", "it's a \"\\\" \x1b é", `  it's a "\" \x1b é` + "\n"},
		{"not UTF-8", "a\xffb", "  a\uFFFDb\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p page
			p.line(2, 4, test.text)
			if p.String() != test.want {
				t.Errorf("got\n%swant\n%s", p.String(), test.want)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	var p page
	p.message(2, 4, "a\r\n- b\n\nc\n")
	if want := "  a\n    - b\n\n    c\n"; p.String() != want {
		t.Errorf("got %q, want %q", p.String(), want)
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{fails(1), "1 clause fails"},
		{fails(3), "3 clauses fail"},
		{and(nil), ""},
		{and([]string{"a"}), "a"},
		{and([]string{"a", "b"}), "a and b"},
		{and([]string{"a", "b", "c"}), "a, b and c"},
		{labelList(nil), "none"},
		{labelList(map[string]string{"b": "", "a": "x y"}), `a="x y", b=""`},
		{pad("abc", 5) + "|", "abc    |"},
		{pad("abc", 2) + "|", "abc  |"},
		{cut("0123456789abcdefghij", 20), "0123456789abcdefghij"},
		{cut("0123456789abcdefghijk", 20), "012… (21 characters)"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	if got := column([]string{"a", strings.Repeat("x", 32), strings.Repeat("x", 33)}); got != 32 {
		t.Errorf("a column is %d wide", got)
	}
}
