package actions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Job is the plan of one job: what its workflow says, before any expression
// has been evaluated.
type Job struct {
	Workflow        string // name
	ID              string
	Name            string
	If              string
	Env             []map[string]string // the workflow's, then the job's own
	Defaults        Defaults
	Outputs         map[string]string
	Timeout         string // in minutes
	ContinueOnError string
	Matrix          map[string]any
	AsksForMatrix   bool // there are expressions with matrix or strategy
	Steps           []Step
	InputKinds      map[string]string // type of each input of workflow_dispatch
	Environment     string            // name, see Scoped
}

// Defaults are for steps that do not say otherwise.
type Defaults struct {
	Shell            string `yaml:"shell"`
	WorkingDirectory string `yaml:"working-directory"`
}

// Step is one step of a job. Either Run or Uses is set.
type Step struct {
	ID               string            `yaml:"id"`
	Name             string            `yaml:"name"`
	If               string            `yaml:"if"`
	Run              string            `yaml:"run"`
	Uses             string            `yaml:"uses"`
	With             map[string]string `yaml:"with"`
	Env              map[string]string `yaml:"env"`
	Shell            string            `yaml:"shell"`
	WorkingDirectory string            `yaml:"working-directory"`
	ContinueOnError  string            `yaml:"continue-on-error"`
	Timeout          string            `yaml:"timeout-minutes"`
}

// Title is what a step is called in the log.
func (s Step) Title() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Uses != "":
		return s.Uses
	}
	line, _, _ := strings.Cut(strings.TrimSpace(s.Run), "\n")
	return line
}

type document struct {
	Name     string            `yaml:"name"`
	On       yaml.Node         `yaml:"on"`
	Env      map[string]string `yaml:"env"`
	Defaults struct {
		Run Defaults `yaml:"run"`
	} `yaml:"defaults"`
	Jobs map[string]yaml.Node `yaml:"jobs"`
}

type jobDocument struct {
	Name     string            `yaml:"name"`
	If       string            `yaml:"if"`
	Env      map[string]string `yaml:"env"`
	Defaults struct {
		Run Defaults `yaml:"run"`
	} `yaml:"defaults"`
	Outputs  map[string]string `yaml:"outputs"`
	Timeout  string            `yaml:"timeout-minutes"`
	Strategy struct {
		Matrix yaml.Node `yaml:"matrix"`
	} `yaml:"strategy"`
	ContinueOnError string    `yaml:"continue-on-error"`
	Steps           []Step    `yaml:"steps"`
	Environment     yaml.Node `yaml:"environment"`
	Container       yaml.Node `yaml:"container"`
	Services        yaml.Node `yaml:"services"`
	Uses            string    `yaml:"uses"`
}

// Parse reads a workflow and plans one of its jobs; the only one when id is
// empty, which is how the forge sends it. What this runner does not serve is
// an error here, so that a job fails before it has done half of its work.
func Parse(workflow []byte, id string) (*Job, error) {
	var d document
	if err := yaml.Unmarshal(workflow, &d); err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	if id == "" && len(d.Jobs) == 1 {
		for only := range d.Jobs {
			id = only
		}
	}
	node, ok := d.Jobs[id]
	if !ok {
		return nil, fmt.Errorf("workflow: there is no job %q among its %d", id, len(d.Jobs))
	}
	var j jobDocument
	if err := node.Decode(&j); err != nil {
		return nil, fmt.Errorf("workflow: %w", err)
	}
	asksForStrategy := asksFor(&node, "strategy")
	job := &Job{
		Workflow: d.Name,
		ID:       id, Name: j.Name, If: j.If,
		Env:             []map[string]string{d.Env, j.Env},
		Defaults:        j.Defaults.Run,
		Outputs:         j.Outputs,
		Timeout:         j.Timeout,
		ContinueOnError: j.ContinueOnError,
		AsksForMatrix:   asksForStrategy || asksFor(&node, "matrix"),
		Steps:           j.Steps,
		InputKinds:      inputKinds(&d.On),
	}
	if job.Name == "" {
		job.Name = id
	}
	if job.Defaults.Shell == "" {
		job.Defaults.Shell = d.Defaults.Run.Shell
	}
	if job.Defaults.WorkingDirectory == "" {
		job.Defaults.WorkingDirectory = d.Defaults.Run.WorkingDirectory
	}
	var err error
	if job.Environment, err = environmentName(&j.Environment); err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	if err := errors.Join(j.unserved(), checkMatrix(&j.Strategy.Matrix, asksForStrategy), checkSteps(job.Steps)); err != nil {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	if job.Matrix, err = chosen(&j.Strategy.Matrix); err != nil {
		return nil, fmt.Errorf("job %s: matrix: %w", id, err)
	}
	return job, nil
}

// chosen is this job's cell of the matrix: the forge sends each dimension as
// a list of one.
func chosen(n *yaml.Node) (map[string]any, error) {
	var matrix map[string]any
	if err := n.Decode(&matrix); err != nil {
		return nil, err
	}
	cell := make(map[string]any, len(matrix))
	for name, v := range matrix {
		if list, ok := v.([]any); ok && len(list) == 1 {
			v = list[0]
		}
		cell[name] = value(v)
	}
	return cell, nil
}

// inputKinds finds the types of a workflow_dispatch's inputs. `on` has many
// shapes; whatever has no such inputs yields none.
func inputKinds(on *yaml.Node) map[string]string {
	var events struct {
		Dispatch struct {
			Inputs map[string]struct {
				Type string `yaml:"type"`
			} `yaml:"inputs"`
		} `yaml:"workflow_dispatch"`
	}
	if on.Decode(&events) != nil {
		return nil
	}
	kinds := map[string]string{}
	for name, input := range events.Dispatch.Inputs {
		kinds[name] = input.Type
	}
	return kinds
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
