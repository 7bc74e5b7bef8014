// Package addresses puts the addresses of a forge in place of those that files
// have.
package addresses

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Replacer replaces addresses in texts. The zero one, and nil, replace nothing.
type Replacer struct {
	pattern *regexp.Regexp
	from    []string // the longest first: one may be the beginning of another
	to      map[string]string
}

// NewReplacer returns what replaces each address by another.
func NewReplacer(to map[string]string) *Replacer {
	if len(to) == 0 {
		return &Replacer{}
	}
	r := &Replacer{to: to, from: slices.SortedFunc(maps.Keys(to), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})}
	quoted := make([]string, len(r.from))
	for i, from := range r.from {
		quoted[i] = regexp.QuoteMeta(from)
	}
	r.pattern = regexp.MustCompile(strings.Join(quoted, "|"))
	return r
}

// Replace returns a text with the addresses replaced; what is no text is
// returned as it is.
func (r *Replacer) Replace(data []byte) []byte {
	if r == nil || r.pattern == nil || bytes.IndexByte(data, 0) >= 0 {
		return data
	}
	var out []byte
	end := 0
	for _, at := range r.pattern.FindAllIndex(data, -1) {
		for _, from := range r.from {
			rest, is := bytes.CutPrefix(data[at[0]:], []byte(from))
			if !is || continues(rest) { // the address of something else, with a longer name
				continue
			}
			out = append(append(out, data[end:at[0]]...), r.to[from]...)
			end = len(data) - len(rest)
			break
		}
	}
	if end == 0 {
		return data
	}
	return append(out, data[end:]...)
}

// continues says whether what follows an address belongs to its last name.
func continues(rest []byte) bool {
	if len(rest) == 0 {
		return false
	}
	switch c := rest[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		return true
	case c == '.':
		return len(rest) > 1 && !bytes.HasPrefix(rest, []byte(".git")) && rest[1] != ' ' && rest[1] != '\n'
	}
	return false
}
