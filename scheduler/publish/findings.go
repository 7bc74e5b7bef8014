package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// issueTitle is the title of the issue about an assignment.
func issueTitle(environment string, p pair) string {
	return fitTitle(plain(fmt.Sprintf("Can't generate manifests for deployment target %s in cluster type %s in %s environment",
		p.target, p.clusterType, environment)))
}

var issueTitles = regexp.MustCompile(`^Can't generate manifests for deployment target (\S+) in cluster type (\S+) in (\S+) environment$`)

// pairInTitle is what issueTitle was made of.
func pairInTitle(title string) (environment string, p pair, ok bool) {
	m := issueTitles.FindStringSubmatch(title)
	if m == nil {
		return "", pair{}, false
	}
	return m[3], pair{clusterType: m[2], target: m[1]}, true
}

// findingsDigest identifies what is wrong. Where it stands does not count: a
// line that moves is no news to a person who has closed the issue.
func findingsDigest(problems []plan.Problem) string {
	messages := unique(problems, func(p plan.Problem) string { return p.Message + "\x00" })
	slices.Sort(messages)
	sum := sha256.Sum256([]byte(strings.Join(messages, "")))
	return hex.EncodeToString(sum[:])
}

// The rooms that the lists of an issue may fill, in bytes.
const (
	roomFindings = 20_000
	roomPlaces   = 20_000
)

// issueBody words what is wrong with an assignment and where to fix it.
func (w words) issueBody(problems []plan.Problem) string {
	var b strings.Builder
	same := func(s string) string { return s }
	section := func(heading string, isOfIt func(plan.Problem) bool) {
		lines := unique(problems, func(p plan.Problem) string {
			if !isOfIt(p) {
				return ""
			}
			return "- " + message(p.Message) + "\n"
		})
		if len(lines) == 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(heading + "\n\n")
		writeList(&b, roomFindings, "findings", lines, same)
	}
	isConfig := func(p plan.Problem) bool { return p.Reason == plan.InvalidConfig }
	section("Config data validation failed:", isConfig)
	section("Generating the manifests failed:", func(p plan.Problem) bool { return !isConfig(p) })
	places := unique(problems, func(p plan.Problem) string {
		at := p.Position.String()
		switch {
		case at == "" && p.Hint == "":
			return ""
		case at == "":
			return "- " + message(p.Hint) + "\n"
		case p.Hint == "":
			return "- " + w.place(p.Position) + "\n"
		}
		return "- " + w.place(p.Position) + ": " + message(p.Hint) + "\n"
	})
	if len(places) > 0 {
		b.WriteString("\nWhere to fix it:\n\n")
		writeList(&b, roomPlaces, "places", places, same)
	}
	return b.String()
}

// unique words problems, leaving out what was said before.
func unique(problems []plan.Problem, word func(plan.Problem) string) []string {
	var lines []string
	said := map[string]bool{}
	for _, p := range problems {
		if line := word(p); line != "" && !said[line] {
			said[line] = true
			lines = append(lines, line)
		}
	}
	return lines
}
