package githubfake

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// What follows writes the server's things as the API has them, whole: with all
// that GitHub's description requires.

// api is where a thing of the API is.
func (s *Server) api(format string, args ...any) string {
	return s.URL + "/api/v3" + fmt.Sprintf(format, args...)
}

// links adds to an object an address for each line of a table: the field's name
// without its _url, and what comes behind the base.
func links(o object, base, table string) object {
	for line := range strings.Lines(table) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" {
			o[name+"_url"] = base + rest
		}
	}
	return o
}

func nodeID(kind string, id int64) string { return fmt.Sprintf("%s_%d", kind, id) }

func (s *Server) accountJSON(u *User) object {
	o := object{
		"login": u.Login, "id": u.id, "node_id": nodeID("U", u.id), "type": u.kind(), "site_admin": false, "gravatar_id": "",
		"url": s.api("/users/%s", u.Login), "html_url": s.URL + "/" + u.Login, "avatar_url": fmt.Sprintf("%s/avatars/%d", s.URL, u.id),
	}
	return links(o, s.api("/users/%s", url.PathEscape(u.Login)), `
		followers /followers
		following /following{/other_user}
		gists /gists{/gist_id}
		starred /starred{/owner}{/repo}
		subscriptions /subscriptions
		organizations /orgs
		repos /repos
		events /events{/privacy}
		received_events /received_events
	`)
}

// ownJSON is an account as it sees itself, with a token that may not read what
// is private of a user.
func (s *Server) ownJSON(u *User) object {
	o := s.accountJSON(u)
	for _, name := range []string{"name", "company", "location", "email", "hireable", "bio"} {
		o[name] = nil
	}
	for _, name := range []string{"public_repos", "public_gists", "followers", "following"} {
		o[name] = 0
	}
	o["blog"], o["created_at"], o["updated_at"] = "", stamp(s.started), stamp(s.started)
	return o
}

func (s *Server) organisationJSON(u *User) object {
	o := object{
		"login": u.Login, "id": u.id, "node_id": nodeID("O", u.id), "type": u.kind(), "description": nil, "archived_at": nil,
		"has_organization_projects": true, "has_repository_projects": true,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
		"url": s.api("/orgs/%s", u.Login), "html_url": s.URL + "/" + u.Login, "avatar_url": fmt.Sprintf("%s/avatars/%d", s.URL, u.id),
		"created_at": stamp(s.started), "updated_at": stamp(s.started),
	}
	return links(o, s.api("/orgs/%s", u.Login), `
		repos /repos
		events /events
		hooks /hooks
		issues /issues
		members /members{/member}
		public_members /public_members{/member}
	`)
}

func (a *app) json(s *Server) object {
	return object{
		"id": a.id, "slug": a.slug, "name": a.slug, "node_id": nodeID("A", a.id), "owner": s.accountJSON(a.user), "description": nil,
		"external_url": s.URL, "html_url": s.URL + "/apps/" + a.slug, "created_at": stamp(s.started), "updated_at": stamp(s.started),
		"permissions": appPermissions, "events": []string{"push"},
	}
}

// appPermissions are those of every App here.
var appPermissions = object{"actions": "write", "contents": "write", "issues": "write", "metadata": "read", "pull_requests": "write", "statuses": "write", "workflows": "write"}

// shortJSON is a repository where it is mentioned.
func (r *repository) shortJSON() object {
	o := object{
		"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.fullName(), "owner": r.server.accountJSON(r.server.org(r.owner)),
		"private": r.private, "description": r.description, "fork": false,
		"url": r.api(""), "html_url": r.page(""),
	}
	return links(o, r.api(""), `
		archive /{archive_format}{/ref}
		assignees /assignees{/user}
		blobs /git/blobs{/sha}
		branches /branches{/branch}
		collaborators /collaborators{/collaborator}
		comments /comments{/number}
		commits /commits{/sha}
		compare /compare/{base}...{head}
		contents /contents/{+path}
		contributors /contributors
		deployments /deployments
		downloads /downloads
		events /events
		forks /forks
		git_commits /git/commits{/sha}
		git_refs /git/refs{/sha}
		git_tags /git/tags{/sha}
		hooks /hooks
		issue_comment /issues/comments{/number}
		issue_events /issues/events{/number}
		issues /issues{/number}
		keys /keys{/key_id}
		labels /labels{/name}
		languages /languages
		merges /merges
		milestones /milestones{/number}
		notifications /notifications{?since,all,participating}
		pulls /pulls{/number}
		releases /releases{/id}
		stargazers /stargazers
		statuses /statuses/{sha}
		subscribers /subscribers
		subscription /subscription
		tags /tags
		teams /teams
		trees /git/trees{/sha}
	`)
}

