package main

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// workflowFile is what the test looks at in a workflow.
type workflowFile struct {
	On   yaml.Node `yaml:"on"`
	Jobs map[string]struct {
		Steps []struct {
			Run string `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// inputs are those of workflow_dispatch, with whether they are required.
func (w workflowFile) inputs() map[string]bool {
	var on struct {
		Dispatch struct {
			Inputs map[string]struct {
				Required bool `yaml:"required"`
			} `yaml:"inputs"`
		} `yaml:"workflow_dispatch"`
	}
	_ = w.On.Decode(&on) // other forms have no inputs
	all := map[string]bool{}
	for name, input := range on.Dispatch.Inputs {
		all[name] = input.Required
	}
	return all
}

// commands are the lines of a script that call kalypso, as words. Expressions
// and variables become one word that could be anything.
func commands(script string) (all [][]string) {
	script = strings.ReplaceAll(script, "\\\n", " ")
	script = regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(script, "value")
	script = regexp.MustCompile(`"([^"]*)"`).ReplaceAllStringFunc(script, func(quoted string) string {
		return strings.ReplaceAll(strings.Trim(quoted, `"`), " ", "_")
	})
	for line := range strings.Lines(script) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "kalypso" {
			all = append(all, words[1:])
		}
	}
	return all
}

// TestWorkflows: the workflows are right in the eyes of GitHub's grammar, every
// step calls a command that there is with flags that it has, and starts a
// workflow that there is with the inputs that it wants.
func TestWorkflows(t *testing.T) {
	folder := "../../fixtures"
	files := map[string]workflowFile{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(filepath.Dir(file)) != "workflows" {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			return err
		}
		problems, err := linter.Lint("<stdin>", content, nil)
		for _, p := range problems {
			t.Errorf("%s:%d: %s", file, p.Line, p.Message)
		}
		var w workflowFile
		if err := yaml.Unmarshal(content, &w); err != nil {
			return err
		}
		files[strings.TrimPrefix(filepath.ToSlash(file), folder+"/")] = w
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	steps := 0
	for name, w := range files {
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				for _, words := range commands(step.Run) {
					steps++
					checkStep(t, files, name, words)
				}
			}
		}
	}
	if steps < 30 {
		t.Errorf("only %d steps", steps)
	}
}

func checkStep(t *testing.T, files map[string]workflowFile, name string, words []string) {
	t.Helper()
	root := newRoot(&app{})
	if words[0] == "ci" {
		root = newCI(&app{})
		words = words[1:]
	}
	c, rest, err := root.Find(words)
	if err != nil || c == root {
		t.Errorf("%s: no command %v: %v", name, words, err)
		return
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v: %v", name, words, err)
		return
	}
	args := c.Flags().Args()
	if err := c.ValidateArgs(args); err != nil {
		t.Errorf("%s: %v: %v", name, words, err)
		return
	}
	if c.Name() != "start-workflow" {
		return
	}
	parts := strings.Split(name, "/") // workshop, repository, branch
	repository := parts[1]
	if other := c.Flag("repo").Value.String(); other != "" {
		repository = other
	}
	started, ok := files[path.Join(parts[0], repository, "main/.github/workflows", args[0])]
	if !ok { // it may be on its way to main
		started, ok = files[path.Join(parts[0], repository, "ci-cd/.github/workflows", args[0])]
	}
	if !ok {
		t.Errorf("%s starts %s of %s, which is not there", name, args[0], repository)
		return
	}
	inputs := started.inputs()
	var given []string
	for _, arg := range args[1:] {
		input, _, _ := strings.Cut(arg, "=")
		given = append(given, input)
		if _, known := inputs[input]; !known {
			t.Errorf("%s gives %s the input %s, which it does not have", name, args[0], input)
		}
	}
	for input, required := range inputs {
		if required && !slices.Contains(given, input) {
			t.Errorf("%s does not give %s the input %s", name, args[0], input)
		}
	}
}
