package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"github.com/kballard/go-shellquote"
	"github.com/nektos/act/pkg/model"
	"go.yaml.in/yaml/v4"
)

// readWorkflow reads the workflow that a task is a job of, with the jobs that
// it needs. The forge sends a workflow of that one job.
func readWorkflow(t *runnerv1.Task) (w *model.Workflow, id string, err error) {
	w, err = model.ReadWorkflow(bytes.NewReader(t.WorkflowPayload))
	if err != nil {
		return nil, "", fmt.Errorf("workflow: %w", err)
	}
	if id = text(t, "job"); id == "" && len(w.Jobs) == 1 {
		id = w.GetJobIDs()[0]
	}
	if w.Jobs[id] == nil {
		return nil, "", fmt.Errorf("workflow: there is no job %q among its %d", id, len(w.Jobs))
	}
	w.Name = cmp.Or(w.Name, text(t, "workflow"))
	var needs []string
	for name, n := range t.Needs {
		w.Jobs[name] = &model.Job{Outputs: n.Outputs, Result: resultName(n.Result)}
		needs = append(needs, name)
	}
	return w, id, w.Jobs[id].RawNeeds.Encode(needs)
}

// checkJob refuses what needs containers, so that a job fails before it has
// done half of its work.
func checkJob(j *model.Job) error {
	switch {
	case j.Uses != "":
		return fmt.Errorf("uses: %s: reusable workflows are not served here", j.Uses)
	case j.RawContainer.Kind != 0:
		return errors.New("container: jobs run on this machine, containers are not served here")
	case len(j.Services) > 0:
		return errors.New("services: jobs run on this machine, containers are not served here")
	}
	for i, s := range j.Steps {
		if s == nil || s.Type() == model.StepTypeInvalid {
			return fmt.Errorf("step %d: it needs either run or uses", i+1)
		}
		if s.Type() == model.StepTypeUsesDockerURL {
			return fmt.Errorf("step %d: uses: %s: containers are not served here", i+1, s.Uses)
		}
	}
	return nil
}

// shellCommand is the command line, in the library's form, by which a step's
// shell runs a script with its output going to the console. A shell is named, or
// is a command line with {0} for the script.
func shellCommand(shell, console string) (string, error) {
	line := shell
	switch shell {
	case "bash":
		line = "bash --noprofile --norc -eo pipefail {0}"
	case "sh":
		line = "sh -e {0}"
	case "python":
		line = "python3 {0}"
	case "":
		line = "bash -e {0}"
		if _, err := exec.LookPath("bash"); err != nil {
			line = "sh -e {0}"
		}
	}
	words := strings.Fields(line)
	found := false
	for i, word := range words {
		if word == "{0}" {
			words[i], found = `"{0}"`, true // the path of the script may have blanks and single quotes
		}
	}
	if !found {
		return "", fmt.Errorf("shell: %q is not served here: use bash, sh, python, or a command line with {0} for the script", shell)
	}
	return shellquote.Join("sh", "-c", stepShell, console) + " " + strings.Join(words, " "), nil
}

// minutes reads a timeout; zero when none is given.
func minutes(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) || n > 60*24*35 {
		return 0, fmt.Errorf("timeout-minutes: %q is not a number of minutes", s)
	}
	return time.Duration(n * float64(time.Minute)), nil
}

// maxWorkflow bounds a workflow file.
const maxWorkflow = 1 << 20

// originalJob is what Gitea leaves out of the job that it sends, and the
// library does not know.
type originalJob struct {
	file            string
	Environment     yaml.Node `yaml:"environment"`
	ContinueOnError string    `yaml:"continue-on-error"`
	Strategy        struct {
		Matrix yaml.Node `yaml:"matrix"`
	} `yaml:"strategy"`
}

