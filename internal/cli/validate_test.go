package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// validateFlags puts an archive of scheduler/validate into git repositories, with
// the files of some rules' archives over it and branch dev checked out. It
// returns the control plane's folder and the flags that name the others.
func validateFlags(t *testing.T, rules ...string) (control string, flags []string) {
	t.Helper()
	testdata := filepath.Join("..", "..", "scheduler", "validate", "testdata")
	archives := []string{filepath.Join(testdata, "sound.txtar")}
	for _, rule := range rules {
		archives = append(archives, filepath.Join(testdata, "rules", rule+".txtar"))
	}
	branches := map[string]map[string][]byte{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			branch, path, ok := strings.Cut(f.Name, "/")
			if !ok || !strings.Contains(branch, "@") {
				continue
			}
			if branches[branch] == nil {
				branches[branch] = map[string][]byte{}
			}
			branches[branch][path] = f.Data
		}
	}
	dir := t.TempDir()
	for _, branch := range []string{"control@main", "control@stage", "control@dev", "hello@main", "gitops@stage", "gitops@dev"} {
		commitBranch(t, dir, branch, branches[branch])
	}
	return filepath.Join(dir, "control"), []string{"--workload", "hello=" + filepath.Join(dir, "hello"), "--gitops", filepath.Join(dir, "gitops")}
}

// commitBranch makes "repository@branch" with these files and checks it out.
func commitBranch(t *testing.T, dir, name string, files map[string][]byte) {
	t.Helper()
	repo, branch, _ := strings.Cut(name, "@")
	dir = filepath.Join(dir, repo)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, dir, "init", "--quiet")
	gitkit.Run(t, dir, "checkout", "--quiet", "--orphan", branch)
	gitkit.Run(t, dir, "rm", "-rfq", "--ignore-unmatch", ".")
	for path, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gitkit.Run(t, dir, "add", "--all")
	gitkit.Run(t, dir, "commit", "--quiet", "--allow-empty", "-m", name)
}

func TestValidateASoundControlPlane(t *testing.T) {
	control, flags := validateFlags(t)
	code, out, talk := call(t, append([]string{"validate", control, "--fail-on", "note"}, flags...)...)
	if code != cmdutil.ExitOK || out != "" || !strings.Contains(talk, "no findings in 2 environments (dev, stage); 1 silenced by comments\n") {
		t.Errorf("exit code %d, says %q, on stdout\n%s", code, talk, out)
	}
}

func TestValidateExitCodes(t *testing.T) {
	repositories := map[string][]string{}
	for _, c := range []struct {
		rule string
		args []string
		code int
		says string // the summary
	}{
		{"unused-template", nil, cmdutil.ExitOK, "1 note in 2 environments"},
		{"unused-template", []string{"--fail-on", "note"}, cmdutil.ExitFailure, "1 note"},
		{"unused-template", []string{"-e", "dev"}, cmdutil.ExitOK, "2 notes in 1 environment (dev)"},
		{"policy-no-target", nil, cmdutil.ExitOK, "4 warnings in 2"},
		{"policy-no-target", []string{"--fail-on", "warning"}, cmdutil.ExitFailure, "4 warnings in 2"},
		{"policy-no-target", []string{"--fail-on", "warning", "-e", "stage"}, cmdutil.ExitOK, "no findings in 1 environment (stage)"},
		{"unknown-kind", nil, cmdutil.ExitFailure, "2 errors, 1 warning"},
		{"policy-test", nil, cmdutil.ExitOK, "no findings"},
		{"policy-test", []string{"--tests"}, cmdutil.ExitFailure, "; 1 of 6 policy tests passed"},
		{"exposed-policy-tests", []string{"--tests"}, cmdutil.ExitOK, "; 1 of 1 policy test passed"},
	} {
		if repositories[c.rule] == nil {
			control, flags := validateFlags(t, c.rule)
			repositories[c.rule] = append([]string{"validate", control}, flags...)
		}
		code, _, talk := call(t, slices.Concat(repositories[c.rule], c.args)...)
		if code != c.code || strings.Count(talk, c.says) != 1 {
			t.Errorf("%s %v: exit code %d, want %d; says %q, want once %q", c.rule, c.args, code, c.code, talk, c.says)
		}
		if strings.Contains(talk, "there are findings") {
			t.Errorf("%s: says twice that there are findings: %q", c.rule, talk)
		}
	}
}

