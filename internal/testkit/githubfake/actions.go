package githubfake

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"

	"golang.org/x/crypto/nacl/box"
)

// actionsData are the secrets and variables of a repository or an environment.
type actionsData struct {
	secrets, variables map[string]string
}

func newActions() *actionsData {
	return &actionsData{secrets: map[string]string{}, variables: map[string]string{}}
}

// actionRoutes are workflows, secrets, variables and environments (docs:
// actions/workflows, actions/secrets, actions/variables, deployments/
// environments).
func (s *Server) actionRoutes() {
	s.on(Write, "POST /actions/workflows/{file}/dispatches", dispatch)
	s.dataRoutes("/actions", func(c *call) (*actionsData, error) { return c.repo.actions[""], nil })
	s.dataRoutes("/environments/{environment}", func(c *call) (*actionsData, error) {
		if a := c.repo.actions[c.param("environment")]; a != nil {
			return a, nil
		}
		return nil, notFound()
	})
	s.on(Read, "GET /environments/{environment}", func(c *call) (any, error) {
		if c.repo.actions[c.param("environment")] == nil {
			return nil, notFound()
		}
		return object{"name": c.param("environment")}, nil
	})
	s.on(Admin, "PUT /environments/{environment}", func(c *call) (any, error) {
		if _, err := c.body(fields{"wait_timer": "integer", "reviewers": "objects?", "deployment_branch_policy": "object?", "prevent_self_review": "boolean"}); err != nil {
			return nil, err
		}
		if !c.repo.paidFor() {
			return nil, notFound()
		}
		name := c.param("environment")
		if c.repo.actions[name] == nil {
			c.repo.actions[name] = newActions()
		}
		return object{"name": name}, nil
	})
}

func (s *Server) dataRoutes(base string, of func(*call) (*actionsData, error)) {
	s.on(Write, "GET "+base+"/secrets/public-key", func(c *call) (any, error) {
		if _, err := of(c); err != nil {
			return nil, err
		}
		return object{"key_id": c.repo.keyID(), "key": base64.StdEncoding.EncodeToString(c.repo.public[:])}, nil
	})
	s.on(Write, "PUT "+base+"/secrets/{name}", func(c *call) (any, error) {
		in, err := c.body(fields{"encrypted_value": "!string", "key_id": "!string"})
		if err != nil {
			return nil, err
		}
		data, err := of(c)
		if err != nil {
			return nil, err
		}
		sealed, err := base64.StdEncoding.DecodeString(text(in, "encrypted_value"))
		value, ok := box.OpenAnonymous(nil, sealed, c.repo.public, c.repo.secret)
		switch {
		case !dataName.MatchString(c.param("name")) || strings.HasPrefix(strings.ToUpper(c.param("name")), "GITHUB_"):
			return nil, unprocessable("Secret names can only contain alphanumeric characters ([a-z], [A-Z], [0-9]) or underscores (_). Spaces are not allowed. Must start with a letter ([a-z], [A-Z]) or underscores (_).")
		case text(in, "key_id") != c.repo.keyID() || err != nil || !ok:
			return nil, unprocessable("Bad request - The secret could not be decrypted")
		}
		name := strings.ToUpper(c.param("name"))
		_, there := data.secrets[name]
		data.secrets[name] = string(value)
		if there {
			return nothing{}, nil
		}
		return created{object{}}, nil
	})
	s.on(Write, "POST "+base+"/variables", func(c *call) (any, error) {
		in, err := c.body(fields{"name": "!string", "value": "!string"})
		if err != nil {
			return nil, err
		}
		data, err := of(c)
		if err != nil {
			return nil, err
		}
		name := strings.ToUpper(text(in, "name"))
		_, there := data.variables[name]
		switch {
		case there:
			return nil, refuse(http.StatusConflict, "Variable already exists")
		case !dataName.MatchString(name):
			return nil, unprocessable("Variable names can only contain alphanumeric characters")
		}
		data.variables[name] = text(in, "value")
		return created{object{}}, nil
	})
	s.on(Write, "GET "+base+"/variables/{name}", func(c *call) (any, error) {
		data, err := of(c)
		if err != nil {
			return nil, err
		}
		name := strings.ToUpper(c.param("name"))
		value, ok := data.variables[name]
		if !ok {
			return nil, notFound()
		}
		return object{"name": name, "value": value}, nil
	})
	s.on(Write, "PATCH "+base+"/variables/{name}", func(c *call) (any, error) {
		in, err := c.body(fields{"name": "string", "value": "string"})
		if err != nil {
			return nil, err
		}
		data, err := of(c)
		if err != nil {
			return nil, err
		}
		name := strings.ToUpper(c.param("name"))
		if _, ok := data.variables[name]; !ok {
			return nil, notFound()
		}
		data.variables[name] = text(in, "value")
		return nothing{}, nil
	})
}

var dataName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *repository) keyID() string {
	sum := sha256.Sum256(r.public[:])
	return hex.EncodeToString(sum[:8])
}
