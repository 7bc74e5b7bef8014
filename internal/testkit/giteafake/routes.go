package giteafake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

func (s *Server) routes() {
	s.accountRoutes()
	s.mux.HandleFunc("GET /api/v1/orgs/{owner}/repos", s.authorized(s.listRepositories))
	s.handle("GET ", func(_ *Repository, w http.ResponseWriter, q *http.Request) {
		answer(w, gitea.Repository{Name: q.PathValue("repo")})
	})
	s.handle("GET /raw/{path...}", (*Repository).getFile)
	s.handle("GET /git/trees/{ref}", (*Repository).getTree)
	s.handle("GET /branches", (*Repository).listBranches)
	s.handle("GET /branches/{branch}", (*Repository).getBranch)
	s.handle("GET /commits", (*Repository).listCommits)
	s.handle("GET /git/commits/{commit}", (*Repository).getCommit)
	s.handle("GET /commits/{commit}/statuses", func(r *Repository, w http.ResponseWriter, q *http.Request) {
		Page(w, q, r.Statuses[q.PathValue("commit")])
	})
	s.handle("GET /issues", (*Repository).listIssues)
	s.handle("GET /pulls", func(r *Repository, w http.ResponseWriter, q *http.Request) {
		base := q.URL.Query().Get("base_branch")
		latest := slices.DeleteFunc(slices.Clone(r.Pulls), func(p *gitea.PullRequest) bool { return base != "" && p.Base.Ref != base })
		slices.Reverse(latest)
		Page(w, q, latest)
	})
	s.handle("GET /pulls/{number}", withPull(func(_ *Repository, p *gitea.PullRequest, w http.ResponseWriter, _ *http.Request) {
		one := *p
		if one.HasMerged { // lists leave it out
			one.MergedBy = &gitea.User{UserName: Merger}
		}
		answer(w, &one)
	}))
	s.handle("GET /pulls/{number}/files", withPull((*Repository).listPullFiles))
	s.handle("GET /pulls/{number}/reviews", withPull(func(r *Repository, p *gitea.PullRequest, w http.ResponseWriter, q *http.Request) {
		Page(w, q, r.Reviews[p.Index])
	}))
	s.handle("GET /pulls/{number}/commits", withPull(func(r *Repository, p *gitea.PullRequest, w http.ResponseWriter, q *http.Request) {
		out, _ := gitkit.Git(r.Dir, "", "log", commitFormat, cmp.Or(p.MergeBase, p.Base.Name)+".."+p.Head.Sha, "--")
		Page(w, q, commits(out))
	}))
	s.handle("POST /pulls/{number}/merge", withPull((*Repository).mergePull))
	s.handle("GET /actions/runs", (*Repository).listRuns)
	s.handle("GET /actions/runs/{id}/jobs", withRun(listJobs))
	s.handle("GET /actions/jobs/{id}/logs", withRun(func(run *Run, w http.ResponseWriter) { _, _ = w.Write([]byte(run.Log)) }))
	s.handle("POST /actions/workflows/{file}/dispatches", (*Repository).dispatch)
}

func (s *Server) listRepositories(w http.ResponseWriter, q *http.Request) {
	folders, _ := os.ReadDir(filepath.Join(s.Root, q.PathValue("owner")))
	var list []gitea.Repository
	for _, folder := range folders {
		list = append(list, gitea.Repository{Name: strings.TrimSuffix(folder.Name(), ".git")})
	}
	Page(w, q, list)
}

func (r *Repository) getFile(w http.ResponseWriter, q *http.Request) {
	out, err := gitkit.Output(r.Dir, "", "show", cmp.Or(q.URL.Query().Get("ref"), "HEAD")+":"+q.PathValue("path"))
	if err != nil {
		missing(w, q)
		return
	}
	_, _ = w.Write(out)
}

func (r *Repository) getTree(w http.ResponseWriter, q *http.Request) {
	out, err := gitkit.Git(r.Dir, "", "ls-tree", "-r", q.PathValue("ref"))
	if err != nil {
		missing(w, q)
		return
	}
	var tree gitea.GitTreeResponse
	for line := range strings.Lines(out) {
		about, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		f := strings.Fields(about)
		tree.Entries = append(tree.Entries, gitea.GitEntry{Path: path, Mode: f[0], Type: f[1], SHA: f[2]})
	}
	answer(w, tree)
}

func (r *Repository) listBranches(w http.ResponseWriter, q *http.Request) {
	var list []gitea.Branch
	for _, name := range strings.Fields(r.Git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")) {
		list = append(list, gitea.Branch{Name: name})
	}
	Page(w, q, list)
}

