package githubfake

import (
	"regexp"
	"strings"
)

// refRoutes are the references of the Git data API (docs: git/refs) and what
// else finds commits.
func (s *Server) refRoutes() {
	s.on(Read, "GET /git/ref/{ref...}", func(c *call) (any, error) {
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		branch, _ := strings.CutPrefix(c.param("ref"), "heads/")
		if id := c.repo.bare.branch(branch); id != "" && strings.HasPrefix(c.param("ref"), "heads/") {
			return refJSON(branch, id), nil
		}
		return nil, notFound()
	})
	s.on(Write, "POST /git/refs", func(c *call) (any, error) {
		in, err := c.body(fields{"ref": "!string", "sha": "!string"})
		if err != nil {
			return nil, err
		}
		branch, ok := strings.CutPrefix(text(in, "ref"), "refs/heads/")
		switch {
		case c.repo.bare.empty():
			return nil, emptyRepository()
		case !ok || branch == "" || c.repo.bare.try("check-ref-format", "--branch", branch) == "":
			return nil, unprocessable("Reference name must start with 'refs/' and contain at least two slashes.")
		case c.repo.bare.kind(text(in, "sha")) != "commit":
			return nil, unprocessable("Object does not exist")
		case c.repo.bare.branch(branch) != "":
			return nil, unprocessable("Reference already exists")
		}
		if err := c.repo.bare.point(branch, text(in, "sha")); err != nil {
			return nil, unprocessable("Reference update failed")
		}
		return created{refJSON(branch, text(in, "sha"))}, nil
	})
	s.on(Write, "PATCH /git/refs/{ref...}", func(c *call) (any, error) {
		in, err := c.body(fields{"sha": "!string", "force": "boolean"})
		if err != nil {
			return nil, err
		}
		b := c.repo.bare
		branch, _ := strings.CutPrefix(c.param("ref"), "heads/")
		old, to := b.branch(branch), text(in, "sha")
		switch {
		case old == "":
			return nil, unprocessable("Reference does not exist")
		case b.kind(to) != "commit":
			return nil, unprocessable("Object does not exist")
		case !flag(in, "force") && !b.contains(to, old):
			return nil, unprocessable("Update is not a fast forward")
		}
		return refJSON(branch, to), b.point(branch, to)
	})
	s.on(Write, "DELETE /git/refs/{ref...}", func(c *call) (any, error) {
		branch, _ := strings.CutPrefix(c.param("ref"), "heads/")
		if c.repo.bare.branch(branch) == "" {
			return nil, unprocessable("Reference does not exist")
		}
		_, err := c.repo.bare.run(nil, nil, "update-ref", "-d", "refs/heads/"+branch)
		c.repo.follow()
		return nothing{}, err
	})
	s.on(Read, "GET /commits/{ref...}", func(c *call) (any, error) {
		if ref, ok := strings.CutSuffix(c.param("ref"), "/status"); ok {
			return combinedStatus(c, ref)
		}
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		id := c.repo.resolve(c.param("ref"))
		if id == "" {
			return nil, unprocessable("No commit found for SHA: " + c.param("ref"))
		}
		if strings.Contains(c.request.Header.Get("Accept"), "sha") {
			return raw{"application/vnd.github.sha; charset=utf-8", []byte(id)}, nil
		}
		return object{"sha": id, "commit": c.repo.commitJSON(id)}, nil
	})
}

var fullID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolve returns the commit that a ref of a request names, "" when there is
// none.
func (r *repository) resolve(ref string) string {
	if ref == "HEAD" {
		return r.bare.branch(r.defaultBranch)
	}
	if fullID.MatchString(ref) && r.bare.kind(ref) == "commit" {
		return ref
	}
	return r.bare.branch(strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "heads/"))
}

// contains tells whether a commit has another in its history.
func (b bare) contains(commit, other string) bool {
	_, err := b.run(nil, nil, "merge-base", "--is-ancestor", other, commit)
	return err == nil
}

func refJSON(branch, id string) object {
	return object{"ref": "refs/heads/" + branch, "object": object{"type": "commit", "sha": id}}
}
