package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

type fakeIssue struct {
	number      int
	title, body string
	closed      bool
}

// fakeRun is a run of a workflow with one job.
type fakeRun struct {
	id                         int64
	file, commit, status, ends string
	log                        string
}

var morePath = regexp.MustCompile(`^/api/v1/repos/kalypso/([^/]+)(?:/(.*))?$`)

// moreAPI is what the forge answers beyond pull requests and files.
func (f *fakeWorld) moreAPI(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	missing := func() { http.Error(w, `{"message":"not found"}`, http.StatusNotFound) }
	if r.URL.Path == "/api/v1/orgs/kalypso/repos" {
		answer([]any{map[string]any{"name": controlPlane}})
		return
	}
	m := morePath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		missing()
		return
	}
	repo, what := m[1], m[2]
	dir, query := f.dir(repo), r.URL.Query()
	parts := strings.Split(what, "/")
	switch {
	case what == "":
		if _, err := gitIn(dir, "rev-parse", "HEAD"); err != nil {
			missing()
			return
		}
		answer(map[string]any{"name": repo})
	case what == "branches":
		answer([]any{map[string]any{"name": "main"}})
	case what == "commits":
		answer(fakeCommits(dir, query))
	case strings.HasPrefix(what, "git/commits/"):
		answer(fakeCommit(dir, parts[2]))
	case strings.HasPrefix(what, "branches/"):
		out, err := gitIn(dir, "rev-parse", parts[1])
		if err != nil {
			missing()
			return
		}
		answer(map[string]any{"name": parts[1], "commit": map[string]any{"id": out}})
	case what == "issues":
		list := []any{}
		for _, i := range f.issues {
			if i.closed == (query.Get("state") == "closed") {
				list = append(list, map[string]any{"number": i.number, "title": i.title, "body": i.body})
			}
		}
		answer(list)
	case parts[0] == "commits" || parts[0] == "statuses":
		list := f.status[parts[1]]
		if list == nil {
			list = []map[string]any{}
		}
		answer(list)
	case what == "actions/runs":
		list := []any{}
		for _, run := range f.runs {
			if run.commit == query.Get("head_sha") || query.Get("head_sha") == "" {
				list = append(list, map[string]any{
					"id": run.id, "run_number": run.id, "path": run.file + "@refs/heads/main", "head_sha": run.commit, "status": run.status,
					"conclusion": run.ends, "html_url": fmt.Sprintf("%s/kalypso/%s/actions/runs/%d", f.url, repo, run.id),
				})
			}
		}
		answer(map[string]any{"total_count": len(list), "workflow_runs": list})
	case strings.HasSuffix(what, "/jobs"):
		answer(map[string]any{"total_count": 1, "jobs": []any{map[string]any{
			"id": 1, "name": "build", "status": "completed", "conclusion": "failure",
			"steps": []any{map[string]any{"name": "Build the image", "conclusion": "failure"}},
		}}})
	case strings.HasSuffix(what, "/logs"):
		fmt.Fprint(w, f.runs[len(f.runs)-1].log)
	case strings.HasSuffix(what, "/dispatches"):
		var body struct{ Ref string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		commit, err := gitIn(dir, "rev-parse", strings.TrimPrefix(body.Ref, "refs/heads/"))
		if err != nil {
			missing()
			return
		}
		f.runs = append(f.runs, &fakeRun{id: int64(len(f.runs) + 1), file: parts[2], commit: commit, status: "completed", ends: "success"})
		w.WriteHeader(http.StatusNoContent)
	default:
		missing()
	}
}

func fakeCommits(dir string, query url.Values) []any {
	page, _ := strconv.Atoi(query.Get("page"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	line := []string{"log", fmt.Sprintf("--skip=%d", max(0, page-1)*limit), fmt.Sprintf("-%d", limit), "--format=%H", cmp.Or(query.Get("sha"), "HEAD")}
	if path := query.Get("path"); path != "" {
		line = append(line, "--", path)
	}
	out, _ := gitIn(dir, line...)
	list := []any{}
	for _, commit := range strings.Fields(out) {
		list = append(list, fakeCommit(dir, commit))
	}
	return list
}

func fakeCommit(dir, commit string) any {
	when, _ := gitIn(dir, "log", "-1", "--format=%cI", commit)
	message, _ := gitIn(dir, "log", "-1", "--format=%s", commit)
	parents := []any{}
	out, _ := gitIn(dir, "log", "-1", "--format=%P", commit)
	for _, parent := range strings.Fields(out) {
		parents = append(parents, map[string]any{"sha": parent})
	}
	return map[string]any{"sha": commit, "parents": parents, "commit": map[string]any{"message": message, "committer": map[string]any{"date": when}}}
}
