package githubfake

import (
	"slices"
	"time"
)

// review is what a user says about a pull request.
type review struct {
	id     int64
	author *User
	state  string
	commit string
	at     time.Time
}

// Review makes a user's review, whose state is one of GitHub's: APPROVED, CHANGES_REQUESTED,
// COMMENTED or DISMISSED.
func (s *Server) Review(by *User, repo string, number int, state string) {
	edit(s, repo, func(r *repository) int {
		t := r.must(number)
		t.reviews = append(t.reviews, review{s.id(), by, state, t.pull.headSHA, s.now()})
		return 0
	})
}

// CheckRun makes a check run of a commit; without a conclusion it goes on.
func (s *Server) CheckRun(repo, commit, name, conclusion string) {
	edit(s, repo, func(r *repository) int {
		run := r.checkRunJSON(s.id(), commit, name, conclusion)
		r.checkRuns[commit] = slices.DeleteFunc(r.checkRuns[commit], func(o object) bool { return text(o, "name") == name })
		r.checkRuns[commit] = append(r.checkRuns[commit], run)
		return 0
	})
}

// reviewRoutes are reviews and commits of pull requests (docs: pulls/reviews, pulls/pulls).
func (s *Server) reviewRoutes() {
	s.on(Read, "GET /pulls/{number}/reviews", func(c *call) (any, error) {
		t, err := c.pullRequest()
		if err != nil {
			return nil, err
		}
		all := []object{}
		for _, one := range t.reviews {
			all = append(all, one.json(t))
		}
		return paginate(c, all), nil
	})
	s.on(Read, "GET /pulls/{number}/commits", func(c *call) (any, error) {
		t, err := c.pullRequest()
		if err != nil {
			return nil, err
		}
		base := t.pull.mergeBase
		if base == "" {
			base = c.repo.bare.branch(t.pull.base)
		}
		return paginate(c, c.repo.commitsJSON("--reverse", base+".."+t.pull.headSHA)), nil
	})
}

func (m review) json(t *thread) object {
	pull := t.repo.api("/pulls/%d", t.number)
	page := t.repo.page("/pull/%d#pullrequestreview-%d", t.number, m.id)
	return object{
		"id": m.id, "node_id": nodeID("PRR", m.id), "user": t.repo.server.accountJSON(m.author), "body": "", "state": m.state, "html_url": page,
		"pull_request_url": pull, "_links": object{"html": object{"href": page}, "pull_request": object{"href": pull}},
		"submitted_at": stamp(m.at), "commit_id": m.commit, "author_association": "MEMBER",
	}
}

// checkRuns are those of a commit (docs: checks/runs).
func checkRuns(c *call, ref string) (any, error) {
	id := c.repo.resolve(ref)
	if id == "" {
		return nil, unprocessable("No commit found for SHA: " + ref)
	}
	all := slices.Clone(c.repo.checkRuns[id])
	if all == nil {
		all = []object{}
	}
	p := paginate(c, all)
	p.items = object{"total_count": len(all), "check_runs": p.items}
	return p, nil
}

func (r *repository) checkRunJSON(id int64, commit, name, conclusion string) object {
	now := stamp(r.server.now())
	o := object{
		"id": id, "node_id": nodeID("CR", id), "head_sha": commit, "external_id": "", "url": r.api("/check-runs/%d", id),
		"html_url": r.page("/runs/%d", id), "details_url": r.page("/runs/%d", id), "status": "in_progress", "conclusion": nil,
		"started_at": now, "completed_at": nil, "name": name, "check_suite": object{"id": id}, "app": nil, "pull_requests": []object{},
		"output": object{"title": name, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": r.api("/check-runs/%d/annotations", id)},
	}
	if conclusion != "" {
		o["status"], o["conclusion"], o["completed_at"] = "completed", conclusion, now
	}
	return o
}
