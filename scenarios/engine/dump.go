package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/kalypso-dev/kalypso/scenarios"
)

const (
	dumpLimit = 30 * time.Second // for all of a dump
	logLines  = 200              // of each component
	recent    = 10               // pull requests, issues and commits of a repository
)

// dump writes down what is to be known of a failure, in a folder of its own,
// and returns the folder. What cannot be found out is said in the file where it
// would be. No file has the user's token or any of its secrets.
func (s *script) dump(parent string, r scenarios.Result) (string, error) {
	dir := filepath.Join(parent, s.began.UTC().Format("20060102-150405")+"-"+s.info.Name)
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		return "", fmt.Errorf("folder for what is known of the failure: %w", err)
	}
	// the scenario's own time may be over
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), dumpLimit)
	defer cancel()
	s.ctx, s.waits = ctx, false
	err := s.save(dir, "step.txt", s.dumpStep())
	err = errors.Join(err, s.save(dir, "status.txt", s.dumpStatus()))
	if f, forgeErr := newForge(ctx, s.access); forgeErr == nil {
		s.forge = f
		err = errors.Join(err, s.save(dir, "forge.txt", s.dumpForge()))
	}
	for _, cluster := range s.contexts() {
		err = errors.Join(err, s.save(dir, "cluster-"+cluster+".txt", s.dumpCluster(cluster)))
	}
	logs, globErr := filepath.Glob(filepath.Join(s.access.Home, "logs", "*.log"))
	err = errors.Join(err, globErr)
	for _, file := range logs {
		text, readErr := readEnd(file, logLines)
		if readErr != nil {
			text = readErr.Error()
		}
		err = errors.Join(err, s.save(dir, filepath.Join("logs", filepath.Base(file)), text))
	}
	return dir, err
}

func (s *script) save(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(s.hide(text)+"\n"), 0o600)
}

// dumpStep says what was expected and what was seen.
func (s *script) dumpStep() string {
	index := len(s.steps) - 1
	step := s.info.Steps[index]
	var b strings.Builder
	fmt.Fprintf(&b, "Scenario %s/%s: %s\nStep %d of %d: %s\nAt %s\n", s.info.Workshop, s.info.Name, s.info.Title,
		index+1, len(s.info.Steps), step.Title, time.Now().UTC().Format(time.RFC3339))
	b.WriteString("\nExpected\n")
	page := newPage(s.info, s.text, s.library, PageOptions{OrgURL: s.access.OrgURL()})
	for line := range strings.Lines(terminal(page.rendererAt(index).outcome(step), 0, nil) + "\n") {
		b.WriteString("  " + line)
	}
	b.WriteString("  as written:\n")
	for _, l := range step.Sections[step.Outcome()] {
		fmt.Fprintf(&b, "    %3d  %s\n", l.Number, l.Text)
	}
	fmt.Fprintf(&b, "\nSeen\n  %s\n", strings.ReplaceAll(s.step().Reason, "\n", "\n  "))
	fmt.Fprintf(&b, "\nDone\n  %s\n", strings.ReplaceAll(s.step().Output, "\n", "\n  "))
	b.WriteString("\nSteps before\n")
	for i, before := range s.steps[:index] {
		fmt.Fprintf(&b, "  %d %s: %s, %.1f s %s\n", i+1, before.Title, before.State, before.Took.Seconds(), before.Note)
	}
	for name, value := range s.vars {
		fmt.Fprintf(&b, "  $%s is %s\n", name, value)
	}
	return b.String()
}

// dumpStatus is what the sandbox says of its components and environments.
func (s *script) dumpStatus() string {
	b, err := s.programCommand(s.ctx, s.access.Kalypso, "status").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s\nkalypso status: %v", b, err)
	}
	return string(b)
}

