package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// ignoreMark in a comment silences the rules that are named after it, for the
// comment's line or, when the comment has a line of its own, for the next one.
const ignoreMark = "kalypso:ignore"

var ignoreComment = regexp.MustCompile(`#.*` + ignoreMark + `\s+([a-z0-9, -]+)`)

// suppress drops warnings and notes that a comment silences, and counts them.
// Errors cannot be silenced: what they are about does not work.
func suppress(findings []Finding, subjects []Subject) (kept []Finding, suppressed int) {
	kept = []Finding{}
	lines := map[model.Position][]string{}
	for _, f := range findings {
		if f.Severity != Error && slices.Contains(silenced(f.Position, subjects, lines), f.Rule) {
			suppressed++
			continue
		}
		kept = append(kept, f)
	}
	return kept, suppressed
}

// silenced returns the rules that comments silence at a place. Files that have
// been split into lines are kept in lines.
func silenced(at model.Position, subjects []Subject, lines map[model.Position][]string) []string {
	file := model.Position{Repo: at.Repo, Branch: at.Branch, File: at.File}
	text, known := lines[file]
	if !known {
		text = linesOf(file, subjects)
		lines[file] = text
	}
	var rules []string
	for _, n := range []int{at.Line - 1, at.Line - 2} {
		if n < 0 || n >= len(text) {
			continue
		}
		if n == at.Line-2 && !strings.HasPrefix(strings.TrimSpace(text[n]), "#") {
			continue
		}
		if found := ignoreComment.FindStringSubmatch(text[n]); found != nil {
			rules = append(rules, strings.FieldsFunc(found[1], func(c rune) bool { return c == ',' || c == ' ' })...)
		}
	}
	return rules
}

func linesOf(file model.Position, subjects []Subject) []string {
	for _, s := range subjects {
		for _, source := range s.Trees {
			if source.Reference.Repo != file.Repo || source.Reference.Branch != file.Branch {
				continue
			}
			if content, ok := source.Tree.Files[file.File]; ok {
				return strings.Split(string(content), "\n")
			}
		}
	}
	return nil
}
