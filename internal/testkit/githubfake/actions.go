package githubfake

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/nacl/box"
)

// actionsData are the secrets and variables of a repository or an environment.
type actionsData struct {
	id                 int64
	secrets, variables map[string]string
}

func (s *Server) newActions() *actionsData {
	return &actionsData{id: s.id(), secrets: map[string]string{}, variables: map[string]string{}}
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
		return c.repo.environmentJSON(c.param("environment")), nil
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
			c.repo.actions[name] = c.server.newActions()
		}
		return c.repo.environmentJSON(name), nil
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
		return object{"name": name, "value": value, "created_at": stamp(c.repo.created), "updated_at": stamp(c.repo.created)}, nil
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

// Dispatch is a workflow that was started.
type Dispatch struct {
	File, Ref string
	Inputs    map[string]string
}

// dispatch starts a workflow that lets itself be started.
func dispatch(c *call) (any, error) {
	in, err := c.body(fields{"ref": "!string", "inputs": "object", "return_run_details": "boolean"})
	if err != nil {
		return nil, err
	}
	b := c.repo.bare
	commit := c.repo.resolve(text(in, "ref"))
	file := c.param("file")
	if c.repo.bare.try("cat-file", "-t", c.repo.defaultBranch+":.github/workflows/"+file) == "" && (commit == "" || b.try("cat-file", "-t", commit+":.github/workflows/"+file) == "") {
		return nil, notFound()
	}
	if commit == "" {
		return nil, unprocessable("No ref found for: " + text(in, "ref"))
	}
	var workflow struct {
		On yaml.Node `yaml:"on"`
	}
	if err := yaml.Unmarshal([]byte(b.try("cat-file", "blob", commit+":.github/workflows/"+file)), &workflow); err != nil {
		return nil, unprocessable("Workflow file is not valid")
	}
	var triggers map[string]trigger
	if workflow.On.Kind == yaml.MappingNode {
		_ = workflow.On.Decode(&triggers)
	} else if strings.Contains(workflow.On.Value, "workflow_dispatch") || slices.ContainsFunc(workflow.On.Content, func(n *yaml.Node) bool { return n.Value == "workflow_dispatch" }) {
		triggers = map[string]trigger{"workflow_dispatch": {}}
	}
	started, ok := triggers["workflow_dispatch"]
	if !ok {
		return nil, unprocessable("Workflow does not have 'workflow_dispatch' trigger")
	}
	d := Dispatch{File: file, Ref: text(in, "ref"), Inputs: map[string]string{}}
	inputs, _ := in["inputs"].(object)
	for name, value := range inputs {
		d.Inputs[name] = fmt.Sprint(value)
	}
	if err := started.check(d.Inputs); err != nil {
		return nil, err
	}
	c.repo.started = append(c.repo.started, d)
	return nothing{}, nil
}

// trigger is what a workflow says about being started.
type trigger struct {
	Inputs map[string]struct {
		Required bool     `yaml:"required"`
		Default  any      `yaml:"default"`
		Type     string   `yaml:"type"`
		Options  []string `yaml:"options"`
	} `yaml:"inputs"`
}

// check refuses inputs that the workflow does not take.
func (t trigger) check(inputs map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, ok := t.Inputs[name]; !ok {
			return unprocessable(fmt.Sprintf("Unexpected inputs provided: [%q]", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Inputs)) {
		input := t.Inputs[name]
		value, given := inputs[name]
		if !given && input.Required && input.Default == nil {
			return unprocessable(fmt.Sprintf("Required input '%s' not provided", name))
		}
		if given && input.Type == "choice" && !slices.Contains(input.Options, value) {
			return unprocessable(fmt.Sprintf("Provided value '%s' for input '%s' not in the list of allowed values", value, name))
		}
	}
	return nil
}