// head is where a branch is, "" when there is none.
func (r *Repository) head(branch string) string {
	out, _ := gitkit.Git(r.Dir, "", "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	return out
}

func (r *Repository) getBranch(w http.ResponseWriter, q *http.Request) {
	name := q.PathValue("branch")
	head := r.head(name)
	if head == "" {
		missing(w, q)
		return
	}
	answer(w, gitea.Branch{Name: name, Commit: &gitea.PayloadCommit{ID: head}})
}

func (r *Repository) listCommits(w http.ResponseWriter, q *http.Request) {
	query := q.URL.Query()
	args := []string{"log", commitFormat, cmp.Or(query.Get("sha"), "HEAD"), "--"}
	if path := query.Get("path"); path != "" {
		args = append(args, path)
	}
	out, _ := gitkit.Git(r.Dir, "", args...)
	Page(w, q, commits(out))
}

func (r *Repository) getCommit(w http.ResponseWriter, q *http.Request) {
	out, err := gitkit.Git(r.Dir, "", "log", "-1", commitFormat, q.PathValue("commit"), "--")
	if err != nil {
		missing(w, q)
		return
	}
	answer(w, commits(out)[0])
}

// commitFormat makes git print a commit as a line that [commits] reads.
const commitFormat = "--format=%H%x09%cI%x09%P%x09%an%x09%s"

func commits(lines string) []gitea.Commit {
	var list []gitea.Commit
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 5)
		c := gitea.Commit{
			CommitMeta: &gitea.CommitMeta{SHA: f[0]},
			RepoCommit: &gitea.RepoCommit{Message: f[4], Author: &gitea.CommitUser{Identity: gitea.Identity{Name: f[3]}}, Committer: &gitea.CommitUser{Date: f[1]}},
		}
		for _, parent := range strings.Fields(f[2]) {
			c.Parents = append(c.Parents, &gitea.CommitMeta{SHA: parent})
		}
		list = append(list, c)
	}
	return list
}

func (r *Repository) listIssues(w http.ResponseWriter, q *http.Request) {
	state := gitea.StateType(q.URL.Query().Get("state"))
	Page(w, q, slices.DeleteFunc(slices.Clone(r.Issues), func(i *gitea.Issue) bool { return state != gitea.StateAll && i.State != state }))
}

type pullHandler func(r *Repository, p *gitea.PullRequest, w http.ResponseWriter, q *http.Request)

func withPull(handle pullHandler) func(*Repository, http.ResponseWriter, *http.Request) {
	return func(r *Repository, w http.ResponseWriter, q *http.Request) {
		n, _ := strconv.Atoi(q.PathValue("number"))
		if n < 1 || n > len(r.Pulls) {
			missing(w, q)
			return
		}
		handle(r, r.Pulls[n-1], w, q)
	}
}

func (r *Repository) listPullFiles(p *gitea.PullRequest, w http.ResponseWriter, q *http.Request) {
	var files []gitea.ChangedFile
	for _, name := range strings.Fields(r.Git("diff", "--name-only", cmp.Or(p.MergeBase, p.Base.Name)+"..."+p.Head.Sha)) {
		files = append(files, gitea.ChangedFile{Filename: name})
	}
	Page(w, q, files)
}

// mergePull merges what the request has seen, and nothing newer.
func (r *Repository) mergePull(p *gitea.PullRequest, w http.ResponseWriter, q *http.Request) {
	var body gitea.MergePullRequestOption
	_ = json.NewDecoder(q.Body).Decode(&body)
	if body.HeadCommitId != p.Head.Sha {
		http.Error(w, `{"message":"head out of date"}`, http.StatusConflict)
		return
	}
	r.Merge(p)
}

func (r *Repository) listRuns(w http.ResponseWriter, q *http.Request) {
	commit := q.URL.Query().Get("head_sha")
	list := slices.DeleteFunc(slices.Clone(r.Runs), func(run *Run) bool { return commit != "" && run.HeadSha != commit })
	answer(w, map[string]any{"total_count": len(list), "workflow_runs": list})
}

// withRun finds a run by its ID, which its job has, too.
func withRun(handle func(*Run, http.ResponseWriter)) func(*Repository, http.ResponseWriter, *http.Request) {
	return func(r *Repository, w http.ResponseWriter, q *http.Request) {
		for _, run := range r.Runs {
			if strconv.FormatInt(run.ID, 10) == q.PathValue("id") {
				handle(run, w)
				return
			}
		}
		missing(w, q)
	}
}

func listJobs(run *Run, w http.ResponseWriter) {
	answer(w, gitea.ActionWorkflowJobsResponse{TotalCount: 1, Jobs: []*gitea.ActionWorkflowJob{{
		ID: run.ID, RunID: run.ID, Name: "build", Status: run.Status, Conclusion: run.Conclusion,
		Steps: []*gitea.ActionWorkflowStep{{Name: "Build the image", Status: run.Status, Conclusion: run.Conclusion}},
	}}})
}

// dispatch starts a workflow, which succeeds at once.
func (r *Repository) dispatch(w http.ResponseWriter, q *http.Request) {
	var body gitea.CreateActionWorkflowDispatchOption
	_ = json.NewDecoder(q.Body).Decode(&body)
	head := r.head(strings.TrimPrefix(body.Ref, "refs/heads/"))
	if head == "" {
		missing(w, q)
		return
	}
	r.AddRun(q.PathValue("file"), head, "completed", "success")
	w.WriteHeader(http.StatusNoContent)
}
