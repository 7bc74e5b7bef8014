package gitea

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// workflowFolders are where Gitea looks for workflows, in this order.
var workflowFolders = []string{".gitea/workflows/", ".github/workflows/"}

// StartWorkflow starts a workflow by the name of its file, as it is on branch
// ref. Gitea takes whatever inputs it is given, so that they are checked here.
func (f *Forge) StartWorkflow(ctx context.Context, repo, file, ref string, inputs map[string]string) error {
	where, content, err := f.workflow(ctx, repo, file, ref)
	switch {
	case errors.Is(err, forge.ErrNotFound): // Gitea says what it is that is missing
	case err != nil:
		return err
	default:
		if err := checkInputs(where, content, inputs); err != nil {
			return err
		}
	}
	return f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (*sdk.Response, error) {
		_, r, err := c.DispatchRepoActionWorkflow(owner, name, file, sdk.CreateActionWorkflowDispatchOption{Ref: ref, Inputs: inputs}, false)
		return r, err
	})
}

// workflow reads a workflow's file as it is on branch ref.
func (f *Forge) workflow(ctx context.Context, repo, file, ref string) (where string, content []byte, err error) {
	for _, folder := range workflowFolders {
		where = folder + file
		err = f.callRepo(ctx, repo, func(c *sdk.Client, owner, name string) (r *sdk.Response, err error) {
			content, r, err = c.GetFile(owner, name, ref, where)
			return r, err
		})
		if !errors.Is(err, forge.ErrNotFound) {
			break
		}
	}
	return where, content, err
}

// dispatchEvent is the trigger of workflows that are started by name.
const dispatchEvent = "workflow_dispatch"

// dispatchInput is what a workflow says about one of its inputs.
type dispatchInput struct {
	Required bool      `yaml:"required"`
	Default  yaml.Node `yaml:"default"`
	Type     string    `yaml:"type"`
	Options  []string  `yaml:"options"`
	line     int
}

// checkInputs refuses the inputs that GitHub refuses for the workflow of that
// content: one that the workflow does not have, a required one that is missing,
// and a choice that is not offered.
func checkInputs(file string, content []byte, inputs map[string]string) error {
	var workflow struct {
		On yaml.Node `yaml:"on"`
	}
	if err := yaml.Unmarshal(content, &workflow); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	declared, line, err := dispatchInputs(workflow.On)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	names := slices.Sorted(maps.Keys(declared))
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, ok := declared[name]; !ok {
			return fmt.Errorf("%s:%d: the workflow has no input %s: %s", file, line, name, among(name, names))
		}
	}
	for _, name := range names {
		input := declared[name]
		value, given := inputs[name]
		switch {
		case !given && input.Required && input.Default.IsZero():
			return fmt.Errorf("%s:%d: input %s is required and was not given: %s", file, input.line, name, among("", names))
		case given && input.Type == "choice" && !slices.Contains(input.Options, value):
			return fmt.Errorf("%s:%d: input %s cannot be %q: choose one of %s", file, input.line, name, value, strings.Join(input.Options, ", "))
		}
	}
	return nil
}

// among says which inputs there are, and which of them was meant.
func among(name string, names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	text := "its inputs are " + strings.Join(names, ", ")
	if near := model.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s? %s", near, strings.ToUpper(text[:1])+text[1:])
	}
	return text
}

// dispatchInputs finds a workflow's inputs and the line that they begin at. The
// triggers of a workflow are one name, a list of names, or names with settings.
func dispatchInputs(on yaml.Node) (inputs map[string]dispatchInput, line int, err error) {
	event, trigger := yamlpos.Field(&on, dispatchEvent)
	switch {
	case on.Kind == yaml.ScalarNode && on.Value == dispatchEvent:
		return nil, on.Line, nil
	case on.Kind == yaml.SequenceNode:
		for _, event := range on.Content {
			if event.Value == dispatchEvent {
				return nil, event.Line, nil
			}
		}
	}
	if trigger == nil {
		return nil, max(on.Line, 1), fmt.Errorf("the workflow cannot be started by name: it has no %s among its triggers", dispatchEvent)
	}
	section, declared := yamlpos.Field(trigger, "inputs")
	if declared == nil {
		return nil, event.Line, nil
	}
	inputs = map[string]dispatchInput{}
	for key, value := range yamlpos.Fields(declared) {
		input := dispatchInput{line: key.Line}
		if err := value.Decode(&input); err != nil {
			return nil, key.Line, fmt.Errorf("input %s: %w", key.Value, err)
		}
		inputs[key.Value] = input
	}
	return inputs, section.Line, nil
}
