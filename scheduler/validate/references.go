package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// references reports what is written in repositories and leads nowhere.
// Repositories and branches that cannot be read the model reports.
func (e *examination) references() {
	if ref := e.Model.GitOps; e.NoGitOps {
		e.report(Finding{
			Rule: model.MissingReference, Severity: Error, Position: e.gitOpsPosition(),
			Message: fmt.Sprintf("repository %s or its branch %s is not there", ref.Repo, ref.Branch),
			Hint:    "create the branch; pull requests with the generated manifests go there",
		})
	}
	for _, s := range e.Trees {
		e.emptyPath(s)
	}
	e.placeholders()
}

// gitOpsPosition is where the environment names its GitOps branch.
func (e *examination) gitOpsPosition() model.Position {
	return cmp.Or(e.Model.GitOpsRepo.At("spec", "branch"), e.branch())
}

// sharedGitOps reports environments that publish to the same folder of the same
// branch, each where it says so.
func sharedGitOps(all []*examination) {
	type target struct{ repo, branch, folder string }
	first := map[target]*examination{}
	for _, e := range all {
		ref := e.Model.GitOps
		if ref.Repo == "" {
			continue
		}
		at := target{strings.TrimSuffix(strings.TrimRight(ref.Repo, "/"), ".git"), ref.Branch, model.CleanFolder(ref.Path)}
		other, found := first[at]
		if !found {
			first[at] = e
			continue
		}
		e.report(e.sharesGitOps(other))
		other.report(other.sharesGitOps(e))
	}
}

func (e *examination) sharesGitOps(other *examination) Finding {
	ref := e.Model.GitOps
	return Finding{
		Rule: SharedGitOps, Severity: Error, Position: e.gitOpsPosition(),
		Message: fmt.Sprintf("environment %s publishes to %s, and so does %s", e.Model.Name, branchName(ref.Repo, ref.Branch), other.Model.Name),
		Hint:    "give each environment a branch or a folder of its own",
	}
}

// emptyPath reports a reference to a folder that holds no file.
func (e *examination) emptyPath(s Source) {
	folder := model.CleanFolder(s.Reference.Path)
	if folder == "" {
		return // what an empty repository lacks is reported by name
	}
	folders := map[string]bool{}
	for file := range s.Tree.Files {
		if model.Within(file, folder) {
			return
		}
		for i, c := range file {
			if c == '/' {
				folders[file[:i]] = true
			}
		}
	}
	f := Finding{
		Rule: model.MissingReference, Severity: Error, Position: e.branch(),
		Message: fmt.Sprintf("there is no folder %s in %s", folder, branchName(s.Reference.Repo, s.Reference.Branch)),
		Hint:    clause.Suggest([]string{folder}, "folders are", slices.Sorted(maps.Keys(folders))),
	}
	for _, b := range e.Model.BaseRepos {
		if b.Spec.Repo == s.Reference.Repo && model.CleanFolder(b.Spec.Path) == folder {
			f.Position = b.At("spec", "path")
			break
		}
	}
	e.report(f)
}
