package plan

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// PromotedPath holds the base repository's commit, which the promotion flow
// reads from the merged pull request.
const PromotedPath = ".github/tracking/Promoted_Commit_Id"

const (
	readmeName     = "README.md"
	readmeSentence = "This folder contains deployment targets scheduled on the cluster type"
)

// branch is the present content of the GitOps branch, as far as the scheduler
// may write it, and what else decides how it is written.
type branch struct {
	conditions
	tree    *model.Tree
	root    string // the GitOpsRepo's path
	files   map[string][]byte
	folders map[string]*folder // by cluster type
}

// conditions are what an environment says about its branch.
type conditions struct {
	gitOps   model.Reference
	position model.Position // of findings about the environment as a whole

	incomplete, configIncomplete, schemasIncomplete bool
}

// folder is a first-level folder that may be a cluster type's.
type folder struct {
	ours    bool // the scheduler wrote it
	readme  []byte
	targets map[string][]file // what the scheduler may have generated, by target, sorted
}

// next reads the branch. It is the one before when nothing is different.
//
// All else there belongs to users: in the root, in folders that begin with a dot,
// in folders without the scheduler's README, and beside an assignment's three files.
func (b *branch) next(env *model.Environment, tree *model.Tree) *branch {
	n := &branch{
		tree: tree,
		root: model.CleanFolder(env.GitOps.Path),
		conditions: conditions{
			gitOps:            env.GitOps,
			position:          model.Position{Repo: redact.URL(env.ControlPlane.Repo), Branch: env.ControlPlane.Branch},
			incomplete:        env.Incomplete,
			configIncomplete:  env.ConfigIncomplete,
			schemasIncomplete: env.SchemasIncomplete,
		},
	}
	if b != nil && b.root == n.root && (b.tree == tree || tree != nil && b.tree != nil && sameContent(b.tree, tree)) {
		if b.conditions == n.conditions {
			return b
		}
		n.tree, n.files, n.folders = b.tree, b.files, b.folders
		return n
	}
	n.folders = map[string]*folder{}
	if tree != nil {
		n.files = tree.Files
	}
	for file, content := range n.files {
		n.add(file, content)
	}
	for _, f := range n.folders {
		for _, files := range f.targets {
			slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
		}
	}
	return n
}

// sameContent says whether two trees are of one commit.
func sameContent(a, b *model.Tree) bool {
	return a.Commit != "" && a.Commit == b.Commit && a.Repo == b.Repo && len(a.Files) == len(b.Files)
}

func (b *branch) add(name string, content []byte) {
	folderName, rest, ok := b.split(name)
	if !ok || !isGenerated(rest) {
		return
	}
	f := b.folders[folderName]
	if f == nil {
		f = &folder{targets: map[string][]file{}}
		b.folders[folderName] = f
	}
	if rest == readmeName {
		f.readme = content
		f.ours = !strings.HasPrefix(folderName, ".") && bytes.Contains(content, []byte(readmeSentence))
		return
	}
	target, rest, _ := strings.Cut(rest, "/")
	f.targets[target] = append(f.targets[target], file{rest, content})
}

// split divides a path below the root into its first folder and the rest.
func (b *branch) split(file string) (folder, rest string, ok bool) {
	if b.root != "" {
		if file, ok = strings.CutPrefix(file, b.root+"/"); !ok {
			return "", "", false
		}
	}
	return strings.Cut(file, "/")
}

// isGenerated says whether a path below a cluster type's folder is one that
// the scheduler makes.
func isGenerated(rest string) bool {
	if rest == readmeName {
		return true
	}
	folder, name, ok := strings.Cut(rest, "/")
	extension := path.Ext(name)
	stem := strings.TrimSuffix(name, extension)
	return ok && folder != "" && (extension == ".yaml" || extension == ".sh") &&
		(stem == namespaceFile || stem == configFile || stem == reconcilerFile)
}

