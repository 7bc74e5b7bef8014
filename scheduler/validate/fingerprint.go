package validate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// fingerprint gives every finding of a sorted list its identity: what it says
// about what, without lines. Those that are equal so far are numbered.
func fingerprint(findings []Finding) {
	seen := map[string]int{}
	for i := range findings {
		f := &findings[i]
		id := fmt.Sprintf("%q %q %q %q %q %q", f.Rule, branchName(f.Position.Repo, f.Position.Branch), f.Position.File,
			f.object.kind, f.object.name, withoutLines(f.Message))
		seen[id]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", id, seen[id]))
		f.Fingerprint = hex.EncodeToString(sum[:12])
	}
}

var (
	placeInText = regexp.MustCompile(`(\.ya?ml):\d+(:\d+)?`)
	lineInText  = regexp.MustCompile(`\bline \d+`)
)

// withoutLines takes line numbers out of a message.
func withoutLines(message string) string {
	return lineInText.ReplaceAllString(placeInText.ReplaceAllString(message, "$1"), "line")
}

// branchName is a branch of a repository for people: "repository@branch".
func branchName(repo, branch string) string {
	return model.Position{Repo: repo, Branch: branch}.String()
}
