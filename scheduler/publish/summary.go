package publish

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

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

// summary is what a plan does, for people. All lists are sorted.
type summary struct {
	added, changed, removed []pair
	existing                int      // how many assignments there are now
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
	slices.Sort(s.foldersAdded)
	slices.Sort(s.foldersRemoved)
	slices.SortFunc(s.other, func(a, b plan.Change) int { return strings.Compare(a.Path, b.Path) })
	return s
}

// existing counts the assignments that are there: those that the plan knows,
// and those that it removes. Folders of people may look alike, and must not
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