// readme marks a folder as the scheduler's.
func readme(clusterType string) []byte {
	return fmt.Appendf(nil, "# %s\n\n%s `%s`.\n\nKalypso generates their manifests. What is changed in them by hand, the next pull request changes back.\n",
		clusterType, readmeSentence, clusterType)
}

// output is what a folder on the branch is to be.
type output struct {
	name        string // of the folder
	path        string // of the folder, with a slash at its end
	assignments []Assignment
	problems    []Problem
	wanted      [][]file // by assignment
	changes     []Change // sorted
	kept        []string // what would go if the model were complete
	held        bool     // an assignment would lose configuration if it were
	others      []Change // files that are wanted and belong to no assignment
}

func (b *branch) folderPath(name string) string {
	if b.root == "" {
		return name + "/"
	}
	return b.root + "/" + name + "/"
}

func (r *row) write(b *branch) {
	r.output = output{name: r.clusterType.Name, path: b.folderPath(r.clusterType.Name)}
	present := r.folder
	if present == nil {
		present = &folder{}
	}
	about := Change{Path: r.path + readmeName, Action: Add, Content: present.readme}
	if about.Content == nil {
		about.Content = readme(r.clusterType.Name)
		r.changes = append(r.changes, about)
	}
	r.others = append(r.others, about)
	r.assignments = make([]Assignment, 0, len(r.cells))
	r.wanted = make([][]file, 0, len(r.cells))
	if len(present.targets) == 0 {
		r.changes = slices.Grow(r.changes, maxFiles*len(r.cells))
	}
	paths := make([]string, 0, maxFiles*len(r.cells))
	for i := range r.cells {
		paths = r.assignment(&r.cells[i], b, present, paths)
	}
	planned := func(target string) bool {
		_, found := r.cell(target)
		return found
	}
	if foreign := r.leftovers(b, present, planned); len(foreign) > 0 {
		r.problems = append(r.problems, newProblem(model.Warning, Held, b.position, fmt.Sprintf("remove what is left over by hand, or remove %s: it is written anew, and then the rest goes", readmeName),
			"%s stays: %s%s does not say that the folder is the scheduler's", strings.Join(foreign, ", "), r.path, readmeName))
	}
	slices.SortFunc(r.changes, compareChanges)
}

func compareChanges(a, b Change) int { return strings.Compare(a.Path, b.Path) }

// assignment adds one assignment. Its files stay as they are when it failed, and,
// with a warning, when it would lose configuration while some of it cannot be read,
// or would change while its configuration cannot be validated. Its paths are
// appended to those of the row.
func (r *row) assignment(c *cell, b *branch, f *folder, paths []string) []string {
	there, wanted := f.targets[c.target.Name], c.result.files
	r.problems = append(r.problems, c.result.problems...)
	switch {
	case c.result.failed():
		wanted = there
	case b.schemasIncomplete && !sameFiles(there, wanted):
		wanted = there
		r.problems = append(r.problems, unvalidated(b.position, c.pair))
	case b.configIncomplete && !onlyAdds(there, wanted):
		wanted = there
		r.held = true
		r.problems = append(r.problems, newProblem(model.Warning, Held, b.position, "correct the errors of the environment first",
			"%s/%s stays as it is: it would lose configuration, and some configuration could not be read", c.clusterType.Name, c.target.Name))
	}
	a := Assignment{ClusterType: r.clusterType.Name, Target: c.target.Name, Policies: c.policies, Config: c.result.config}
	own := len(paths)
	for _, w := range wanted {
		file := r.path + c.target.Name + "/" + w.name
		paths = append(paths, file)
		old, found := findFile(there, w.name)
		switch {
		case !found:
			r.changes = append(r.changes, Change{Path: file, Action: Add, Content: w.content})
		case !bytes.Equal(old, w.content):
			r.changes = append(r.changes, Change{Path: file, Action: Modify, Content: w.content})
		}
	}
	for _, old := range there {
		if _, stays := findFile(wanted, old.name); !stays {
			r.gone(b, f, c.target.Name, old, len(wanted) > 0)
		}
	}
	if len(wanted) > 0 {
		a.Files = paths[own:len(paths):len(paths)]
	}
	r.assignments = append(r.assignments, a)
	r.wanted = append(r.wanted, wanted)
	return paths
}

