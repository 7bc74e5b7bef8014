package githubfake

import (
	"fmt"
	"net/http"
)

func patchPull(c *call) (any, error) {
	in, err := c.body(fields{"title": "string", "body": "string?", "state": "string", "base": "string", "maintainer_can_modify": "boolean"})
	if err != nil {
		return nil, err
	}
	t, err := c.pullRequest()
	if err != nil {
		return nil, err
	}
	if err := fits("PullRequest", in); err != nil {
		return nil, err
	}
	return t.change(in, func() object { return t.pullJSON() })
}

// change changes a thread's title, body and state.
func (t *thread) change(in object, json func() object) (any, error) {
	if has(in, "title") && text(in, "title") == "" {
		return nil, invalid("Issue", "title", "missing_field")
	}
	switch state := text(in, "state"); {
	case !has(in, "state") || state == t.state():
	case state != "open" && state != "closed":
		return nil, invalid("Issue", "state", "invalid")
	case state == "open" && t.pull != nil && !t.pull.mergedAt.IsZero():
		return nil, custom("PullRequest", "state", "state cannot be changed. The pull request cannot be reopened.")
	case state == "open" && t.pull != nil && t.repo.bare.branch(t.pull.head) == "":
		return nil, custom("PullRequest", "state", fmt.Sprintf("state cannot be changed. The %s branch has been deleted.", t.pull.head))
	case state == "open" && t.pull != nil && t.repo.between(t.pull.head, t.pull.base) != nil:
		return nil, custom("PullRequest", "state", "state cannot be changed. There is already an open pull request from "+t.pull.head+" to "+t.pull.base+".")
	case state == "open" && t.pull != nil && t.repo.bare.branch(t.pull.head) != t.pull.headSHA:
		return nil, custom("PullRequest", "state", fmt.Sprintf("state cannot be changed. The %s branch was force-pushed or recreated.", t.pull.head))
	default:
		t.closed = state == "closed"
	}
	if has(in, "title") {
		t.title = text(in, "title")
	}
	if has(in, "body") {
		t.body = text(in, "body")
	}
	t.touch()
	return json(), nil
}

// merge merges a pull request by a merge commit.
func (t *thread) merge() error {
	b, p := t.repo.bare, t.pull
	switch {
	case t.closed:
		return refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case p.draft:
		return refuse(http.StatusMethodNotAllowed, "Pull Request is still a draft")
	}
	base, head := b.branch(p.base), b.branch(p.head)
	tree, err := b.run(nil, nil, "merge-tree", "--write-tree", base, head)
	if err != nil {
		return refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	message := fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s", t.number, t.repo.owner, p.head, t.title)
	commit, err := b.run(nil, nil, "commit-tree", tree, "-p", base, "-p", head, "-m", message)
	if err != nil {
		return err
	}
	if err := b.point(p.base, commit); err != nil {
		return err
	}
	p.mergedAt, p.mergeSHA, t.closed = t.repo.server.now(), commit, true
	t.touch()
	return nil
}
