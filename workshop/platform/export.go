package platform

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/workshop"
)

// ExportOptions say what is brought home, and from where.
type ExportOptions struct {
	Workshop     *workshop.Workshop
	Organisation string   // the URL of the sandbox's organisation, which all repositories are below
	Registry     string   // what names of the sandbox's images begin with
	Repositories []string // the only ones to look at; when empty, all but those that clusters follow
	// Generated says that commits of the scheduler and of workflows, and
	// repositories that clusters follow, come along, too.
	Generated bool
	To        string // the folder of the patches, which must not be there yet, or be empty
	// Credentials returns user and password for a URL of the forge.
	Credentials func(url string) (user, password string)
}

// Series is what was changed on one branch: patches for `git am` on the branch as it
// was when the workshop was made.
type Series struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	// From is the branch of the original that the patches of a new one are for.
	From    string   `json:"from,omitempty"`
	Patches []string `json:"patches"` // files, in order
	// Squashed are merges that are one patch, since the commits that they brought
	// do not apply one after the other.
	Squashed []string `json:"squashed,omitempty"`
}

// Exported is what Export has written.
type Exported struct {
	Series []Series `json:"series"`
	Notes  []string `json:"notes"` // what was left out
}

// Export writes what was committed in a sandbox since it came up, as patches of the
// originals: TO/REPOSITORY/BRANCH/0001-SUBJECT.patch. The folder is there as a whole
// afterwards, or not at all.
func Export(ctx context.Context, o ExportOptions) (*Exported, error) {
	for _, name := range o.Repositories {
		if _, ok := o.Workshop.Repository(name); !ok {
			return nil, usage.Errorf("workshop %s has no repository %s: choose of %s", o.Workshop.Name, name, repositoryNames(o.Workshop))
		}
	}
	work, err := os.MkdirTemp("", "kalypso-export-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	e := &export{ExportOptions: o, work: work, originals: newOriginals(o.Workshop, o.Organisation, o.Registry), result: &Exported{}}
	err = newFolder(o.To, "--to", func(part string) error {
		e.part = part
		for _, r := range o.Workshop.Repositories {
			if !e.wants(r.Name) {
				continue
			}
			if err := e.repository(ctx, r); err != nil {
				return fmt.Errorf("repository %s: %w", r.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range e.result.Series {
		for j, file := range e.result.Series[i].Patches {
			e.result.Series[i].Patches[j] = filepath.Join(o.To, file)
		}
	}
	return e.result, nil
}

func repositoryNames(w *workshop.Workshop) string {
	var names []string
	for _, r := range w.Repositories {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// export is one being made.
type export struct {
	ExportOptions
	work, part string
	originals  *originals
	result     *Exported
}

// wants says whether a repository is looked at. What clusters follow is generated.
func (e *export) wants(name string) bool {
	if len(e.Repositories) > 0 {
		return slices.Contains(e.Repositories, name)
	}
	return e.Generated || !slices.ContainsFunc(e.Workshop.Clusters, func(c workshop.Cluster) bool {
		return slices.ContainsFunc(c.Follows, func(s workshop.Subscription) bool { return s.Repository == name })
	})
}

// repository writes the series of all branches of a repository.
func (e *export) repository(ctx context.Context, r workshop.Repository) error {
	url := e.Organisation + "/" + r.Name + ".git"
	g := git{dir: filepath.Join(e.work, r.Name+".git")}
	if err := os.MkdirAll(g.dir, 0o777); err != nil {
		return err
	}
	if _, err := g.run(ctx, nil, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	server := g
	if e.Credentials != nil {
		user, password := e.Credentials(url)
		server = g.authorized(url, user, password)
	}
	if _, err := server.run(ctx, nil, "fetch", "--no-tags", "--force", "--update-shallow", "--no-write-fetch-head", "--", url, "+refs/heads/*:refs/heads/*"); err != nil {
		return err
	}
	// what is written depends on nothing that a user has set
	g.env = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	began, err := e.began(ctx, r)
	if err != nil {
		return err
	}
	branches, err := g.heads(ctx)
	if err != nil {
		return err
	}
	begun := map[string]begun{} // by the commit that the sandbox began with
	for _, branch := range branches {
		if _, original := began[branch]; !original {
			continue
		}
		b, err := e.begin(ctx, g, r.Name, branch, began[branch])
		if err == nil && b.seeded != "" {
			// of several that began alike, the default branch is the one to name
			if _, known := begun[b.seeded]; !known || branch == e.Workshop.DefaultBranch(r.Name) {
				begun[b.seeded] = b
			}
			err = e.branch(ctx, g, Series{Repository: r.Name, Branch: branch}, b)
		}
		if err != nil {
			return fmt.Errorf("branch %s: %w", branch, err)
		}
	}
	for _, branch := range branches {
		if _, original := began[branch]; original || strings.HasPrefix(branch, ownBranches) {
			continue
		}
		if err := e.newBranch(ctx, g, r.Name, branch, began, begun); err != nil {
			return fmt.Errorf("branch %s: %w", branch, err)
		}
	}
	for branch := range began {
		if !slices.Contains(branches, branch) {
			e.note("branch %s of %s was removed, which no patch says", branch, r.Name)
		}
	}
	return nil
}

func (e *export) note(format string, args ...any) {
	e.result.Notes = append(e.result.Notes, fmt.Sprintf(format, args...))
}

// began returns the branches that the workshop has of a repository, with their heads
// where the workshop has them as commits.
func (e *export) began(ctx context.Context, r workshop.Repository) (map[string]string, error) {
	began := map[string]string{}
	for _, b := range r.Branches {
		began[b.Name] = ""
	}
	dir := filepath.Join(e.Workshop.Dir, workshop.RepositoryFolder, r.Name+".git")
	if r.Git != "" && !strings.Contains(r.Git, ":") {
		dir = filepath.Join(e.Workshop.Dir, r.Git)
	}
	if _, err := os.Stat(dir); err == nil && e.Workshop.Dir != "" {
		at, err := gitFolder(ctx, dir)
		if err != nil {
			return nil, err
		}
		out, err := git{dir: at}.line(ctx, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads")
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(out, "\n") {
			if commit, branch, ok := strings.Cut(line, " "); ok && (len(r.Branches) == 0 || hasBranch(r, branch)) {
				began[branch] = commit
			}
		}
	} else if len(r.Branches) == 0 && e.Workshop.Files != nil {
		folders, err := fs.ReadDir(e.Workshop.Files, workshop.RepositoryFolder+"/"+r.Name)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			began[folder.Name()] = ""
		}
	}
	return began, nil
}

func hasBranch(r workshop.Repository, name string) bool {
	return slices.ContainsFunc(r.Branches, func(b workshop.Branch) bool { return b.Name == name })
}

// begun is a branch as the sandbox began with it.
type begun struct{ branch, seeded, original string }

// begin finds how a branch began; without commits where it has not got that any more.
func (e *export) begin(ctx context.Context, g git, repository, branch, began string) (b begun, err error) {
	b.branch = branch
	b.seeded, b.original, err = beginning(ctx, g, "refs/heads/"+branch, began)
	if err == nil && b.seeded == "" {
		e.note("branch %s of %s has not got its beginning any more, so that no patch can say what was changed", branch, repository)
	}
	return b, err
}

// newBranch writes the series of a branch that the original has not: from the branch
// on that it began with. What is merged is in the series of another one.
func (e *export) newBranch(ctx context.Context, g git, repository, branch string, began map[string]string, from map[string]begun) error {
	head := "refs/heads/" + branch
	containing, err := g.line(ctx, "for-each-ref", "--contains", head, "--format=%(refname:lstrip=2)", "refs/heads")
	if err != nil {
		return err
	}
	for other := range strings.FieldsSeq(containing) {
		if _, original := began[other]; original {
			return nil
		}
	}
	commits, err := g.line(ctx, "rev-list", "--first-parent", head)
	if err != nil {
		return err
	}
	for commit := range strings.FieldsSeq(commits) {
		if b, ok := from[commit]; ok {
			return e.branch(ctx, g, Series{Repository: repository, Branch: branch, From: b.branch}, b)
		}
	}
	e.note("branch %s of %s is new, and has nothing of what the sandbox began with: no patch can bring it home", branch, repository)
	return nil
}

// branch writes the series of one branch.
func (e *export) branch(ctx context.Context, g git, one Series, b begun) error {
	s, err := newSeries(ctx, g, b.seeded, b.original, e.originals)
	if err != nil {
		return err
	}
	defer os.Remove(s.index)
	tip, err := s.replay(ctx, "refs/heads/"+one.Branch, e.Generated)
	if err != nil || tip == b.original {
		return err
	}
	folder := filepath.Join(one.Repository, filepath.FromSlash(one.Branch))
	out, err := g.line(ctx, "format-patch", "--no-signature", "--binary", "--full-index", "--no-renames",
		"-o", filepath.Join(e.part, folder), b.original+".."+tip)
	if err != nil {
		return err
	}
	one.Squashed = s.squashed
	for file := range strings.Lines(out) {
		one.Patches = append(one.Patches, filepath.Join(folder, filepath.Base(strings.TrimSpace(file))))
	}
	e.result.Series = append(e.result.Series, one)
	return nil
}
