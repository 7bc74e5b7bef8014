package view

import (
	"path"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// Mark is what happens to a file, or to all files of a folder.
type Mark byte

const (
	unchanged Mark = ' '
	Added     Mark = '+'
	Modified  Mark = '~'
	Removed   Mark = '-'
	Held      Mark = '!' // has a problem
)

// Node is a file, or a folder when it has children.
type Node struct {
	Mark     Mark
	Note     string
	Children map[string]*Node
}

func (n *Node) at(parts ...string) *Node {
	for _, part := range parts {
		if n.Children == nil {
			n.Children = map[string]*Node{}
		}
		if n.Children[part] == nil {
			n.Children[part] = &Node{Mark: unchanged}
		}
		n = n.Children[part]
	}
	return n
}

// has says whether there is a node already.
func (n *Node) has(parts ...string) bool {
	for _, part := range parts {
		if n = n.Children[part]; n == nil {
			return false
		}
	}
	return true
}

// Tree is everything that the plan is about: the folders of cluster types,
// their assignments with files, what is removed, and what would be if the
// environment had no errors.
func (p Plan) Tree() *Node {
	root := &Node{}
	for _, c := range p.Model.ClusterTypes {
		readme := path.Join(p.root(), c.Name, "README.md")
		if _, ok := p.Before[readme]; ok {
			root.at(p.parts(readme)...)
		}
	}
	for _, a := range p.Assignments {
		root.at(a.ClusterType, a.Target).Note = strings.Join(a.Policies, ", ")
		for _, file := range a.Files {
			root.at(p.parts(file)...)
		}
	}
	marks := map[plan.Action]Mark{plan.Add: Added, plan.Modify: Modified, plan.Remove: Removed}
	for _, c := range p.Changes {
		root.at(p.parts(c.Path)...).Mark = marks[c.Action]
	}
	kept := p.kept(root)
	root.sum()
	for _, g := range p.Groups() {
		if g.Target == "" {
			continue
		}
		if n := root.at(g.ClusterType, g.Target); n.Note == "" {
			n.Note = g.Why
		}
	}
	for _, folder := range kept {
		folder.Mark = Held
		if folder.Note == "" {
			folder.Note = "not removed while the environment has errors"
		}
	}
	for _, problem := range p.Problems {
		if problem.Target != "" && problem.Severity == model.Error {
			root.at(problem.ClusterType, problem.Target).Mark = Held
		}
	}
	return root
}

// kept adds files that the plan keeps for want of a complete model, which belong
// to nothing else, and returns their folders.
func (p Plan) kept(root *Node) []*Node {
	var folders []*Node
	for file := range p.Files() {
		parts := p.parts(file)
		if clusterType, _ := p.Owner(file); clusterType == "" || root.has(parts...) {
			continue
		}
		root.at(parts...)
		folders = append(folders, root.at(parts[:len(parts)-1]...))
	}
	return folders
}

// parts are the elements of a path below the plan's folder.
func (p Plan) parts(file string) []string {
	if root := p.root(); root != "" {
		file = strings.TrimPrefix(file, root+"/")
	}
	return strings.Split(file, "/")
}

// sum gives a folder the mark that all in it have, or "modified" for several.
func (n *Node) sum() Mark {
	first := true
	for _, child := range n.Children {
		m := child.sum()
		if first {
			n.Mark, first = m, false
		} else if n.Mark != m {
			n.Mark = Modified
		}
	}
	return n.Mark
}
