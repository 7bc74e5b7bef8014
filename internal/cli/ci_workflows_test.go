package cli

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/ci"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// workflowFile is what the test looks at in a workflow.
type workflowFile struct {
	On          yaml.Node `yaml:"on"`
	Concurrency struct {
		Group  string `yaml:"group"`
		Cancel bool   `yaml:"cancel-in-progress"`
	} `yaml:"concurrency"`
	Jobs map[string]struct {
		If    string `yaml:"if"`
		Steps []struct {
			Uses string `yaml:"uses"`
			Run  string `yaml:"run"`
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
		files[strings.Replace(strings.TrimPrefix(filepath.ToSlash(file), folder+"/"), "/repositories/", "/", 1)] = w
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	steps := 0
	for name, w := range files {
		for id, job := range w.Jobs {
			if strings.Contains(job.If, "failure()") {
				t.Errorf("%s: job %s is left out of a run in which all is well", name, id)
			}
			there := false
			for _, step := range job.Steps {
				there = there || step.Uses == "kalypso-dev/kalypso@main"
				for _, words := range commands(step.Run) {
					if !there {
						t.Errorf("%s: job %s calls kalypso, which no step before has put on the PATH", name, id)
					}
					if slices.Contains(words, "create-pr") && (w.Concurrency.Group == "" || w.Concurrency.Cancel) {
						t.Errorf("%s: runs that open pull requests must come one after the other, and each to its end", name)
					}
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

// TestAction runs what action.yml runs to build kalypso, on a runner's folders. That it
// downloads a release is for the tests that make one.
func TestAction(t *testing.T) {
	data, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Using string
			Steps []struct{ If, Uses, Name, Shell, Run string }
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		t.Fatal(err)
	}
	// the first downloads, the others build
	if len(action.Runs.Steps) != 3 || action.Runs.Using != "composite" || action.Runs.Steps[0].If != "${{ inputs.build != 'true' }}" {
		t.Fatalf("%+v", action)
	}
	steps := action.Runs.Steps[1:]
	for _, s := range steps {
		if s.If != "${{ inputs.build == 'true' }}" {
			t.Errorf("%q is done if %s", s.Name+s.Uses, s.If)
		}
	}
	if !strings.HasPrefix(steps[0].Uses, "actions/setup-go@") || steps[1].Shell != "bash" {
		t.Fatalf("%+v", action)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	temp, paths := t.TempDir(), filepath.Join(t.TempDir(), "path")
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps[1].Run)
	cmd.Env = append(os.Environ(), "GITHUB_ACTION_PATH="+root, "RUNNER_TEMP="+temp, "GITHUB_PATH="+paths)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	added, err := os.ReadFile(paths)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(added)), "kalypso"), "ci", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "wait-for-deployment") {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkStep(t *testing.T, files map[string]workflowFile, name string, words []string) {
	t.Helper()
	root := newRoot(&cmdutil.App{})
	if words[0] == "ci" {
		root = ci.NewCommand(&cmdutil.App{})
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
