package workshop

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// workflowFolders are where forges look for workflows.
var workflowFolders = []string{".github/workflows", ".gitea/workflows"}

// WorkflowFiles lists the workflows of all branches, each once as
// REPOSITORY/PATH, sorted: what a forge will run of the workshop. What
// repositories that are to be fetched have is not known yet; they stand for
// themselves.
func (w *Workshop) WorkflowFiles() ([]string, error) {
	var all []string
	for _, r := range w.Repositories {
		var found []string
		var err error
		switch {
		case r.Bare != "":
			err = bareWorkflows(r.Bare, func(file string, _ *object.File) error {
				found = append(found, file)
				return nil
			})
		case r.Git != "":
			found = []string{"... (of " + r.Git + ")"}
		default:
			found, err = w.folderWorkflows(r)
		}
		if err != nil {
			return nil, fmt.Errorf("repository %s: %w", r.Name, err)
		}
		for _, f := range found {
			all = append(all, r.Name+"/"+f)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (w *Workshop) folderWorkflows(r Repository) ([]string, error) {
	var all []string
	for _, b := range r.Branches {
		for _, folder := range workflowFolders {
			files, err := fs.Glob(w.Files, path.Join(RepositoryFolder, r.Name, b.Name, folder, "*.y*ml"))
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				all = append(all, path.Join(folder, path.Base(f)))
			}
		}
	}
	return all, nil
}

// bareWorkflows visits the workflows at the heads of all branches of a bare
// repository.
func bareWorkflows(dir string, visit func(path string, file *object.File) error) error {
	heads, err := bareHeads(dir)
	if err != nil {
		return err
	}
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	for _, head := range heads {
		commit, err := object.GetCommit(store, head)
		if err != nil {
			return err
		}
		tree, err := commit.Tree()
		if err != nil {
			return err
		}
		for _, folder := range workflowFolders {
			sub, err := tree.Tree(folder)
			if err != nil {
				continue // it has none
			}
			for _, e := range sub.Entries {
				if !e.Mode.IsFile() || !strings.HasSuffix(e.Name, ".yaml") && !strings.HasSuffix(e.Name, ".yml") {
					continue
				}
				file, err := sub.TreeEntryFile(&e)
				if err == nil {
					err = visit(path.Join(folder, e.Name), file)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Needs are what the workflows of a repository find on the forge.
type Needs struct {
	Secrets []string // those of the workshop's that they name
	// Environments says whether they ask which environment follows one, and so
	// run in environments that have Workflows.NextEnvironment.
	Environments bool
}

var secretName = regexp.MustCompile(`\bsecrets\.([A-Za-z_][A-Za-z0-9_]*)`)

// Needs reads a loaded repository's workflows for what they need: they say it
// themselves.
func (w *Workshop) Needs(r Repository) (n Needs, err error) {
	read := func(file string, data []byte) {
		if !strings.HasPrefix(file, ".github/workflows/") {
			return
		}
		for _, m := range secretName.FindAllSubmatch(data, -1) {
			if name := string(m[1]); slices.Contains(w.Workflows.Secrets, name) && !slices.Contains(n.Secrets, name) {
				n.Secrets = append(n.Secrets, name)
			}
		}
		n.Environments = n.Environments || w.Workflows.NextEnvironment != "" && bytes.Contains(data, []byte("vars."+w.Workflows.NextEnvironment))
	}
	for _, b := range r.Branches {
		for file, data := range b.Files {
			read(file, data)
		}
	}
	if r.Bare != "" {
		err = bareWorkflows(r.Bare, func(path string, file *object.File) error {
			content, err := file.Contents()
			read(path, []byte(content))
			return err
		})
	}
	slices.Sort(n.Secrets)
	return n, err
}
