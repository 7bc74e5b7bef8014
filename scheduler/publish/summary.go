package publish

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-dev/kalypso/internal/markdown"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// pair is one deployment target on one cluster type.
type pair struct {
	clusterType, target string
}

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.clusterType, b.clusterType), cmp.Compare(a.target, b.target))
}

// promotedFile is where a GitOps repository remembers the promoted commit,
// below the environment's path.
const promotedFile = ".github/tracking/Promoted_Commit_Id"

// below returns a path relative to a root folder, and false when it is not in
// it.
func below(root, file string) (string, bool) {
	root = strings.Trim(path.Clean("/"+root), "/")
	if root == "" {
		return file, true
	}
	return strings.CutPrefix(file, root+"/")
}

// pairOf returns the assignment that a file of the GitOps repository belongs
// to. Files that the scheduler does not write belong to none.
func pairOf(root, file string) (pair, bool) {
	rel, ok := below(root, file)
	parts := strings.Split(rel, "/")
	if !ok || len(parts) != 3 || strings.HasPrefix(parts[0], ".") {
		return pair{}, false
	}
	switch stem, _, _ := strings.Cut(parts[2], "."); stem {
	case "namespace", "platform-config", "reconciler":
		return pair{parts[0], parts[1]}, true
	}
	return pair{}, false
}

// PairOf returns the assignment that a file of a GitOps branch is for, by its path from
// the repository's root; root is the folder of the environment. It is false for files that
// no assignment has.
func PairOf(root, file string) (clusterType, target string, ok bool) {
	p, ok := pairOf(root, file)
	return p.clusterType, p.target, ok
}

// pairs returns the assignments that files are for.
func pairs(root string, files map[string][]byte) map[pair]bool {
	found := map[pair]bool{}
	for file := range files {
		if p, ok := pairOf(root, file); ok {
			found[p] = true
		}
	}
	return found
}

// summary is what a plan does, for users. All lists are sorted.
type summary struct {
	added, changed, removed []pair
	existing                int    // how many assignments there are now
	namespaces              []pair // that go, by their name in place of a target's
	keys                    []keyChange
	foldersAdded            []string // cluster types
	foldersRemoved          []string
	other                   []plan.Change
	promotion               bool
	promotedFrom            string
	promotedTo              string
}

// summarize sorts a plan's changes by what they mean. base are the files that
// the plan was made against, and result those with its changes.
func summarize(p *plan.Plan, base, result map[string][]byte) summary {
	var s summary
	root := p.GitOps.Path
	before, after := pairs(root, base), pairs(root, result)
	touched := map[pair]bool{}
	for _, c := range p.Changes {
		rel, _ := below(root, c.Path)
		if pr, ok := pairOf(root, c.Path); ok {
			touched[pr] = true
			continue
		}
		folder, name := path.Split(rel)
		folder = strings.TrimSuffix(folder, "/")
		switch {
		case rel == promotedFile || c.Path == promotedFile:
			s.promotion = c.Action != plan.Remove
			s.promotedFrom = strings.TrimSpace(string(base[c.Path]))
			s.promotedTo = strings.TrimSpace(string(c.Content))
		case name == "README.md" && folder != "" && !strings.Contains(folder, "/") && c.Action == plan.Add:
			s.foldersAdded = append(s.foldersAdded, folder)
		case name == "README.md" && folder != "" && !strings.Contains(folder, "/") && c.Action == plan.Remove:
			s.foldersRemoved = append(s.foldersRemoved, folder)
		default:
			s.other = append(s.other, c)
		}
	}
	for _, pr := range slices.SortedFunc(maps.Keys(touched), comparePairs) {
		switch {
		case !before[pr]:
			s.added = append(s.added, pr)
		case !after[pr]:
			s.removed = append(s.removed, pr)
		default:
			s.changed = append(s.changed, pr)
		}
	}
	s.existing = existing(p, before, s.removed)
	s.namespaces = namespacesGone(p, base, result)
	s.keys = keyChanges(p, s.changed, base, result)
	slices.Sort(s.foldersAdded)
	slices.Sort(s.foldersRemoved)
	slices.SortFunc(s.other, func(a, b plan.Change) int { return strings.Compare(a.Path, b.Path) })
	return s
}

// existing counts the assignments that are there: those that the plan knows,
// and those that it removes. Folders of users may look alike, and must not
// make a mass deletion look small.
func existing(p *plan.Plan, before map[pair]bool, removed []pair) int {
	known := map[pair]bool{}
	for _, at := range removed {
		known[at] = true
	}
	for _, a := range p.Assignments {
		known[pair{a.ClusterType, a.Target}] = true
	}
	n := 0
	for at := range known {
		if before[at] {
			n++
		}
	}
	return n
}

// maxTitle is how wide a title may be, where what is not ASCII counts twice.
// Gitea has the smallest limit there is, 255, and takes five of them to mark a
// draft. What is wider it cuts silently, so that the title would never be
// as wanted.
const maxTitle = 250

// title describes a plan in one line.
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
	return fitTitle(markdown.Title(fmt.Sprintf("Kalypso: %s: %s", environment, strings.Join(parts, ", "))))
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
	left, cut := maxTitle, 0
	for i, r := range s {
		if left -= width(r); left < 0 {
			return s[:cut] + "…"
		}
		if left >= width('…') {
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