// listJSON is a repository in a list.
func (r *repository) listJSON() object {
	r.settle()
	open := 0
	for _, t := range r.threads {
		if !t.closed {
			open++
		}
	}
	o := r.shortJSON()
	maps.Copy(o, object{
		"visibility": r.visibility(), "topics": append([]string{}, r.topics...), "open_issues_count": open, "open_issues": open,
		"default_branch": r.defaultBranch, "has_issues": r.hasIssues, "archived": r.archived, "disabled": false,
		"clone_url": r.server.CloneURL(r.fullName()), "svn_url": r.page(""), "mirror_url": nil, "homepage": nil, "language": nil, "license": nil,
		"git_url": strings.Replace(r.server.CloneURL(r.fullName()), "http", "git", 1), "ssh_url": "git@github.example:" + r.fullName() + ".git",
		"has_projects": true, "has_wiki": true, "has_pages": false, "has_downloads": true, "has_discussions": false,
		"size": 0, "forks": 0, "forks_count": 0, "stargazers_count": 0, "watchers": 0, "watchers_count": 0,
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "pushed_at": stamp(r.created),
	})
	return o
}

// branchJSON is a repository with a branch of a pull request.
func (r *repository) branchJSON() object {
	o := r.listJSON()
	maps.Copy(o, object{
		"allow_merge_commit": r.merging.Merge, "allow_squash_merge": r.merging.Squash,
		"allow_rebase_merge": r.merging.Rebase, "allow_auto_merge": r.merging.Auto,
	})
	return o
}

// json is a repository asked for by its name.
func (r *repository) json() object {
	o := r.branchJSON()
	o["subscribers_count"], o["network_count"] = 0, 0
	return o
}

func (r *repository) api(format string, args ...any) string {
	return r.server.api("/repos/%s", r.fullName()) + fmt.Sprintf(format, args...)
}

func (r *repository) page(format string, args ...any) string {
	return r.server.URL + "/" + r.fullName() + fmt.Sprintf(format, args...)
}

func (l *label) json(r *repository) object {
	o := object{"id": l.id, "node_id": nodeID("LA", l.id), "name": l.name, "color": l.color, "description": nil, "default": false, "url": r.api("/labels/%s", url.PathEscape(l.name))}
	if l.description != "" {
		o["description"] = l.description
	}
	return o
}

func (t *thread) labelsJSON() []object {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(t.labels)) {
		list = append(list, t.repo.labels[name].json(t.repo))
	}
	return list
}

// threadJSON is what an issue and a pull request have in common.
func (t *thread) threadJSON() object {
	return object{
		"id": t.id, "number": t.number, "title": t.title, "body": t.body, "state": t.state(), "locked": false,
		"user": t.repo.server.accountJSON(t.author), "author_association": "MEMBER", "assignee": nil, "milestone": nil, "labels": t.labelsJSON(),
		"created_at": stamp(t.created), "updated_at": stamp(t.updated), "closed_at": stamp(t.closedAt),
		"comments_url": t.repo.api("/issues/%d/comments", t.number),
	}
}

