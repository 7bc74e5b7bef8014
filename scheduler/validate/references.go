package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// references reports what is written in repositories and leads nowhere.
// Repositories and branches that cannot be read the model reports.
func (e *examination) references() {
	if e.NoGitOps {
		e.report(e.noGitOps())
	}
	for _, s := range e.Trees {
		e.emptyPath(s)
	}
	e.placeholders()
}

// noGitOps places the finding at the object that names the branch.
func (e *examination) noGitOps() Finding {
	ref := e.Model.GitOps
	f := Finding{
		Rule: model.MissingReference, Severity: Error, Position: e.branch(),
		Message: fmt.Sprintf("repository %s or its branch %s is not there", ref.Repo, ref.Branch),
		Hint:    "create the branch; pull requests with the generated manifests go there",
	}
	if d, ok := e.find(v1alpha1.KindGitOpsRepo, nil); ok {
		f.Position = d.at("spec", "branch")
	}
	return f
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
	f := Finding{
		Rule: SharedGitOps, Severity: Error, Position: e.branch(),
		Message: fmt.Sprintf("environment %s publishes to %s, and so does %s", e.Model.Name, branchName(ref.Repo, ref.Branch), other.Model.Name),
		Hint:    "give each environment a branch or a folder of its own",
	}
	if d, ok := e.find(v1alpha1.KindGitOpsRepo, nil); ok {
		f.Position = d.at("spec", "branch")
	}
	return f
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
	if d, ok := e.find(v1alpha1.KindBaseRepo, func(d document) bool {
		return yamlpos.Text(d.node, "spec", "repo") == s.Reference.Repo && model.CleanFolder(yamlpos.Text(d.node, "spec", "path")) == folder
	}); ok {
		f.Position = d.at("spec", "path")
	}
	e.report(f)
}

// find returns the first document of a kind in the environment's own branch.
func (e *examination) find(kind string, like func(document) bool) (document, bool) {
	for _, s := range e.Trees {
		if !sameFolder(s.Reference, e.Model.ControlPlane) {
			continue
		}
		for _, d := range documents(s, kind) {
			if d.kind == kind && (like == nil || like(d)) {
				return d, true
			}
		}
	}
	return document{}, false
}
