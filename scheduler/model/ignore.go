package model

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignoreFile names files and folders that are not part of the platform model,
// in the syntax of .gitignore. Flux's source controller gives it this name.
const ignoreFile = ".sourceignore"

// environmentsFolder is where a control plane's default branch has its
// Environment objects.
const environmentsFolder = ".environments"

// Files returns the paths of a tree's YAML files at or below a folder that are
// not ignored, sorted: those that the platform model is read from.
func Files(tree *Tree, folder string) []string {
	ignored := ignoreMatcher(tree)
	return filesIn(tree, CleanFolder(folder), func(file string) bool { return !ignored(file) })
}

// ignoredEnvironments returns the paths of YAML files that are ignored although
// they lie in the .environments/ of a folder or of the whole tree, sorted.
func ignoredEnvironments(tree *Tree, folder string) []string {
	folder = CleanFolder(folder)
	ignored := ignoreMatcher(tree)
	return filesIn(tree, folder, func(file string) bool {
		special := within(file, environmentsFolder) || within(file, path.Join(folder, environmentsFolder))
		return special && ignored(file)
	})
}

// filesIn returns the YAML files at or below a clean folder that are wanted.
func filesIn(tree *Tree, folder string, wanted func(file string) bool) []string {
	var files []string
	for file := range tree.Files {
		if isYAML(file) && within(file, folder) && !inForgeFolder(file) && wanted(file) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}

func isYAML(file string) bool { return path.Ext(file) == ".yaml" || path.Ext(file) == ".yml" }

// inForgeFolder says whether a file is for a forge, such as a workflow. Those are
// skipped in any folder, as .github/ is by Flux's source controller.
func inForgeFolder(file string) bool {
	elements := strings.Split(path.Dir(file), "/")
	return slices.Contains(elements, ".gitea") || slices.Contains(elements, ".github")
}

// ignoreMatcher says whether an ignore file names a file. A folder's ignore file rules
// what is below the folder; a deeper one and a later line win, but nothing
// brings a file of an ignored folder back, as with git.
func ignoreMatcher(tree *Tree) func(file string) bool {
	var sources []string
	for file := range tree.Files {
		if path.Base(file) == ignoreFile {
			sources = append(sources, file)
		}
	}
	slices.SortFunc(sources, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	var patterns []gitignore.Pattern
	for _, source := range sources {
		var domain []string
		if dir := path.Dir(source); dir != "." {
			domain = strings.Split(dir, "/")
		}
		for line := range strings.Lines(string(tree.Files[source])) {
			line = strings.TrimRight(line, "\r\n")
			if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
				continue
			}
			patterns = append(patterns, gitignore.ParsePattern(strings.TrimRight(line, " \t"), domain))
		}
	}
	matcher := gitignore.NewMatcher(patterns)
	return func(file string) bool {
		elements := strings.Split(file, "/")
		for n := 1; n < len(elements); n++ {
			if matcher.Match(elements[:n], true) {
				return true
			}
		}
		return matcher.Match(elements, false)
	}
}