func parseOriginal(file string, content []byte, id string) (originalJob, error) {
	var w struct {
		Jobs map[string]originalJob `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(content, &w); err != nil {
		return originalJob{}, fmt.Errorf("%s: %w", file, err)
	}
	o := w.Jobs[id]
	o.file = file
	return o, nil
}

// environmentName reads a job's `environment`: a name, or a mapping with one.
func (o originalJob) environmentName() (string, error) {
	var mapping struct {
		Name string `yaml:"name"`
	}
	switch {
	case o.Environment.IsZero():
		return "", nil
	case o.Environment.Kind == yaml.ScalarNode:
		return o.Environment.Value, nil
	case o.Environment.Decode(&mapping) != nil || mapping.Name == "":
		return "", fmt.Errorf("%s:%d: environment: it has no name", o.file, o.Environment.Line)
	}
	return mapping.Name, nil
}

// original reads the job from its workflow's file in the repository, with the
// job's own token. It is the job as sent where there is no such file.
func (j *job) original() (originalJob, error) {
	for _, dir := range []string{".gitea/workflows/", ".github/workflows/"} {
		file := dir + j.text("workflow")
		address := j.Config.URL + "/api/v1/repos/" + j.text("repository") + "/raw/" + dir +
			url.PathEscape(j.text("workflow")) + "?ref=" + url.QueryEscape(j.text("sha"))
		content, err := readRaw(address, j.text("token"))
		if err != nil {
			return originalJob{}, fmt.Errorf("read the workflow's file: %w", err)
		}
		if content != nil {
			return parseOriginal(file, content, j.id)
		}
	}
	return parseOriginal(j.text("workflow"), j.task.WorkflowPayload, j.id)
}

// readRaw returns nil where there is no file.
func readRaw(address, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "token "+token)
	response, err := noProxy.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return io.ReadAll(io.LimitReader(response.Body, maxWorkflow))
	case http.StatusNotFound:
		return nil, nil
	}
	return nil, fmt.Errorf("%s answers %s", address, response.Status)
}

// checkMatrix refuses a matrix that the forge could not make jobs of: it sends
// one job then, without a matrix. Only a job that asks for one is looked at.
func (j *job) checkMatrix() error {
	if s := j.model.Strategy; s != nil && s.RawMatrix.Kind != 0 || !bytes.Contains(j.task.WorkflowPayload, []byte("matrix")) {
		return nil
	}
	o, err := j.original()
	if err == nil && o.Strategy.Matrix.Kind != 0 {
		err = fmt.Errorf("%s:%d: strategy: matrix: the forge has made no jobs of it, since it does so before anything has run: write its values out as lists, without expressions and aliases", o.file, o.Strategy.Matrix.Line)
	}
	return err
}

// scope is what the names of an environment's variables and secrets begin with.
// Gitea has no environments, and its names have upper-case letters, digits and
// underscores only. The sandbox names its variables by the same rule.
func scope(environment string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(environment))
	return scopePrefix + plain + "__"
}

const scopePrefix = "ENV__"

// inEnvironment are the variables or secrets that a job sees: those without an
// environment, and over them those of its own.
func inEnvironment(all map[string]string, environment string) map[string]string {
	seen := make(map[string]string, len(all))
	for name, v := range all {
		if !strings.HasPrefix(strings.ToUpper(name), scopePrefix) {
			seen[name] = v
		}
	}
	for name, v := range all {
		if own, ok := strings.CutPrefix(strings.ToUpper(name), scope(environment)); ok && own != "" && environment != "" {
			seen[own] = v
		}
	}
	return seen
}

// environment is the name of the job's environment. The job's original is read
// only where any environment has a variable or secret.
func (j *job) environment() (string, error) {
	if len(inEnvironment(j.task.Vars, "")) == len(j.task.Vars) && len(inEnvironment(j.task.Secrets, "")) == len(j.task.Secrets) {
		return "", nil
	}
	o, err := j.original()
	if err != nil {
		return "", err
	}
	name, err := o.environmentName()
	return j.evaluate(name), err
}
