package publish

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeList writes as many lines as there is room for, in bytes, and how many
// more there are of what.
func writeList[T any](b *strings.Builder, room int, what string, list []T, line func(T) string) {
	for i, item := range list {
		text := line(item)
		if room -= len(text); room < 0 {
			fmt.Fprintf(b, "\nand %d more %s.\n", len(list)-i, what)
			return
		}
		b.WriteString(text)
	}
}

var unmark = strings.NewReplacer("<!--", "&lt;!--", "-->", "--&gt;")

// plain makes one line of a text from the platform model, without what a forge
// would not keep as it is, and keeps it from passing for a marker.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(unmark.Replace(s))
}

// clip cuts a text to so many characters, and shows that it did.
func clip(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// message is plain text of a bounded length.
func message(s string) string { return plain(clip(s, maxMessage)) }

// cell is plain text for a table.
func cell(s string) string { return strings.ReplaceAll(plain(s), "|", `\|`) }

// code is plain text shown as it is.
func code(s string) string { return "`" + strings.ReplaceAll(plain(s), "`", "'") + "`" }
