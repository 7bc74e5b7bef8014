package plan

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// promotedPath holds the base repository's commit, which the promotion flow
// reads from the merged pull request.
const promotedPath = ".github/tracking/Promoted_Commit_Id"

const (
	readmeName     = "README.md"
	readmeSentence = "This folder contains deployment targets scheduled on the cluster type"
)

// readme is what tells people, and the scheduler, whose folder it is.
func readme(clusterType string) []byte {
	return fmt.Appendf(nil, "# %s\n\n%s `%s`.\n\nKalypso generates their manifests. What is changed in them by hand, the next pull request changes back.\n",
		clusterType, readmeSentence, clusterType)
}

// output collects the files that the plan wants on the GitOps branch.
//
// It owns nothing else there: in the root, in folders that begin with a dot,
// in folders without the scheduler's README, and beside the three files of an
// assignment people may keep what they like.
type output struct {
	env    *model.Environment
	branch map[string][]byte // present content, by path from the repository's root
	root   string            // the GitOpsRepo's path
	files  map[string][]byte
	ours   map[string]bool // the first-level folders that the scheduler wrote
}

func newOutput(env *model.Environment, branch map[string][]byte) *output {
	o := &output{
		env:    env,
		branch: branch,
		root:   strings.TrimPrefix(path.Clean("/"+env.GitOps.Path), "/"),
		files:  map[string][]byte{},
		ours:   map[string]bool{},
	}
	for file, content := range branch {
		folder, name, ok := o.split(file)
		if ok && name == readmeName && !strings.HasPrefix(folder, ".") && bytes.Contains(content, []byte(readmeSentence)) {
			o.ours[folder] = true
		}
	}
	for _, c := range env.ClusterTypes {
		o.keepOr(path.Join(o.root, c.Name, readmeName), readme(c.Name))
	}
	if env.Promoted != "" {
		file := path.Join(o.root, promotedPath)
		if present, ok := branch[file]; ok && strings.TrimSpace(string(present)) == env.Promoted {
			o.files[file] = present
		} else {
			o.files[file] = []byte(env.Promoted + "\n")
		}
	}
	return o
}

// keepOr wants a file as it is on the branch, or with the given content when
// it is not there.
func (o *output) keepOr(file string, content []byte) {
	if present, ok := o.branch[file]; ok {
		content = present
	}
	o.files[file] = content
}

// split divides a path below the root into its first folder and the rest.
func (o *output) split(file string) (folder, rest string, ok bool) {
	if o.root != "" {
		if file, ok = strings.CutPrefix(file, o.root+"/"); !ok {
			return "", "", false
		}
	}
	return strings.Cut(file, "/")
}

// assignment adds the files of an assignment and returns their paths. Files of
// one that failed, and of one that would lose configuration while some of it
// cannot be read, stay as they are; the latter is worth a warning.
func (o *output) assignment(p pair, r result) ([]string, []Problem) {
	folder := path.Join(o.root, p.clusterType.Name, p.target.Name)
	present := o.generated(folder)
	wanted := map[string][]byte{}
	for name, content := range r.files {
		wanted[path.Join(folder, name)] = content
	}
	var warnings []Problem
	switch {
	case r.failed():
		wanted = present
	case o.env.ConfigIncomplete && !onlyAdds(present, wanted):
		wanted = present
		warnings = append(warnings, Problem{
			Reason:   Held,
			Severity: model.Warning,
			Position: o.place(),
			Message: fmt.Sprintf("%s/%s stays as it is: it would lose configuration, and some configuration could not be read",
				p.clusterType.Name, p.target.Name),
			Hint: "correct the errors of the environment first",
		})
	}
	paths := make([]string, 0, len(wanted))
	for file, content := range wanted {
		o.files[file] = content
		paths = append(paths, file)
	}
	slices.Sort(paths)
	return paths, warnings
}

// place is where findings about the environment as a whole stand.
func (o *output) place() model.Position {
	return model.Position{Repo: o.env.ControlPlane.Repo, Branch: o.env.ControlPlane.Branch}
}

// onlyAdds says whether every line that is there now will still be there.
func onlyAdds(present, wanted map[string][]byte) bool {
	for file, content := range present {
		if _, ok := wanted[file]; !ok {
			return false
		}
		lines := map[string]int{}
		for line := range strings.Lines(string(wanted[file])) {
			lines[strings.TrimSuffix(line, "\n")]++
		}
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSuffix(line, "\n")
			if lines[line]--; lines[line] < 0 {
				return false
			}
		}
	}
	return true
}

// generated returns the files in an assignment's folder that the scheduler
// makes.
func (o *output) generated(folder string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{namespaceFile, configFile, reconcilerFile} {
		for _, ext := range []string{".yaml", ".sh"} {
			file := path.Join(folder, name+ext)
			if content, ok := o.branch[file]; ok {
				files[file] = content
			}
		}
	}
	return files
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
	ext := path.Ext(name)
	if ext != ".yaml" && ext != ".sh" {
		return false
	}
	return slices.Contains([]string{namespaceFile, configFile, reconcilerFile}, strings.TrimSuffix(name, ext))
}

// finish settles what becomes of files that no assignment wants: they go, but
// not while the model is incomplete, because then what they stand for may only
// be out of sight.
func (o *output) finish() []Problem {
	if !o.env.Incomplete {
		return nil
	}
	planned := map[string]bool{}
	for file := range o.files {
		planned[path.Dir(file)] = true
	}
	held := map[string][]byte{}
	var folders []string
	for file, content := range o.branch {
		if !o.gone(file) || planned[path.Dir(file)] {
			continue
		}
		held[file] = content
		if folder, _, _ := o.split(file); path.Base(file) == readmeName {
			folders = append(folders, folder)
		} else {
			folders = append(folders, folder+"/"+path.Base(path.Dir(file)))
		}
	}
	if len(held) == 0 {
		return nil
	}
	maps.Copy(o.files, held)
	slices.Sort(folders)
	return []Problem{{
		Reason:   Held,
		Severity: model.Warning,
		Position: o.place(),
		Message:  "nothing is removed while the environment has errors: " + strings.Join(slices.Compact(folders), ", "),
		Hint:     "correct the errors; what is really gone is removed then",
	}}
}

// gone says whether a file of the branch is the scheduler's and not wanted any
// more.
func (o *output) gone(file string) bool {
	if _, wanted := o.files[file]; wanted {
		return false
	}
	folder, rest, ok := o.split(file)
	return ok && o.ours[folder] && isGenerated(rest)
}

// changes compares what the plan wants with what is there, sorted by path.
func (o *output) changes() []Change {
	var changes []Change
	for file, content := range o.files {
		present, ok := o.branch[file]
		switch {
		case !ok:
			changes = append(changes, Change{Path: file, Action: Add, Content: content})
		case !bytes.Equal(present, content):
			changes = append(changes, Change{Path: file, Action: Modify, Content: content})
		}
	}
	for file := range o.branch {
		if o.gone(file) {
			changes = append(changes, Change{Path: file, Action: Remove})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
