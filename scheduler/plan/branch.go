package plan

import (
	"bytes"
	"path"
	"slices"
	"strings"

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
	tree    *model.Tree
	gitOps  model.Reference
	place   model.Position // of findings about the environment as a whole
	root    string         // the GitOpsRepo's path
	files   map[string][]byte
	folders map[string]*folder // by cluster type

	incomplete        bool // the environment is
	configIncomplete  bool // its ConfigMaps are
	schemasIncomplete bool // its ConfigSchemas are
}

// folder is a first-level folder that may be a cluster type's.
type folder struct {
	ours    bool // the scheduler wrote it
	readme  []byte
	targets map[string][]file // what the scheduler may have generated, by target, sorted
}

// next reads the branch. It is the one before when nothing is different.
//
// The scheduler owns nothing else there: in the root, in folders that begin
// with a dot, in folders without the scheduler's README, and beside the three
// files of an assignment people may keep what they like.
func (b *branch) next(env *model.Environment, tree *model.Tree) *branch {
	n := &branch{
		tree:              tree,
		gitOps:            env.GitOps,
		place:             model.Position{Repo: env.ControlPlane.Repo, Branch: env.ControlPlane.Branch},
		root:              strings.TrimPrefix(path.Clean("/"+env.GitOps.Path), "/"),
		incomplete:        env.Incomplete,
		configIncomplete:  env.ConfigIncomplete,
		schemasIncomplete: env.SchemasIncomplete,
	}
	sameTree := b != nil && b.root == n.root && (b.tree == tree || tree != nil && b.tree != nil && sameContent(b.tree, tree))
	if sameTree {
		n.tree, n.files, n.folders = b.tree, b.files, b.folders
		if b.gitOps == n.gitOps && b.place == n.place && b.incomplete == n.incomplete &&
			b.configIncomplete == n.configIncomplete && b.schemasIncomplete == n.schemasIncomplete {
			return b
		}
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
			slices.SortFunc(files, compareFiles)
		}
	}
	return n
}

// sameContent says whether two trees are of one commit, or share their files.
func sameContent(a, b *model.Tree) bool {
	return a.Commit != "" && a.Commit == b.Commit && a.Repo == b.Repo && len(a.Files) == len(b.Files)
}

func compareFiles(a, b file) int { return strings.Compare(a.name, b.name) }

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
	if !ok || folder == "" {
		return false
	}
	stem, ok := strings.CutSuffix(name, ".yaml")
	if !ok {
		if stem, ok = strings.CutSuffix(name, ".sh"); !ok {
			return false
		}
	}
	return stem == namespaceFile || stem == configFile || stem == reconcilerFile
}
