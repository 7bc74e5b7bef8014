package ci

import (
	"fmt"
	"strconv"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/spf13/cobra"
)

func (a *steps) createPR() *cobra.Command {
	var p ci.PullRequest
	var repo string
	c := &cobra.Command{
		Use:   "create-pr",
		Short: "Bring generated files to a branch by a pull request",
		Long: `Open a pull request with the files of a folder to a branch of a repository. A
folder in it takes the place of the folder of its name there as a whole; files
beside it come to what is there. Where the branch has all of it already, nothing
is opened.

There is one pull request at a time from a repository to a branch: while it is
open, the next run brings it up to date. With --auto-merge it is merged right
away, and its branch removed.

The pull request's branch must begin with kalypso/, since it is overwritten.

Outputs: changed, number, url, merged, merge_commit. The URL is printed.`,
		Example: `  kalypso ci create-pr --repo kalypso-app-gitops --base dev --auto-merge --title "Deploy 0.0.1-7"
  kalypso ci create-pr --repo https://github.com/acme/gitops --base stage --label deployment`,
	}
	f := c.Flags()
	f.StringVar(&repo, "repo", "", "the repository: its URL on the forge, owner/name, or name")
	f.StringVar(&p.Base, "base", "", "the branch that it goes to")
	f.StringVar(&p.Head, "head", "", "the branch that it comes from; made of the two repositories' names when not given")
	f.StringVar(&p.Folder, "from", defaultManifests, "the folder with the files")
	f.StringVar(&p.Title, "title", "", "the title; made of repository and run when not given")
	f.StringVar(&p.Body, "body", "", "text ahead of the list of files")
	f.StringArrayVar(&p.Labels, "label", nil, "a label; made when the repository does not have it")
	f.BoolVar(&p.AutoMerge, "auto-merge", false, "merge it right away")
	return a.leaf(c, func(c *cobra.Command, s *step, _ []string) (err error) {
		if repo == "" {
			return usage.New("a pull request to which repository? Give --repo\nSee `kalypso ci create-pr --help`.")
		}
		if p.Repo, err = s.Repo(repo); err != nil {
			return err
		}
		p.URL, p.Now = s.CloneURL(p.Repo), a.now()
		s.describe(&p)
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		opened, err := ci.CreatePullRequest(c.Context(), forge, p)
		if err != nil {
			return err
		}
		if opened.Changed {
			what := "waits for a merge"
			if opened.Merged {
				what = "is merged"
			}
			a.Messagef("%spull request %s %s", opened.Summary, opened.URL, what)
			fmt.Fprintln(a.Out, opened.URL)
		} else {
			a.Messagef("branch %s of %s has all of it already: no pull request is needed", p.Base, p.Repo)
		}
		number := ""
		if opened.Number > 0 {
			number = strconv.Itoa(opened.Number)
		}
		return s.set(output{"changed", yesNo(opened.Changed)}, output{"number", number}, output{"url", opened.URL},
			output{"merged", yesNo(opened.Merged)}, output{"merge_commit", opened.MergeCommit})
	})
}

// describe fills in the branch, title and text that flags do not give.
func (s *step) describe(p *ci.PullRequest) {
	source := s.Name()
	if source == "" {
		source = "files"
	}
	if p.Head == "" {
		p.Head = ci.Head(source, p.Base)
	}
	if p.Title == "" {
		p.Title = "Deploy " + source + " to " + p.Base
		if s.RunNumber != "" {
			p.Title += ", run " + s.RunNumber
		}
	}
	if p.Body == "" && s.Repository != "" && s.Commit != "" {
		p.Body = fmt.Sprintf("Generated from %s@%s.", s.Repository, s.Commit)
		if url := s.RunURL(); url != "" {
			p.Body += " " + url
		}
	}
}
