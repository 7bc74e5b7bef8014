package ci

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/spf13/cobra"
)

// prOptions are those of `kalypso ci create-pr`.
type prOptions struct {
	step
	pull ci.PullRequest
	repo string
}

func newCreatePR(a *steps) *cobra.Command {
	o := &prOptions{}
	c := &cobra.Command{
		Use:   "create-pr",
		Short: "Bring generated files to a branch by a pull request",
		Long: `Open a pull request with the files of a folder to a branch of a repository. A
folder in it takes the place of the folder of its name there as a whole; files
beside it come to what is there. Where the branch has all of it already, nothing
is opened.

There is one pull request at a time from a repository to a branch: while it is
open, the next run brings it up to date. Several runs may bring theirs at the same
time. One that a later run of the workflow has overtaken gives way: it brings
nothing, says so and succeeds, unless a user has started it again.

With --auto-merge the pull request is merged right away, by a method that the
repository allows, and its branch removed. Where reviews, checks or a merge queue
are in between, the forge merges it when it can, if the repository's settings let
it; else the error says what is missing.

The pull request's branch must begin with kalypso/, since it is overwritten.

Outputs: changed, overtaken, number, url, merged, merge_commit. The URL is
printed.`,
		Example: `  kalypso ci create-pr --repo kalypso-app-gitops --base dev --auto-merge --title "Deploy 0.0.1-7"
  kalypso ci create-pr --repo https://github.com/acme/gitops --base stage --label deployment`,
	}
	f := c.Flags()
	f.StringVar(&o.repo, "repo", "", "the repository: its URL on the forge, owner/name, or name")
	f.StringVar(&o.pull.Base, "base", "", "the branch that it goes to")
	f.StringVar(&o.pull.Head, "head", "", "the branch that it comes from; made of the two repositories' names when not given")
	f.StringVar(&o.pull.Folder, "from", defaultManifests, "the folder with the files")
	f.StringVar(&o.pull.Title, "title", "", "the title; made of repository and run when not given")
	f.StringVar(&o.pull.Body, "body", "", "text ahead of the list of files")
	f.StringArrayVar(&o.pull.Labels, "label", nil, "a label; made when the repository does not have it")
	f.BoolVar(&o.pull.AutoMerge, "auto-merge", false, "merge it right away")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runCreatePR(ctx, o) })
}

func runCreatePR(ctx context.Context, o *prOptions) (err error) {
	if o.repo == "" {
		return usage.New("a pull request to which repository? Give --repo\nSee `kalypso ci create-pr --help`.")
	}
	if o.pull.Repo, err = o.Repo(o.repo); err != nil {
		return err
	}
	o.pull.URL, o.pull.Now = o.CloneURL(o.pull.Repo), o.now()
	o.pull.Run = o.run()
	o.describe(&o.pull)
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	opened, err := ci.CreatePullRequest(ctx, forge, o.pull)
	if err != nil {
		return err
	}
	switch {
	case opened.Overtaken:
		o.Messagef("a later run has brought newer files to branch %s of %s: this one gives way to pull request %s", o.pull.Base, o.pull.Repo, opened.URL)
	case opened.Changed:
		what := "waits for a merge"
		switch {
		case opened.Merged:
			what = "is merged"
		case opened.Queued:
			what = "will be merged by the forge when it has the reviews and checks that it needs"
		}
		o.Messagef("%spull request %s %s", opened.Summary, opened.URL, what)
		fmt.Fprintln(o.Out, opened.URL)
	default:
		o.Messagef("branch %s of %s has all of it already: no pull request is needed", o.pull.Base, o.pull.Repo)
	}
	number := ""
	if opened.Number > 0 {
		number = strconv.Itoa(opened.Number)
	}
	return o.set(output{"changed", strconv.FormatBool(opened.Changed)}, output{"overtaken", strconv.FormatBool(opened.Overtaken)}, output{"number", number}, output{"url", opened.URL},
		output{"merged", strconv.FormatBool(opened.Merged)}, output{"merge_commit", opened.MergeCommit})
}

// run is the run of the workflow, where there is one.
func (s *step) run() ci.Run {
	number, err := strconv.Atoi(s.RunNumber)
	if err != nil {
		return ci.Run{}
	}
	attempt, err := strconv.Atoi(s.RunAttempt)
	if err != nil {
		attempt = 1
	}
	name := strings.Join(strings.Fields(s.Repository+" "+s.Workflow), " ")
	return ci.Run{Workflow: strings.ReplaceAll(name, "--", "-"), Number: number, Attempt: attempt}
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
