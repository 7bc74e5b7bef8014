package githubfake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
