package actions

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

// task is what the forge says about a job to run, as this package uses it.
type task struct {
	ID       int64
	Workflow []byte
	GitHub   map[string]any
	Vars     map[string]string
	Secrets  map[string]string
	Needs    map[string]need
}

type need struct {
	Result  string
	Outputs map[string]string
}

func newTask(t *runnerv1.Task) task {
	made := task{
		ID: t.GetId(), Workflow: t.GetWorkflowPayload(), GitHub: map[string]any{},
		Vars: t.GetVars(), Secrets: t.GetSecrets(), Needs: map[string]need{},
	}
	if c := t.GetContext(); c != nil {
		made.GitHub = c.AsMap()
	}
	for name, n := range t.GetNeeds() {
		made.Needs[name] = need{Result: resultName(n.GetResult()), Outputs: n.GetOutputs()}
	}
	return made
}

// text is a text of the github context.
func (t task) text(name string) string {
	s, _ := t.GitHub[name].(string)
	return s
}

func (t task) serverURL() string { return strings.TrimSuffix(t.text("server_url"), "/") }

// workflow is what the job's workflow is called; the forge tells its file only.
func (t task) workflow(j *Job) string { return or(j.Workflow, t.text("workflow")) }

// label names the job for the runner's own log.
func (t task) label() string {
	return fmt.Sprintf("%s/%s/%s", t.text("repository"), t.text("workflow"), t.text("job"))
}

// inputs are those of a workflow_dispatch, each of the type that the workflow
// declares: the forge sends texts.
func (t task) inputs(kinds map[string]string) map[string]any {
	event, _ := t.GitHub["event"].(map[string]any)
	given, _ := event["inputs"].(map[string]any)
	inputs := make(map[string]any, len(given))
	for name, v := range given {
		inputs[name] = typed(v, kinds[name])
	}
	return inputs
}

func typed(v any, kind string) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	switch kind {
	case "boolean":
		return s == "true"
	case "number":
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n
		}
	}
	return s
}

// status of a job before its first step: what it needs must have succeeded.
func (t task) status() expression.Status {
	var s expression.Status
	for _, n := range t.Needs {
		switch n.Result {
		case failure:
			s.Failed = true
		case cancelled:
			s.Cancelled = true
		case skipped:
			s.Skipped = true
		}
	}
	// that one has failed is what counts when others were cancelled for it
	s.Cancelled = s.Cancelled && !s.Failed
	return s
}

// contexts are those that stay the same during a job.
func (t task) contexts(j *Job, vars, secrets map[string]string) map[string]any {
	needs := map[string]any{}
	for name, n := range t.Needs {
		needs[name] = map[string]any{"result": n.Result, "outputs": texts(n.Outputs)}
	}
	github := maps.Clone(t.GitHub)
	github["server_url"] = t.serverURL()
	github["workflow"] = t.workflow(j)
	if s, ok := secrets["GITHUB_TOKEN"]; ok && github["token"] == nil {
		github["token"] = s
	}
	return map[string]any{
		"github": github, "gitea": github,
		"vars": texts(vars), "secrets": texts(secrets), "needs": needs,
		"inputs": t.inputs(j.InputKinds), "matrix": j.Matrix, "strategy": j.strategy(),
		"env": map[string]any{}, "steps": map[string]any{}, "job": map[string]any{}, "runner": map[string]any{},
	}
}

func texts(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for k, v := range m {
		all[k] = v
	}
	return all
}

// value turns what YAML yields into what expressions know.
func value(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = value(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for k := range v {
			all[k] = value(v[k])
		}
		return all
	case nil, bool, float64, string:
		return v
	}
	return fmt.Sprint(v) // a date, or a key that is no text
}
