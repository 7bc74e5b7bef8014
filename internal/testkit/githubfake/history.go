package githubfake

import (
	"strings"
)

// historyRoutes are the lists of commits (docs: commits/commits#list-commits).
func (s *Server) historyRoutes() {
	s.on(Read, "GET /commits", func(c *call) (any, error) {
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		from := c.query("sha")
		if from == "" {
			from = "HEAD"
		}
		id := c.repo.resolve(from)
		if id == "" {
			return nil, notFound()
		}
		list := []object{}
		for line := range strings.SplitSeq(c.repo.bare.try("log", "--format=%H%x09%an%x09%ae%x09%aI", id), "\n") {
			f := strings.Split(line, "\t")
			list = append(list, object{"sha": f[0], "commit": object{"author": object{"name": f[1], "email": f[2], "date": f[3]}}})
		}
		return paginate(c, list), nil
	})
}
