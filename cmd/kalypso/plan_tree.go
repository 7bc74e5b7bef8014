package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// showTree prints what the GitOps branches will hold.
func (a *app) showTree(p *plans) error {
	return a.showPlans(p, func(w io.Writer, s style, one planned) {
		if len(one.Changes)+len(one.Problems) == 0 {
			fmt.Fprintln(w)
		}
		root := one.tree()
		for _, name := range slices.Sorted(maps.Keys(root.children)) {
			root.children[name].write(w, s, name, 0)
		}
		fmt.Fprintln(w)
	})
}

// mark is what happens to a file, or to all files of a folder.
type mark byte

const (
	unchanged mark = ' '
	added     mark = '+'
	modified  mark = '~'
	removed   mark = '-'
	held      mark = '!' // has a problem
)

func (m mark) paint(s style, text string) string {
	switch m {
	case added:
		return s.good(text)
	case modified, held:
		return s.warn(text)
	case removed:
		return s.bad(text)
	}
	return text
}

// node is a file, or a folder when it has children.
type node struct {
	mark     mark
	note     string
	children map[string]*node
}

func (n *node) at(parts ...string) *node {
	for _, part := range parts {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		if n.children[part] == nil {
			n.children[part] = &node{mark: unchanged}
		}
		n = n.children[part]
	}
	return n
}

// has says whether there is a node already.
func (n *node) has(parts ...string) bool {
	for _, part := range parts {
		if n = n.children[part]; n == nil {
			return false
		}
	}
	return true
}

// tree is everything that the plan is about: the folders of cluster types,
// their assignments with files, what is removed, and what would be if the
// environment had no errors.
func (p planned) tree() *node {
	root := &node{}
	for _, c := range p.env.ClusterTypes {
		readme := path.Join(p.root(), c.Name, "README.md")
		if _, ok := p.before[readme]; ok {
			root.at(p.parts(readme)...)
		}
	}
	for _, a := range p.Assignments {
		root.at(a.ClusterType, a.Target).note = strings.Join(a.Policies, ", ")
		for _, file := range a.Files {
			root.at(p.parts(file)...)
		}
	}
	marks := map[plan.Action]mark{plan.Add: added, plan.Modify: modified, plan.Remove: removed}
	for _, c := range p.Changes {
		root.at(p.parts(c.Path)...).mark = marks[c.Action]
	}
	kept := p.kept(root)
	root.sum()
	for _, g := range p.groups() {
		if g.target == "" {
			continue
		}
		if n := root.at(g.clusterType, g.target); n.note == "" {
			n.note = g.why
		}
	}
	for _, folder := range kept {
		folder.mark = held
		if folder.note == "" {
			folder.note = "not removed while the environment has errors"
		}
	}
	for _, problem := range p.Problems {
		if problem.Target != "" && problem.Severity == model.Error {
			root.at(problem.ClusterType, problem.Target).mark = held
		}
	}
	return root
}

// kept adds files that the plan keeps for want of a complete model, which belong
// to nothing else, and returns their folders.
func (p planned) kept(root *node) []*node {
	var folders []*node
	for file := range p.Files() {
		parts := p.parts(file)
		if clusterType, _ := p.owner(file); clusterType == "" || root.has(parts...) {
			continue
		}
		root.at(parts...)
		folders = append(folders, root.at(parts[:len(parts)-1]...))
	}
	return folders
}

// parts are the elements of a path below the plan's folder.
func (p planned) parts(file string) []string {
	if root := p.root(); root != "" {
		file = strings.TrimPrefix(file, root+"/")
	}
	return strings.Split(file, "/")
}

// sum gives a folder the mark that all in it have, or "modified" for several.
func (n *node) sum() mark {
	first := true
	for _, child := range n.children {
		m := child.sum()
		if first {
			n.mark, first = m, false
		} else if n.mark != m {
			n.mark = modified
		}
	}
	return n.mark
}

func (n *node) write(w io.Writer, s style, name string, depth int) {
	if n.children != nil || n.note != "" {
		name += "/"
	}
	line := fmt.Sprintf("%s%c %s", strings.Repeat("  ", depth), n.mark, name)
	line = n.mark.paint(s, line)
	if n.note != "" {
		line += s.faint("  (" + n.note + ")")
	}
	fmt.Fprintln(w, line)
	for _, child := range slices.Sorted(maps.Keys(n.children)) {
		n.children[child].write(w, s, child, depth+1)
	}
}