// dumpForge lists what has happened lately in all repositories.
func (s *script) dumpForge() string {
	var b strings.Builder
	repos, _, err := s.forge.client.ListOrgRepos(s.forge.owner, gitea.ListOrgReposOptions{ListOptions: gitea.ListOptions{PageSize: 50}})
	if err != nil {
		return "repositories: " + err.Error()
	}
	for _, repo := range repos {
		fmt.Fprintf(&b, "%s\n", repo.Name)
		s.dumpBranches(&b, repo.Name)
		s.dumpIssues(&b, repo.Name)
		runs, err := s.forge.runs(repo.Name, "")
		if err != nil {
			fmt.Fprintf(&b, "  %v\n", err)
		}
		for _, run := range runs[:min(len(runs), recent)] {
			fmt.Fprintf(&b, "  run %d of %s on %s: %s %s %s", run.RunNumber, run.Path, short(run.HeadSha), run.Status, run.Conclusion, run.HTMLURL)
			if conclusion(run) == "failure" {
				b.WriteString(strings.ReplaceAll(s.forge.failedJobs(repo.Name, run.ID), "\n", "\n  "))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func (s *script) dumpBranches(b *strings.Builder, repo string) {
	branches, _, err := s.forge.client.ListRepoBranches(s.forge.owner, repo, gitea.ListRepoBranchesOptions{ListOptions: gitea.ListOptions{PageSize: 50}})
	if err != nil {
		fmt.Fprintf(b, "  branches: %v\n", err)
	}
	for _, branch := range branches {
		fmt.Fprintf(b, "  branch %s\n", branch.Name)
		commits, _, err := s.forge.client.ListRepoCommits(s.forge.owner, repo, gitea.ListCommitOptions{
			SHA: branch.Name, ListOptions: gitea.ListOptions{PageSize: recent},
		})
		if err != nil {
			fmt.Fprintf(b, "    commits: %v\n", err)
		}
		for _, c := range commits {
			when, _ := commitTime(c)
			fmt.Fprintf(b, "    %s %s %s\n", c.SHA, when.UTC().Format(time.RFC3339), scenarios.OneLine(c.RepoCommit.Message))
			statuses, err := s.forge.statuses(repo, c.SHA)
			if err != nil {
				fmt.Fprintf(b, "      %v\n", err)
			}
			for _, status := range statuses {
				fmt.Fprintf(b, "      %s: %s (%s)\n", status.Context, status.State, status.Description)
			}
		}
	}
}

func (s *script) dumpIssues(b *strings.Builder, repo string) {
	pulls, _, err := s.forge.client.ListRepoPullRequests(s.forge.owner, repo, gitea.ListPullRequestsOptions{
		State: gitea.StateAll, Sort: "recentupdate", ListOptions: gitea.ListOptions{PageSize: recent},
	})
	if err != nil {
		fmt.Fprintf(b, "  pull requests: %v\n", err)
	}
	for _, p := range pulls {
		if p.Base == nil || p.Head == nil {
			continue
		}
		one := &pull{PullRequest: p, repo: repo}
		fmt.Fprintf(b, "  pull request #%d to %s, %s: %s (labels %s; head %s)\n", p.Index, p.Base.Ref, one.state(), p.Title, strings.Join(one.labels(), ", "), p.Head.Sha)
		files, err := s.forge.changedFiles(one)
		if err != nil {
			fmt.Fprintf(b, "    %v\n", err)
		}
		for _, f := range files {
			fmt.Fprintf(b, "    %s\n", f)
		}
	}
	issues, _, err := s.forge.client.ListRepoIssues(s.forge.owner, repo, gitea.ListIssueOption{
		State: gitea.StateAll, Type: gitea.IssueTypeIssue, ListOptions: gitea.ListOptions{PageSize: recent},
	})
	if err != nil {
		fmt.Fprintf(b, "  issues: %v\n", err)
	}
	for _, i := range issues {
		fmt.Fprintf(b, "  issue #%d, %s: %s\n", i.Index, i.State, i.Title)
	}
}

// contexts are the clusters of the kubeconfig.
func (s *script) contexts() []string {
	b, err := s.programCommand(s.ctx, s.access.Kubectl, "config", "get-contexts", "--output", "name").Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// dumpCluster has a cluster's events, its pods, and what its reconciler says.
func (s *script) dumpCluster(context string) string {
	var b strings.Builder
	for _, args := range [][]string{
		{"get", "events", "--all-namespaces", "--sort-by", ".lastTimestamp"},
		{"get", "pods", "--all-namespaces", "--output", "wide"},
		{"get", "gitrepositories.source.toolkit.fluxcd.io", "--all-namespaces"},
		{"get", "kustomizations.kustomize.toolkit.fluxcd.io", "--all-namespaces"},
		{"get", "applications.argoproj.io", "--all-namespaces"},
	} {
		args = append([]string{"--context", context, "--request-timeout", "10s"}, args...)
		fmt.Fprintf(&b, "$ kubectl %s\n", shellWords(args))
		out, err := s.programCommand(s.ctx, s.access.Kubectl, args...).CombinedOutput()
		b.Write(out)
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// readEnd reads the last lines of a file that may be very long.
func readEnd(file string, lines int) (string, error) {
	const most = 256 << 10
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-most)
	b := make([]byte, info.Size()-from)
	n, err := f.ReadAt(b, from)
	if err != nil && n < len(b) {
		return "", err
	}
	return tail(string(b), lines), nil
}
