package publish

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxTitle is how wide a title may be, where what is not ASCII counts twice.
// Gitea has the smallest limit there is, 255, and takes five of them to mark a
// draft. What is wider it cuts without a word, so that the title would never
// be as wanted.
const maxTitle = 250

// title words a plan in one line.
func title(environment string, s summary) string {
	var parts []string
	part := func(one, preposition, many string, list []pair) {
		switch len(list) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("%s %s %s %s", one, list[0].target, preposition, list[0].clusterType))
		default:
			parts = append(parts, fmt.Sprintf("%s %d assignments", many, len(list)))
		}
	}
	part("assign", "to", "add", s.added)
	part("update", "on", "update", s.changed)
	part("remove", "from", "remove", s.removed)
	if s.promotion {
		parts = append(parts, "promote "+short(s.promotedTo))
	}
	if len(parts) == 0 {
		parts = foldersTitle(s)
	}
	return fitTitle(fmt.Sprintf("Kalypso: %s: %s", environment, plain(strings.Join(parts, ", "))))
}

func foldersTitle(s summary) []string {
	var parts []string
	part := func(verb string, list []string) {
		switch len(list) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("%s cluster type %s", verb, list[0]))
		default:
			parts = append(parts, fmt.Sprintf("%s %d cluster types", verb, len(list)))
		}
	}
	part("add", s.foldersAdded)
	part("remove", s.foldersRemoved)
	switch {
	case len(parts) > 0:
	case len(s.other) == 1:
		parts = []string{"change " + s.other[0].Path}
	default:
		parts = []string{fmt.Sprintf("change %d files", len(s.other))}
	}
	return parts
}

func short(commit string) string {
	if len(commit) > 7 {
		return commit[:7]
	}
	return commit
}

// fitTitle cuts a title that is too wide, and shows that it did.
func fitTitle(s string) string {
	room, cut := maxTitle, 0
	for i, r := range s {
		if room -= width(r); room < 0 {
			return s[:cut] + "…"
		}
		if room >= width('…') {
			cut = i + utf8.RuneLen(r)
		}
	}
	return s
}

func width(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	return 2
}
