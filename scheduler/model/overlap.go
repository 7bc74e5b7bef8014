package model

import (
	"bytes"
	"slices"
)

// readFolder is a folder of a tree whose documents have been read.
type readFolder struct {
	tree   *Tree
	folder string // clean
}

// documents returns the documents of a folder's files, except for files that
// were read before with the same content: a base may lie in a folder of the
// environment's own, and what is there is there once.
func (l *loader) documents(tree *Tree, folder string) []document {
	all := l.now.documents(tree, folder, &l.all.findings, &l.all.findings)
	before := slices.DeleteFunc(slices.Clone(l.folders), func(f readFolder) bool {
		return f.tree.Repo != tree.Repo || f.tree.Branch != tree.Branch
	})
	l.folders = append(l.folders, readFolder{tree, cleanFolder(folder)})
	if len(before) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(doc document) bool {
		file := doc.position.File
		return slices.ContainsFunc(before, func(f readFolder) bool {
			content, found := f.tree.Files[file]
			return found && within(file, f.folder) && bytes.Equal(content, tree.Files[file])
		})
	})
}
