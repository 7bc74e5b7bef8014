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
		if !strings.Contains(c.request.Header.Get("Accept"), "sha") {
			return object{"sha": id}, nil
		}
		return raw{"application/vnd.github.sha; charset=utf-8", []byte(id)}, nil
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