// TestValidatePaths wants paths that an editor can open where a file is as it
// was validated, and the repository's where it is not.
func TestValidatePaths(t *testing.T) {
	control, flags := validateFlags(t, "policy-no-target", "unscheduled-target", "unused-template")
	_, out, _ := call(t, append([]string{"validate", control}, flags...)...)
	for _, says := range []string{
		"\n" + control + "/policies/a.yaml:7:21: warning: policy a matches no deployment target: none has purpose: functional-tests [policy-no-target]\n    did you mean functional-test?\n",
		"\ntemplates/unused.yaml:3:12: note: ",
		"\n" + filepath.Join(filepath.Dir(control), "hello") + "/workload/workload.yaml:18:7: warning: ",
	} {
		if strings.Count(out, says) != 1 {
			t.Errorf("does not say once %q:\n%s", says, out)
		}
	}
	t.Chdir(filepath.Join(control, "policies"))
	if _, out, _ = call(t, append([]string{"validate", ".."}, flags...)...); !strings.Contains(out, "\n"+control+"/policies/a.yaml:7:21: ") && !strings.Contains(out, "\na.yaml:7:21: ") {
		t.Errorf("from the folder of the policies:\n%s", out)
	}
	t.Chdir(control)
	if _, out, _ = call(t, append([]string{"validate", "--control-plane", "."}, flags...)...); !strings.Contains(out, "\npolicies/a.yaml:7:21: ") {
		t.Errorf("from the control plane's folder:\n%s", out)
	}
}

