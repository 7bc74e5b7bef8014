package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textLimit is how much of a text that a cluster has written is passed on, in bytes.
const textLimit = 4 << 10

// text is a text that a cluster, or somebody in git, has written, as it can be shown: without
// control characters, which move a terminal's cursor or turn the order of letters, and cut.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= textLimit {
		return s
	}
	end := textLimit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// textsOf is a value of decoded JSON with all of its strings as text has them.
func textsOf(value any) any {
	switch v := value.(type) {
	case string:
		return text(v)
	case []any:
		for i := range v {
			v[i] = textsOf(v[i])
		}
	case map[string]any:
		for key, one := range v {
			v[key] = textsOf(one)
		}
	}
	return value
}