func sameFiles(a, b []file) bool {
	return slices.EqualFunc(a, b, func(a, b file) bool { return a.name == b.name && bytes.Equal(a.content, b.content) })
}

func findFile(files []file, name string) ([]byte, bool) {
	for _, f := range files {
		if f.name == name {
			return f.content, true
		}
	}
	return nil, false
}

// gone removes a file of the scheduler's that is not wanted any more, unless the
// model is incomplete: what it was made from may still exist. That of an assignment
// that has other files is known to exist.
func (o *output) gone(b *branch, f *folder, target string, old file, exists bool) {
	if !f.ours {
		return
	}
	where, name := o.path+old.name, o.name
	if target != "" {
		where, name = o.path+target+"/"+old.name, o.name+"/"+target
	}
	if b.incomplete && !exists {
		o.kept = append(o.kept, name)
		o.others = append(o.others, Change{Path: where, Content: old.content})
		return
	}
	o.changes = append(o.changes, Change{Path: where, Action: Remove})
}

// leftovers removes targets on the branch that are not planned, and returns those
// that it must not remove because the folder may be a user's.
func (o *output) leftovers(b *branch, f *folder, planned func(target string) bool) (foreign []string) {
	for target, files := range f.targets {
		if planned(target) {
			continue
		}
		if !f.ours {
			foreign = append(foreign, target)
		}
		for _, old := range files {
			o.gone(b, f, target, old, false)
		}
	}
	slices.Sort(foreign)
	return foreign
}

// unplanned is the output of a folder whose cluster type is not there.
func unplanned(b *branch, name string, f *folder) *output {
	o := &output{name: name, path: b.folderPath(name)}
	o.leftovers(b, f, func(string) bool { return false })
	if f.readme != nil {
		o.gone(b, f, "", file{readmeName, f.readme}, false)
	}
	slices.SortFunc(o.changes, compareChanges)
	return o
}

func promotion(b *branch, commit string) *output {
	folder, name := path.Split(PromotedPath)
	o := &output{path: b.folderPath(strings.TrimSuffix(folder, "/"))}
	change := Change{Path: o.path + name, Action: Add, Content: []byte(commit + "\n")}
	present, found := b.files[change.Path]
	if found {
		change.Action = Modify
	}
	if strings.TrimSpace(string(present)) == commit {
		change.Content = present
	} else {
		o.changes = []Change{change}
	}
	o.others = []Change{change}
	return o
}

// keptProblem warns of what is kept because the model is incomplete.
func keptProblem(b *branch, kept []string) Problem {
	slices.Sort(kept)
	return newProblem(model.Warning, Held, b.position, "correct the errors; what is really gone is removed then",
		"nothing is removed while the environment has errors: %s", strings.Join(slices.Compact(kept), ", "))
}

// onlyAdds says whether every line that is there now will still be there.
func onlyAdds(present, wanted []file) bool {
	for _, old := range present {
		content, stays := findFile(wanted, old.name)
		if !stays {
			return false
		}
		lines := map[string]int{}
		for line := range strings.Lines(string(content)) {
			lines[strings.TrimSuffix(line, "\n")]++
		}
		for line := range strings.Lines(string(old.content)) {
			line = strings.TrimSuffix(line, "\n")
			if lines[line]--; lines[line] < 0 {
				return false
			}
		}
	}
	return true
}

func filesOf(outputs []*output) map[string][]byte {
	files := map[string][]byte{}
	for _, o := range outputs {
		for i, a := range o.assignments {
			for n, file := range a.Files {
				files[file] = o.wanted[i][n].content
			}
		}
		for _, other := range o.others {
			files[other.Path] = other.Content
		}
	}
	return files
}