func TestValidateSeesWhatIsNotCommitted(t *testing.T) {
	control, flags := validateFlags(t)
	if err := os.WriteFile(filepath.Join(control, "new.yaml"), []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Polcy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := call(t, append([]string{"validate", control}, flags...)...)
	if code != cmdutil.ExitFailure || !strings.Contains(out, "new.yaml:2:1: error: kind \"Polcy\" is not known [unknown-kind]") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestValidateCountsTestsThatCannotRun has a misspelt field among the tests of
// a file that both environments read.
func TestValidateCountsTestsThatCannotRun(t *testing.T) {
	control, flags := validateFlags(t, "policy-test")
	const tests = "tests:\n- {name: a, target: t, ony: [c]}\n- {name: b, target: t, on: [c]}\n"
	if err := os.WriteFile(filepath.Join(control, "policies", "b.policytest.yaml"), []byte(tests), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, talk := call(t, append([]string{"validate", control, "--tests"}, flags...)...)
	if code != cmdutil.ExitFailure || !strings.Contains(talk, "; 1 of 8 policy tests passed, 2 not run for mistakes in their files") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
	if want := regexp.MustCompile(`(?m)/b\.policytest\.yaml:2:24: error: .* ony .*\[invalid-policy-test\]$`); !want.MatchString(out) {
		t.Errorf("does not have %s:\n%s", want, out)
	}
}

func TestValidateOutputs(t *testing.T) {
	control, flags := validateFlags(t, "policy-test", "empty-config")
	code, out, _ := call(t, append([]string{"validate", control, "--tests", "-o", "json"}, flags...)...)
	var d validate.Report
	if err := json.Unmarshal([]byte(out), &d); code != cmdutil.ExitFailure || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	if d.Version != validate.ReportVersion || len(d.Findings) != d.Summary.Errors+1 || d.Summary.TestsPassed != 1 || d.Summary.TestsFailed != 5 || len(d.Tests) != 6 {
		t.Errorf("got %+v", d)
	}
	code, out, _ = call(t, append([]string{"validate", control, "--tests", "-o", "sarif"}, flags...)...)
	var log struct {
		Version string
		Runs    []struct {
			Results []struct{ RuleID, Level string }
		}
	}
	if err := json.Unmarshal([]byte(out), &log); code != cmdutil.ExitFailure || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != len(d.Findings) {
		t.Errorf("got %+v", log)
	}
}

func TestValidateText(t *testing.T) {
	control, flags := validateFlags(t, "policy-test")
	t.Chdir(control)
	_, out, _ := call(t, append([]string{"validate", ".", "--tests"}, flags...)...)
	for _, says := range []string{
		"# policy tests\n\npass  dev    holds\nFAIL  dev    lands elsewhere\npolicies/a.policytest.yaml:11:14: error: hello-functional is not on large [policy-test]\n",
		"comes nearest, but it wants edge: true, and cluster type large has no edge\n",
	} {
		if !strings.Contains(out, says) {
			t.Errorf("does not say %q:\n%s", says, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("colours outside of a terminal:\n%q", out)
	}
}

func TestValidateWithoutGitOpsBranch(t *testing.T) {
	control, flags := validateFlags(t)
	for i, flag := range flags {
		if strings.HasSuffix(flag, "gitops") && !strings.HasPrefix(flag, "--") {
			flags[i] = filepath.Join(filepath.Dir(control), "hello") // which has neither dev nor stage
		}
	}
	code, out, _ := call(t, append([]string{"validate", control}, flags...)...)
	if code != cmdutil.ExitFailure || strings.Count(out, "[missing-reference]") != 2 || !strings.Contains(out, "gitops-repo.yaml:4:") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestValidateRules(t *testing.T) {
	code, out, _ := call(t, "validate", "--rules")
	if code != cmdutil.ExitOK || strings.Count(out, "\n") != len(validate.Rules()) || !strings.Contains(out, "\nempty-selector           warning  A policy's selector is empty.\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = call(t, "validate", "--rules", "-o", "json")
	var rules []validate.Rule
	if err := json.Unmarshal([]byte(out), &rules); code != cmdutil.ExitOK || err != nil || len(rules) != len(validate.Rules()) {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}

func TestValidateMistakes(t *testing.T) {
	control, flags := validateFlags(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"validate", control, control}, cmdutil.ExitUsage, "usage: kalypso validate [DIR_OR_URL]"},
		{[]string{"validate", control, "--control-plane", control}, cmdutil.ExitUsage, "DIR_OR_URL is given once"},
		{[]string{"validate", control, "-o", "xml"}, cmdutil.ExitUsage, "choose text, json or sarif"},
		{[]string{"validate", "--rules", "-o", "sarif"}, cmdutil.ExitUsage, "choose text or json"},
		{[]string{"validate", control, "--fail-on", "never"}, cmdutil.ExitUsage, "choose error, warning or note"},
		{[]string{"validate", control + "/nothing"}, cmdutil.ExitFailure, "there is no folder"},
		{append([]string{"validate", control, "-e", "deb"}, flags...), cmdutil.ExitUsage, "there is no environment deb"},
		{[]string{"validate"}, cmdutil.ExitUsage, "which control plane?"},
	} {
		code, out, talk := call(t, c.args...)
		if code != c.code || out != "" || strings.Count(talk, c.says) != 1 {
			t.Errorf("%v: exit code %d, want %d; says %q, want once %q; on stdout %q", c.args, code, c.code, talk, c.says, out)
		}
	}
}

// TestValidateFilesOnly: what a file says is checked, what it names is not.
func TestValidateFilesOnly(t *testing.T) {
	const sound = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: hello
spec:
  workload: {repo: "http://127.0.0.1:1/kalypso/nowhere", branch: main, path: .}
  workspace: team
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: drone
spec: {reconciler: not-there, namespaceService: nor-this}
`
	dir := t.TempDir()
	commitBranch(t, dir, "control@main", map[string][]byte{"sound.yaml": []byte(sound)})
	control := filepath.Join(dir, "control")
	for name, c := range map[string]struct{ content, says string }{
		"all is well": {"a: 1\n", ""},
		"no YAML":     {"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: [\n", "error: not valid YAML"},
		"unknown kind": {"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Registration\nmetadata: {name: a}\n",
			"more.yaml:2:1: error: kind \"Registration\" is not known"},
		"a field is missing": {"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: a}\nspec: {workspace: b}\n",
			"error: spec.workload is missing [missing-field]"},
		"twice": {sound, "is already defined at"},
		"template": {"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: a}\nspec:\n  type: reconciler\n  manifests:\n  - |\n    a: {{ .Oops\n",
			"[template-error]"},
		"schema": {"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ConfigSchema\nmetadata: {name: a}\nspec: {schema: '{\"type\": 7}'}\n", "[invalid-schema]"},
		"second environment": {"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: r, branch: dev}}\n" +
			"---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: r, branch: dev2}}\n",
			"[duplicate-object]"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(control, "more.yaml")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, talk := call(t, "validate", control, "--files-only")
			if c.says == "" && (code != cmdutil.ExitOK || out != "" || talk != "no findings in the files\n") {
				t.Errorf("exit code %d, says %q, on stdout\n%s", code, talk, out)
			}
			if c.says != "" && (code != cmdutil.ExitFailure || !strings.Contains(out, c.says) || !strings.HasSuffix(talk, " in the files\n")) {
				t.Errorf("exit code %d, says %q, want on stdout %q:\n%s", code, talk, c.says, out)
			}
			t.Logf("%s%s", out, talk)
		})
	}
	code, _, talk := call(t, "validate", control, "--files-only", "-e", "dev")
	if code != cmdutil.ExitUsage || !strings.Contains(talk, "leave out --environment") {
		t.Errorf("exit code %d, says %q", code, talk)
	}
}
