package forges_test

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/ci/forges"
)

const workflowWithInputs = `on:
  push: {}
  workflow_dispatch:
    inputs:
      environment:
        type: choice
        options: [dev, stage]
        required: true
      commit: {required: true}
      dry-run: {type: boolean, required: true, default: false}
      replicas: {type: number}
`

// TestInputsOfWorkflows: both forges take and refuse the same inputs of a
// workflow. What GitHub says comes from GitHub.
func TestInputsOfWorkflows(t *testing.T) {
	s := githubfake.Start(t)
	const repo, dispatches = "acme/x", "POST /api/v1/repos/acme/x/actions/workflows/%s/dispatches"
	workflows := map[string]string{
		"cd.yaml":      workflowWithInputs,
		"none.yaml":    "on: {workflow_dispatch: }\n",
		"list.yaml":    "on: [push, workflow_dispatch]\n",
		"word.yaml":    "on: workflow_dispatch\n",
		"push.yaml":    "on: push\n",
		"nothing.yaml": "jobs: {}\n",
	}
	files, answers := map[string]string{}, map[string]string{}
	for name, content := range workflows {
		files[".github/workflows/"+name] = content
		answers["GET /api/v1/repos/acme/x/raw/.github/workflows/"+name] = "200 " + content
		answers[strings.Replace(dispatches, "%s", name, 1)] = "204 "
	}
	s.Push(repo, "main", files)
	onGitHub, err := forges.Open(ci.Environment{Server: s.URL, API: s.URL + "/api/v3", Token: s.User("ann").Token, Forge: ci.GitHub})
	if err != nil {
		t.Fatal(err)
	}
	onGitea := newAPI(t, answers).forge(ci.Gitea, "/api/v1")
	for name, test := range map[string]struct {
		file   string
		inputs string
		want   string // of Gitea's error; "": it is started
	}{
		"all that is required": {"cd.yaml", "environment=dev commit=4f", ""},
		"all":                  {"cd.yaml", "environment=stage commit= dry-run=true replicas=3", ""},
		"without inputs":       {"none.yaml", "", ""},
		"by a list":            {"list.yaml", "", ""},
		"by a word":            {"word.yaml", "", ""},
		"unknown": {"cd.yaml", "environment=dev commit=4f bogus=1",
			".github/workflows/cd.yaml:4: the workflow has no input bogus: its inputs are commit, dry-run, environment, replicas"},
		"misspelt": {"cd.yaml", "enviroonment=dev commit=4f",
			".github/workflows/cd.yaml:4: the workflow has no input enviroonment: did you mean environment? Its inputs are commit,"},
		"missing":     {"cd.yaml", "environment=dev", ".github/workflows/cd.yaml:9: input commit is required and was not given: its inputs are commit,"},
		"not offered": {"cd.yaml", "environment=prod commit=4f", `.github/workflows/cd.yaml:5: input environment cannot be "prod": choose one of dev, stage`},
		"has none":    {"none.yaml", "bogus=1", ".github/workflows/none.yaml:1: the workflow has no input bogus: it has none"},
		"list none":   {"list.yaml", "bogus=1", "list.yaml:1: the workflow has no input bogus"},
		"not by name": {"push.yaml", "", "push.yaml:1: the workflow cannot be started by name: it has no workflow_dispatch among its triggers"},
		"no trigger":  {"nothing.yaml", "", "nothing.yaml:1: the workflow cannot be started by name"},
	} {
		inputs, err := ci.ParseInputs(strings.Fields(test.inputs))
		if err != nil {
			t.Fatal(err)
		}
		if err := onGitHub.StartWorkflow(t.Context(), repo, test.file, "main", inputs); (err != nil) != (test.want != "") {
			t.Errorf("%s, GitHub: %v", name, err)
		}
		err = onGitea.StartWorkflow(t.Context(), repo, test.file, "main", inputs)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, Gitea: %v, want %q", name, err, test.want)
		}
	}
}
