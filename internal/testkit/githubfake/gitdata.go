package githubfake

import (
	"encoding/base64"
	"strings"
)

// gitRoutes are the Git data API (docs: git/trees, git/commits, git/blobs).
func (s *Server) gitRoutes() {
	s.on(Read, "GET /git/trees/{id}", getTree)
	s.on(Write, "POST /git/trees", postTree)
	s.on(Read, "GET /git/commits/{id}", func(c *call) (any, error) {
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		if c.repo.bare.kind(c.param("id")) != "commit" {
			return nil, notFound()
		}
		return c.repo.commitJSON(c.param("id")), nil
	})
	s.on(Write, "POST /git/commits", postCommit)
	s.on(Read, "GET /git/blobs/{id}", func(c *call) (any, error) {
		if c.repo.bare.kind(c.param("id")) != "blob" {
			return nil, notFound()
		}
		data := must(c.repo.bare.output(nil, nil, "cat-file", "blob", c.param("id")))
		if strings.Contains(c.request.Header.Get("Accept"), "raw") {
			return raw{"application/vnd.github.raw; charset=utf-8", data}, nil
		}
		return object{"sha": c.param("id"), "size": len(data), "encoding": "base64", "content": base64.StdEncoding.EncodeToString(data)}, nil
	})
	s.on(Write, "POST /git/blobs", func(c *call) (any, error) {
		in, err := c.body(fields{"content": "!string", "encoding": "string"})
		if err != nil {
			return nil, err
		}
		data := []byte(text(in, "content"))
		if text(in, "encoding") == "base64" {
			if data, err = base64.StdEncoding.DecodeString(text(in, "content")); err != nil {
				return nil, unprocessable("content is not valid Base64")
			}
		}
		if c.repo.bare.empty() {
			return nil, emptyRepository()
		}
		return created{object{"sha": must(c.repo.bare.store("blob", data))}}, nil
	})
}
