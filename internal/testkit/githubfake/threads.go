package githubfake

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// thread is an issue or a pull request: both have numbers of one row.
type thread struct {
	repo     *repository
	id       int64
	number   int
	title    string
	body     string
	closed   bool
	author   *User
	labels   map[string]bool // by name in lower case
	comments []comment
	created  time.Time
	updated  time.Time
	pull     *pull // nil for an issue
}

type comment struct {
	id     int64
	author *User
	body   string
	at     time.Time
}

// pull is what a pull request has besides.
type pull struct {
	head, base string // branches
	headSHA    string // as long as it is open that of the branch
	draft      bool
	mergedAt   time.Time
	mergeSHA   string
}

func (r *repository) open(author *User, title, body string, p *pull) *thread {
	r.number++
	now := r.server.now()
	t := &thread{
		repo: r, id: r.server.id(), number: r.number, title: title, body: body, author: author,
		labels: map[string]bool{}, created: now, updated: now, pull: p,
	}
	r.threads = append(r.threads, t)
	return t
}

// touch notes that a thread was changed.
func (t *thread) touch() { t.updated = t.repo.server.now() }

func (t *thread) state() string {
	if t.closed {
		return "closed"
	}
	return "open"
}

// thread finds a thread by its number.
func (r *repository) thread(number string) *thread {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(r.threads) {
		return nil
	}
	return r.threads[n-1]
}

// issueJSON is a thread as the issues API has it: a pull request is an issue
// with a mark (docs: issues/issues#list-repository-issues).
func (t *thread) issueJSON() object {
	o := object{
		"id": t.id, "node_id": fmt.Sprintf("I_%d", t.id), "number": t.number, "title": t.title, "body": t.body, "state": t.state(),
		"user": t.author.json(), "labels": t.labelsJSON(), "comments": len(t.comments),
		"created_at": stamp(t.created), "updated_at": stamp(t.updated),
		"html_url": fmt.Sprintf("%s/%s/issues/%d", t.repo.server.URL, t.repo.fullName(), t.number),
	}
	if t.pull != nil {
		o["pull_request"] = object{"url": fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", t.repo.server.URL, t.repo.fullName(), t.number)}
	}
	return o
}

func (t *thread) labelsJSON() []object {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(t.labels)) {
		list = append(list, t.repo.labels[name].json())
	}
	return list
}

func (t *thread) pullJSON() object {
	p := t.pull
	side := func(branch, sha string) object {
		return object{"ref": branch, "sha": sha, "label": t.repo.owner + ":" + branch, "repo": t.repo.json(), "user": object{"login": t.repo.owner}}
	}
	o := object{
		"id": t.id, "node_id": t.nodeID(), "number": t.number, "title": t.title, "body": t.body, "state": t.state(), "draft": p.draft,
		"user": t.author.json(), "labels": t.labelsJSON(), "created_at": stamp(t.created), "updated_at": stamp(t.updated),
		"merged_at": stamp(p.mergedAt), "merge_commit_sha": nil,
		"head": side(p.head, p.headSHA), "base": side(p.base, t.repo.bare.branch(p.base)),
		"html_url": fmt.Sprintf("%s/%s/pull/%d", t.repo.server.URL, t.repo.fullName(), t.number),
	}
	if p.mergeSHA != "" {
		o["merge_commit_sha"] = p.mergeSHA
	}
	return o
}

func (t *thread) nodeID() string { return fmt.Sprintf("PR_%d", t.id) }

// follow brings open pull requests to where their branches are. One without
// its branch is closed.
func (r *repository) follow() {
	for _, t := range r.threads {
		if t.pull == nil || t.closed {
			continue
		}
		head := r.bare.branch(t.pull.head)
		switch {
		case head == "" || r.bare.branch(t.pull.base) == "":
			t.closed = true
			t.touch()
		case head != t.pull.headSHA:
			t.pull.headSHA = head
			t.touch()
		}
	}
}

// equalFold compares names as GitHub does.
func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