// issueJSON is a thread as the issues API has it: a pull request is an issue
// with a mark (docs: issues/issues#list-repository-issues).
func (t *thread) issueJSON() object {
	o := t.threadJSON()
	issue := t.repo.api("/issues/%d", t.number)
	maps.Copy(o, object{
		"node_id": nodeID("I", t.id), "comments": len(t.comments), "assignees": []object{},
		"url": issue, "repository_url": t.repo.api(""), "labels_url": issue + "/labels{/name}", "events_url": issue + "/events",
		"html_url": t.repo.page("/issues/%d", t.number),
	})
	if t.pull != nil {
		page := t.repo.page("/pull/%d", t.number)
		o["pull_request"] = object{"url": t.repo.api("/pulls/%d", t.number), "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch", "merged_at": stamp(t.pull.mergedAt)}
	}
	return o
}

// pullListJSON is a pull request in a list.
func (t *thread) pullListJSON() object {
	p := t.pull
	owner, repo := t.repo.server.accountJSON(t.repo.server.org(t.repo.owner)), t.repo.branchJSON()
	side := func(branch, sha string) object {
		return object{"ref": branch, "sha": sha, "label": t.repo.owner + ":" + branch, "repo": repo, "user": owner}
	}
	pull, page := t.repo.api("/pulls/%d", t.number), t.repo.page("/pull/%d", t.number)
	o := t.threadJSON()
	maps.Copy(o, object{
		"node_id": t.nodeID(), "draft": p.draft, "merged_at": stamp(p.mergedAt), "merge_commit_sha": nil, "auto_merge": nil,
		"head": side(p.head, p.headSHA), "base": side(p.base, t.repo.bare.branch(p.base)),
		"url": pull, "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch",
		"issue_url": t.repo.api("/issues/%d", t.number), "commits_url": pull + "/commits", "review_comments_url": pull + "/comments",
		"review_comment_url": t.repo.api("/pulls/comments{/number}"), "statuses_url": t.repo.api("/statuses/%s", p.headSHA),
	})
	if p.later != "" && p.later != "QUEUE" {
		o["auto_merge"] = object{"enabled_by": o["user"], "merge_method": strings.ToLower(p.later), "commit_title": t.title, "commit_message": ""}
	}
	if p.mergeSHA != "" {
		o["merge_commit_sha"] = p.mergeSHA
	}
	related := object{}
	for name, field := range map[string]string{
		"self": "url", "html": "html_url", "issue": "issue_url", "comments": "comments_url", "review_comments": "review_comments_url",
		"review_comment": "review_comment_url", "commits": "commits_url", "statuses": "statuses_url",
	} {
		related[name] = object{"href": o[field]}
	}
	o["_links"] = related
	return o
}

// pullJSON is a pull request asked for by its number. Whether it can be merged
// is what GitHub finds out only later.
func (t *thread) pullJSON() object {
	o := t.pullListJSON()
	size := t.size()
	maps.Copy(o, object{
		"merged": !t.pull.mergedAt.IsZero(), "mergeable": nil, "mergeable_state": "unknown", "merged_by": nil, "maintainer_can_modify": false,
		"comments": len(t.comments), "review_comments": 0, "commits": size.commits, "additions": size.added, "deletions": size.removed, "changed_files": size.files,
	})
	if by := t.pull.mergedBy; by != nil {
		o["merged_by"] = t.repo.server.accountJSON(by)
	}
	return o
}

func (m comment) json(t *thread) object {
	page := t.issueJSON()["html_url"]
	return object{
		"id": m.id, "node_id": nodeID("IC", m.id), "user": t.repo.server.accountJSON(m.author), "author_association": "MEMBER", "body": m.body,
		"created_at": stamp(m.at), "updated_at": stamp(m.at), "url": t.repo.api("/issues/comments/%d", m.id),
		"html_url": fmt.Sprintf("%s#issuecomment-%d", page, m.id), "issue_url": t.repo.api("/issues/%d", t.number),
	}
}

func (h *Hook) json(r *repository) object {
	config := object{"url": h.URL, "content_type": h.ContentType, "insecure_ssl": "0"}
	if h.Secret != "" {
		config["secret"] = "********"
	}
	hook := r.api("/hooks/%d", h.ID)
	return object{
		"id": h.ID, "type": "Repository", "name": "web", "active": h.Active, "events": h.Events, "config": config,
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "last_response": object{"code": nil, "status": "unused", "message": nil},
		"url": hook, "test_url": hook + "/test", "ping_url": hook + "/pings", "deliveries_url": hook + "/deliveries",
	}
}

