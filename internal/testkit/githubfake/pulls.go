package githubfake

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// What texts GitHub takes.
const (
	maxTitle = 256
	maxBody  = 65536
)

// pullRoutes are pull requests (docs: pulls/pulls).
func (s *Server) pullRoutes() {
	s.on(Read, "GET /pulls", listPulls)
	s.on(Write, "POST /pulls", postPull)
	s.on(Read, "GET /pulls/{number}", func(c *call) (any, error) {
		t, err := c.pullRequest()
		if err != nil {
			return nil, err
		}
		return t.pullJSON(), nil
	})
	s.on(Write, "PATCH /pulls/{number}", patchPull)
	s.on(Write, "PUT /pulls/{number}/merge", func(c *call) (any, error) {
		in, err := c.body(fields{"commit_title": "string", "commit_message": "string", "sha": "string", "merge_method": "string"})
		if err != nil {
			return nil, err
		}
		t, err := c.pullRequest()
		if err != nil {
			return nil, err
		}
		if has(in, "sha") && text(in, "sha") != t.pull.headSHA {
			return nil, refuse(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
		}
		method := cmp.Or(text(in, "merge_method"), "merge")
		if no := c.repo.merging.refusal(method); no != "" {
			return nil, refuse(http.StatusMethodNotAllowed, no)
		}
		if err := t.mergeBy(method); err != nil {
			return nil, err
		}
		t.pull.mergedBy = c.user
		return object{"sha": t.pull.mergeSHA, "merged": true, "message": "Pull Request successfully merged"}, nil
	})
}

func (c *call) pullRequest() (*thread, error) {
	t := c.repo.thread(c.param("number"))
	if t == nil || t.pull == nil {
		return nil, notFound()
	}
	return t, nil
}

func listPulls(c *call) (any, error) {
	var all []*thread
	threads := c.repo.threads
	if c.repo.listed != nil {
		threads = c.repo.listed
	}
	for _, t := range threads {
		state := c.query("state")
		if state == "" {
			state = "open"
		}
		head := c.query("head")
		switch {
		case t.pull == nil, state != "all" && t.state() != state:
		case c.query("base") != "" && t.pull.base != c.query("base"):
		case strings.Contains(head, ":") && !equalFold(c.repo.owner+":"+t.pull.head, head): // without an owner it is not looked at
		default:
			all = append(all, t)
		}
	}
	if c.query("direction") != "asc" {
		slices.Reverse(all)
	}
	return rendered(paginate(c, all), (*thread).pullListJSON), nil
}

// rendered turns a page of threads into what is sent.
func rendered(p page, json func(*thread) object) page {
	out := []object{}
	for _, t := range p.items.([]*thread) {
		out = append(out, json(t))
	}
	p.items = out
	return p
}

func postPull(c *call) (any, error) {
	in, err := c.body(fields{
		"title": "string", "head": "!string", "base": "!string", "body": "string?", "draft": "boolean",
		"maintainer_can_modify": "boolean", "issue": "integer", "head_repo": "string",
	})
	if err != nil {
		return nil, err
	}
	r := c.repo
	head, base := text(in, "head"), text(in, "base")
	if owner, branch, ok := strings.Cut(head, ":"); ok && equalFold(owner, r.owner) {
		head = branch
	}
	switch {
	case text(in, "title") == "" && !has(in, "issue"):
		return nil, invalid("PullRequest", "title", "missing_field")
	case r.bare.branch(base) == "":
		return nil, invalid("PullRequest", "base", "invalid")
	case r.bare.branch(head) == "":
		return nil, invalid("PullRequest", "head", "invalid")
	}
	if err := fits("PullRequest", in); err != nil {
		return nil, err
	}
	if t := r.between(head, base); t != nil {
		return nil, custom("PullRequest", "", fmt.Sprintf("A pull request already exists for %s:%s.", r.owner, head))
	}
	if r.bare.contains(r.bare.branch(base), r.bare.branch(head)) {
		return nil, custom("PullRequest", "", fmt.Sprintf("No commits between %s and %s", base, head))
	}
	if flag(in, "draft") && r.noDrafts {
		return nil, unprocessable("Draft pull requests are not supported in this repository.")
	}
	t := r.open(c.user, text(in, "title"), text(in, "body"), &pull{head: head, base: base, headSHA: r.bare.branch(head), draft: flag(in, "draft")})
	return created{t.pullJSON()}, nil
}

// between returns the open pull request between two branches.
func (r *repository) between(head, base string) *thread {
	for _, t := range r.threads {
		if t.pull != nil && !t.closed && t.pull.head == head && t.pull.base == base {
			return t
		}
	}
	return nil
}

func fits(what string, in object) error {
	if err := tooLong(what, "title", text(in, "title"), maxTitle); err != nil {
		return err
	}
	return tooLong(what, "body", text(in, "body"), maxBody)
}

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
		t.close(state == "closed")
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

// refusal is what GitHub says where a pull request may not be merged, or not so.
func (m Merging) refusal(method string) string {
	switch {
	case method == "merge" && !m.Merge:
		return "Merge commits are not allowed on this repository."
	case method == "squash" && !m.Squash:
		return "Squash merges are not allowed on this repository."
	case method == "rebase" && !m.Rebase:
		return "Rebase merges are not allowed on this repository."
	case m.Queue:
		return "Repository rule violations found\n\nChanges must be made through the merge queue\n\n"
	}
	return m.Missing
}

// merge merges a pull request by a merge commit.
func (t *thread) merge() error { return t.mergeBy("merge") }

// mergeBy merges a pull request. What it has is one commit to the other methods.
func (t *thread) mergeBy(method string) error {
	b, p := t.repo.bare, t.pull
	switch {
	case t.closed:
		return refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case p.draft:
		return refuse(http.StatusMethodNotAllowed, "Pull Request is still a draft")
	}
	base, head := b.branch(p.base), b.branch(p.head)
	tree, err := b.run("merge-tree", "--write-tree", base, head)
	if err != nil {
		return refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	message := fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s", t.number, t.repo.owner, p.head, t.title)
	parents := []string{"-p", base}
	if method == "merge" {
		parents = append(parents, "-p", head)
	}
	commit, err := b.run(slices.Concat([]string{"commit-tree", tree, "-m", message}, parents)...)
	if err != nil {
		return err
	}
	if err := b.point(p.base, commit); err != nil {
		return err
	}
	p.mergedAt, p.mergeSHA, p.mergeBase = t.repo.server.now(), commit, base
	t.close(true)
	return nil
}

// size is what a pull request changes: files, lines, and commits.
type size struct{ files, added, removed, commits int }

func (t *thread) size() (z size) {
	b := t.repo.bare
	base := cmp.Or(t.pull.mergeBase, b.branch(t.pull.base))
	if base == "" {
		return z
	}
	between := base + ".." + t.pull.headSHA
	if known, ok := sizeOf.Load(between); ok {
		return known.(size)
	}
	for line := range strings.Lines(b.try("diff", "--numstat", base+"..."+t.pull.headSHA)) {
		var more, fewer int // a binary file has none
		_, _ = fmt.Sscan(line, &more, &fewer)
		z.files, z.added, z.removed = z.files+1, z.added+more, z.removed+fewer
	}
	_, _ = fmt.Sscan(b.try("rev-list", "--count", between), &z.commits)
	sizeOf.Store(between, z)
	return z
}

// graphRoutes are the two mutations that the REST API has nothing for
// (docs.github.com/graphql/reference/mutations). GraphQL answers 200 also where
// it refuses.
func (s *Server) graphRoutes() {
	s.handle("POST /graphql", func(c *call) (any, error) {
		if c.user == nil {
			return nil, refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
		}
		in, err := c.body(fields{"query": "!string", "variables": "object"})
		if err != nil {
			return nil, err
		}
		variables, _ := in["variables"].(object)
		t := c.server.node(text(variables, "id"))
		no := func(kind, message string) (any, error) {
			return object{"data": nil, "errors": []object{{"type": kind, "message": message}}}, nil
		}
		if t == nil || c.user.may(t.repo) < Read {
			return no("NOT_FOUND", "Could not resolve to a node with the global id of '"+text(variables, "id")+"'.")
		}
		query := text(in, "query")
		draft := strings.Contains(query, "convertPullRequestToDraft(")
		switch {
		case strings.Contains(query, "enablePullRequestAutoMerge("):
			if m := t.repo.merging; !m.Auto || text(variables, "head") != t.pull.headSHA || m.Missing == "" && !m.Queue {
				return no("UNPROCESSABLE", "Auto merge is not allowed for this repository, or the pull request is in clean status")
			}
			t.pull.later = text(variables, "method")
			return object{"data": object{"done": object{"pullRequest": object{"id": t.nodeID()}}}}, nil
		case strings.Contains(query, "enqueuePullRequest("):
			if m := t.repo.merging; !m.Queue || m.Missing != "" || text(variables, "head") != t.pull.headSHA {
				return no("UNPROCESSABLE", "Pull request is not in the correct state to be enqueued")
			}
			t.pull.later = "QUEUE"
			return object{"data": object{"done": object{"mergeQueueEntry": object{"id": "MQE_1"}}}}, nil
		case !draft && !strings.Contains(query, "markPullRequestReadyForReview("):
			return no("undefinedField", "Field doesn't exist on type 'Mutation'")
		case c.user.may(t.repo) < Write, draft && t.repo.noDrafts:
			return no("FORBIDDEN", c.user.Login+" does not have permission to convert the pull request "+t.nodeID()+" to draft.")
		case t.closed:
			return no("UNPROCESSABLE", "Pull request is closed")
		}
		t.pull.draft = draft
		t.touch()
		m := mutationField.FindStringSubmatch(query)
		if m == nil {
			return no("undefinedField", "Parse error")
		}
		return object{"data": object{cmp.Or(m[1], m[2]): object{"pullRequest": object{"isDraft": draft}}}}, nil
	})
}

func (s *Server) node(id string) *thread {
	for _, r := range s.repos {
		for _, t := range r.threads {
			if t.pull != nil && t.nodeID() == id {
				return t
			}
		}
	}
	return nil
}

// mutationField is a mutation with the name that its answer has.
var mutationField = regexp.MustCompile(`\{(?:(\w+):)?(\w+)\(input:`)
