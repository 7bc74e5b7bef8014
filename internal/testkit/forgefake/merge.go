package forgefake

import (
	"bytes"
	"maps"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// merged returns what a base branch would hold with a pull request merged, and
// the files that both sides have changed since they parted.
func (r *repository) merged(p *forge.PullRequest) (files map[string][]byte, conflicts []string) {
	head, base := r.commits[r.branches[p.Head]], r.commits[r.branches[p.Base]]
	from := r.ancestor(head, base)
	all := maps.Clone(from)
	maps.Copy(all, head.files)
	maps.Copy(all, base.files)
	same := func(path string, a, b map[string][]byte) bool {
		x, inA := a[path]
		y, inB := b[path]
		return inA == inB && bytes.Equal(x, y)
	}
	files = maps.Clone(base.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		switch {
		case same(path, head.files, from) || same(path, head.files, base.files):
		case !same(path, base.files, from):
			conflicts = append(conflicts, path)
		default:
			delete(files, path)
			if content, ok := head.files[path]; ok {
				files[path] = content
			}
		}
	}
	return files, conflicts
}

// ancestor returns the files of the commit that two branches grew from.
func (r *repository) ancestor(a, b *commit) map[string][]byte {
	seen := map[string]bool{}
	for c := a; c != nil; c = r.commits[c.parent] {
		seen[c.id] = true
	}
	for c := b; c != nil; c = r.commits[c.parent] {
		if seen[c.id] {
			return c.files
		}
	}
	return map[string][]byte{}
}
