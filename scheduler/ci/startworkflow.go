package ci

import (
	"context"
	"strings"
)

// WorkflowStart names a workflow and what it is told.
type WorkflowStart struct {
	Repo   string // owner/name
	File   string // in the folder of workflows, as in cd.yaml
	Ref    string // branch
	Inputs map[string]string
}

// ParseInputs reads arguments of the form NAME=VALUE. A value may be empty.
func ParseInputs(args []string) (map[string]string, error) {
	inputs := make(map[string]string, len(args))
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usage("input %q is not of the form NAME=VALUE", arg)
		}
		if _, twice := inputs[name]; twice {
			return nil, usage("input %s is given twice", name)
		}
		inputs[name] = value
	}
	return inputs, nil
}

// StartWorkflow starts a workflow and does not wait for it.
func StartWorkflow(ctx context.Context, f Forge, w WorkflowStart) error {
	if w.File == "" || strings.Contains(w.File, "/") {
		return usage("workflow %q: name its file without a folder, as in cd.yaml", w.File)
	}
	err := f.StartWorkflow(ctx, w.Repo, w.File, w.Ref, w.Inputs)
	return told(err, "starting workflow %s of %s on branch %s", w.File, w.Repo, w.Ref)
}
