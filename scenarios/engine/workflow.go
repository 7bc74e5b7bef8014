package engine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

// logTail is how many lines of a failed job's log are shown.
const logTail = 15

// runWorkflowRun starts a workflow as the button on the page does, unless the
// branch's newest commit has a run of it that goes on or has succeeded.
func (s *script) runWorkflowRun(args []string) error {
	repo, file, branch := args[0], args[1], args[2]
	inputs := map[string]string{}
	for _, arg := range args[3:] {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not INPUT=VALUE", arg)
		}
		inputs[key] = value
	}
	head, _, err := s.forge.client.GetRepoBranch(s.forge.owner, repo, branch)
	if err != nil {
		return fmt.Errorf("branch %s of %s: %w", branch, repo, err)
	}
	s.setenv("COMMIT", head.Commit.ID)
	run, err := s.forge.latestRun(repo, file, head.Commit.ID)
	if err != nil {
		return err
	}
	if run != nil && conclusion(run) != "failure" && conclusion(run) != "cancelled" {
		s.repeated = true
		s.note("done already: run %d of %s", run.RunNumber, file)
		return nil
	}
	_, _, err = s.forge.client.DispatchRepoActionWorkflow(s.forge.owner, repo, file,
		gitea.CreateActionWorkflowDispatchOption{Ref: branch, Inputs: inputs}, false)
	if err != nil {
		return fmt.Errorf("start %s of %s: %w", file, repo, err)
	}
	s.happened["push"] = time.Now()
	return nil
}

// runWorkflowWait waits until the latest run of a workflow on a commit or on one
// that has come of it, or on a branch's newest, has ended as it should.
func (s *script) runWorkflowWait(args []string) error {
	repo, file, commit, want := args[0], args[1], args[2], "success"
	limit, err := duration(args[3])
	if err != nil {
		return err
	}
	if len(args) == 5 {
		want = args[4]
	}
	if !fullCommit.MatchString(commit) {
		head, _, err := s.forge.client.GetRepoBranch(s.forge.owner, repo, commit)
		if err != nil {
			return fmt.Errorf("branch %s of %s: %w", commit, repo, err)
		}
		return s.retry(limit, func() error { return s.hasEnded(repo, file, []string{head.Commit.ID}, want) })
	}
	return s.retry(limit, func() error {
		commits, err := s.forge.carriers(repo, commit)
		if err != nil {
			return err
		}
		return s.hasEnded(repo, file, commits, want)
	})
}

// hasEnded says whether the latest run of a workflow on one of some commits has
// ended as it should. When the newest has ended otherwise, that is final, and
// the reason has what the failed job said last.
func (s *script) hasEnded(repo, file string, commits []string, want string) error {
	var newest *gitea.ActionWorkflowRun
	for _, commit := range commits {
		list, err := s.forge.runsOf(repo, file, commit)
		if err != nil {
			return err
		}
		var run *gitea.ActionWorkflowRun
		if len(list) > 0 {
			run = list[0]
		}
		// what has been achieved stays so while a newer run is under way; who waits,
		// waits for that one
		if n := slices.IndexFunc(list, func(run *gitea.ActionWorkflowRun) bool { return conclusion(run) != "" }); n > 0 && !s.waits {
			run = list[n]
		}
		switch {
		case run == nil:
			continue
		case conclusion(run) == want:
			fmt.Fprintf(&s.ran, "%s\n", run.HTMLURL)
			return nil
		}
		newest = run
	}
	if newest == nil {
		return unmet("%s of %s has not run for commit %s", file, repo, short(commits[0]))
	}
	got := conclusion(newest)
	if got == "" {
		return unmet("%s of %s is %s: %s", file, repo, newest.Status, newest.HTMLURL)
	}
	return retry.Permanent(unmet("%s of %s has ended with %s: %s%s", file, repo, got, newest.HTMLURL, s.forge.failedJobs(repo, newest.ID)))
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// conclusion is "" while a run goes on.
func conclusion(run *gitea.ActionWorkflowRun) string {
	switch run.Status {
	case "completed":
		return run.Conclusion
	case "success", "failure", "cancelled", "skipped": // older forges have it there
		return run.Status
	}
	return ""
}

// latestRun returns the latest run of a workflow on a commit, nil when there is
// none.
func (f *forge) latestRun(repo, file, commit string) (*gitea.ActionWorkflowRun, error) {
	list, err := f.runsOf(repo, file, commit)
	if len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// runsOf lists the runs of a workflow on a commit, the latest first.
func (f *forge) runsOf(repo, file, commit string) ([]*gitea.ActionWorkflowRun, error) {
	list, err := f.runs(repo, commit)
	list = slices.DeleteFunc(list, func(run *gitea.ActionWorkflowRun) bool {
		path, _, _ := strings.Cut(run.Path, "@") // it is FILE@REF
		return path[strings.LastIndexByte(path, '/')+1:] != file
	})
	slices.SortFunc(list, func(a, b *gitea.ActionWorkflowRun) int { return cmp.Compare(b.ID, a.ID) })
	return list, err
}

// runs lists the latest runs of a repository, of one commit if it is given.
func (f *forge) runs(repo, commit string) ([]*gitea.ActionWorkflowRun, error) {
	list, _, err := f.client.ListRepoActionRuns(f.owner, repo, gitea.ListRepoActionRunsOptions{
		HeadSHA: commit, ListOptions: gitea.ListOptions{PageSize: 50},
	})
	if err != nil {
		return nil, fmt.Errorf("workflow runs of %s: %w", repo, err)
	}
	return list.WorkflowRuns, nil
}

// failedJobs words what the failed jobs of a run said last.
func (f *forge) failedJobs(repo string, run int64) string {
	jobs, _, err := f.client.ListRepoActionRunJobs(f.owner, repo, run, gitea.ListRepoActionJobsOptions{})
	if err != nil {
		return "\n  its jobs cannot be read: " + err.Error()
	}
	var b strings.Builder
	for _, job := range jobs.Jobs {
		if job.Conclusion != "failure" && job.Status != "failure" {
			continue
		}
		// of a failed job, Gitea calls all steps failed: the log has which one
		fmt.Fprintf(&b, "\n  job %s has failed", job.Name)
		log, _, err := f.client.GetRepoActionJobLogs(f.owner, repo, job.ID)
		if err != nil {
			fmt.Fprintf(&b, "; its log cannot be read: %v", err)
			continue
		}
		b.WriteString(":\n    " + strings.ReplaceAll(tail(string(log), logTail), "\n", "\n    "))
	}
	return b.String()
}

// tail is the last lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