func (r *repository) environmentJSON(name string) object {
	a := r.actions[name]
	return object{
		"id": a.id, "node_id": nodeID("EN", a.id), "name": name, "created_at": stamp(r.created), "updated_at": stamp(r.created),
		"url": r.api("/environments/%s", url.PathEscape(name)), "html_url": r.page("/deployments/activity_log?environments_filter=%s", url.QueryEscape(name)),
		"protection_rules": []object{}, "deployment_branch_policy": nil,
	}
}

func (r *repository) refJSON(branch, id string) object {
	return object{
		"ref": "refs/heads/" + branch, "node_id": "REF_" + branch, "url": r.api("/git/refs/heads/%s", branch),
		"object": object{"type": "commit", "sha": id, "url": r.api("/git/commits/%s", id)},
	}
}

// commitsJSON are the commits that git log lists.
func (r *repository) commitsJSON(args ...string) []object {
	list := []object{}
	const format = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x1e"
	for entry := range strings.SplitSeq(r.bare.try(slices.Concat([]string{"log", format}, args)...), "\x1e") {
		f := strings.Split(strings.TrimPrefix(entry, "\n"), "\x00")
		if len(f) != 10 {
			continue
		}
		at := func(id string) string { return r.api("/commits/%s", id) }
		parents := []object{}
		for _, id := range strings.Fields(f[2]) {
			parents = append(parents, object{"sha": id, "url": at(id), "html_url": r.page("/commit/%s", id)})
		}
		list = append(list, object{
			"sha": f[0], "node_id": "C_" + f[0], "url": at(f[0]), "html_url": r.page("/commit/%s", f[0]), "comments_url": at(f[0]) + "/comments",
			"author": nil, "committer": nil, "parents": parents,
			"commit": object{
				"message": strings.TrimSuffix(f[9], "\n"), "comment_count": 0, "url": r.api("/git/commits/%s", f[0]),
				"author":    object{"name": f[3], "email": f[4], "date": f[5]},
				"committer": object{"name": f[6], "email": f[7], "date": f[8]},
				"tree":      object{"sha": f[1], "url": r.api("/git/trees/%s", f[1])},
			},
		})
	}
	return list
}

// statusJSON is a commit's status, in answer to the request that sets it.
func (r *repository) statusJSON(commit string, id int64, in object) object {
	now := stamp(r.server.now())
	return object{
		"id": id, "node_id": nodeID("SC", id), "state": in["state"], "description": in["description"], "target_url": in["target_url"], "context": in["context"],
		"url": r.api("/statuses/%s", commit), "avatar_url": r.server.URL + "/avatars/1", "created_at": now, "updated_at": now,
	}
}

// comparisonJSON is what one commit has that another has not.
func (r *repository) comparisonJSON(base, head, from, to string) (any, error) {
	common, err := r.bare.run("merge-base", from, to)
	if err != nil { // the two have no history in common
		return nil, notFound()
	}
	var behind, ahead int
	if _, err := fmt.Sscan(must(r.bare.run("rev-list", "--left-right", "--count", from+"..."+to)), &behind, &ahead); err != nil {
		return nil, err
	}
	status := "diverged"
	switch {
	case ahead+behind == 0:
		status = "identical"
	case behind == 0:
		status = "ahead"
	case ahead == 0:
		status = "behind"
	}
	page := r.page("/compare/%s...%s", base, head)
	return object{
		"url": r.api("/compare/%s...%s", base, head), "html_url": page, "permalink_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch",
		"base_commit": r.commitsJSON("-1", from)[0], "merge_base_commit": r.commitsJSON("-1", common)[0],
		"status": status, "ahead_by": ahead, "behind_by": behind, "total_commits": ahead, "commits": r.commitsJSON("--reverse", from+".."+to), "files": []object{},
	}, nil
}
