package ci

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/ciforge"
	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/spf13/cobra"
)

// runner runs steps of a workflow as a forge's runner does, on a forge in
// memory.
type runner struct {
	*testing.T
	forge *ciforge.Forge
	env   map[string]string
	fleet func() ([]fleet.Configuration, error)
	// observer, where it is set, takes the place of fleet
	observer func(ci.Environment) (fleet.Observer, error)
}

func newRunner(t *testing.T, repository string) *runner {
	return &runner{T: t, forge: ciforge.New(), env: map[string]string{
		"GITHUB_SERVER_URL": ciforge.Server, "GITHUB_API_URL": ciforge.Server + "/api/v1", "GITHUB_REPOSITORY": repository,
		"GITHUB_RUN_ID": "12", "GITHUB_RUN_NUMBER": "7", "GITHUB_TOKEN": "secret", "GITHUB_REF_NAME": "main", "GITHUB_ACTOR": "kalypso",
	}}
}

// Observe implements fleet.Observer.
func (r *runner) Observe(context.Context, fleet.Source) ([]fleet.Configuration, error) {
	return r.fleet()
}

// done is what a step has left behind.
type done struct {
	code      int
	out, talk string
	outputs   map[string]string
}

func (r *runner) step(args ...string) done {
	r.Helper()
	file := filepath.Join(r.TempDir(), "output")
	env := maps.Clone(r.env)
	env["GITHUB_OUTPUT"] = file
	var out, talk bytes.Buffer
	a := &cmdutil.App{In: strings.NewReader(""), Out: &out, Err: &talk}
	step := &steps{
		App: a, env: func(name string) string { return env[name] }, now: func() time.Time { return time.Unix(1700000000, 0) },
		forge:   func(ci.Environment) (ci.Forge, error) { return r.forge, nil },
		observe: func(ci.Environment) (fleet.Observer, error) { return r, nil },
	}
	if r.observer != nil {
		step.observe = r.observer
	}
	root := r.root(step.command())
	root.SetArgs(append([]string{"ci"}, args...))
	root.SetOut(&out)
	root.SetErr(&talk)
	err := root.ExecuteContext(r.Context())
	if err != nil {
		a.Messagef("kalypso: %v", err)
		a.Messagef("  %s", cmdutil.Hint(err))
	}
	d := done{out: out.String(), talk: talk.String(), outputs: map[string]string{}}
	if err != nil {
		d.code = cmdutil.ExitCode(err)
	}
	data, _ := os.ReadFile(file) // a step without outputs makes no file
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		d.outputs[name] = value
	}
	return d
}

// root is the whole program as far as c is concerned.
func (r *runner) root(c *cobra.Command) *cobra.Command {
	root := &cobra.Command{Use: "kalypso", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(c)
	return root
}

// must runs a step that has to succeed.
func (r *runner) must(args ...string) done {
	r.Helper()
	d := r.step(args...)
	if d.code != cmdutil.ExitOK {
		r.Fatalf("%v: exit code %d\n%s", args, d.code, d.talk)
	}
	return d
}

// checkout writes a branch of a workshop's repository into a folder of its own.
func (r *runner) checkout(workshop, repository, branch string) string {
	r.Helper()
	folder := r.TempDir()
	for name, content := range r.branch(workshop, repository, branch) {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			r.Fatal(err)
		}
	}
	return folder
}

func (r *runner) branch(workshop, repository, branch string) map[string]string {
	r.Helper()
	w := workshoptest.Load(r, workshop, ciforge.Server+"/kalypso")
	repo, _ := w.Repository(repository)
	b, ok := repo.Branch(branch)
	if !ok {
		r.Fatalf("no branch %s of %s", branch, repository)
	}
	files := map[string]string{}
	for name, content := range b.Files {
		files[name] = string(content)
	}
	return files
}

// TestHelloWorldDeploys is the tutorial's cicd workflow after the image is
// built: manifests of the dev targets, a pull request that merges itself.
func TestHelloWorldDeploys(t *testing.T) {
	r := newRunner(t, "kalypso/kalypso-app-src")
	before := r.branch("hello-world", "kalypso-app-gitops", "dev")
	r.forge.Push("kalypso/kalypso-app-gitops", "dev", before)
	source, configs := r.checkout("hello-world", "kalypso-app-src", "main"), r.checkout("hello-world", "kalypso-app-src", "dev-configs")
	t.Chdir(source)
	r.env["GITHUB_SHA"] = strings.Repeat("ab", 20)

	image := "forge.test/kalypso/kalypso-app-src/hello-world"
	render := func(tag string) done {
		return r.must("render", "--environment", "dev", "--configs", configs, "--image", image+":"+tag)
	}
	d := render("0.0.1-0")
	if d.outputs["repo"] != ciforge.Server+"/kalypso/kalypso-app-gitops" || d.outputs["branch"] != "dev" {
		t.Errorf("outputs %v", d.outputs)
	}
	if d = r.must("create-pr", "--repo", d.outputs["repo"], "--base", "dev", "--auto-merge"); d.outputs["changed"] != "false" {
		t.Errorf("the fixtures are what the chart makes, and yet:\n%s", d.talk)
	}

	render("0.0.1-7")
	r.forge.NotYet = 1
	d = r.must("create-pr", "--repo", "kalypso-app-gitops", "--base", "dev", "--auto-merge", "--label", "deployment")
	if d.outputs["merged"] != "true" || d.outputs["merge_commit"] != r.forge.Branch("kalypso/kalypso-app-gitops", "dev") {
		t.Errorf("outputs %v", d.outputs)
	}
	after := r.forge.Files("kalypso/kalypso-app-gitops", "dev")
	for name, content := range before {
		if want := strings.ReplaceAll(content, "0.0.1-0", "0.0.1-7"); after[name] != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, after[name], want)
		}
	}
	if len(after) != len(before) {
		t.Errorf("files %v", after)
	}
	pulls := r.forge.AllPullRequests("kalypso/kalypso-app-gitops")
	if len(pulls) != 1 || pulls[0].Labels[0] != "deployment" || pulls[0].Title != "Deploy kalypso-app-src to dev, run 7" {
		t.Errorf("pull requests %+v", pulls)
	}
	if r.forge.Branch("kalypso/kalypso-app-gitops", pulls[0].Head) != "" {
		t.Error("the branch of the merged pull request is still there")
	}
}

// TestBasicInferenceDeploys has a values.yaml for the whole environment and
// another folder than the target's name.
func TestBasicInferenceDeploys(t *testing.T) {
	want, err := os.ReadFile("../../../scheduler/ci/testdata/descriptor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, "kalypso/basic-inference-orchestration")
	const gitops = "kalypso/basic-inference-orchestration-gitops"
	r.forge.Push(gitops, "qa", r.branch("basic-inference", "basic-inference-orchestration-gitops", "qa"))
	configs := r.checkout("basic-inference", "basic-inference-orchestration-configs", "qa")
	t.Chdir(r.checkout("basic-inference", "basic-inference-orchestration", "main"))
	r.env["GITHUB_SHA"] = strings.Repeat("ab", 20)

	r.must("render", "--environment", "qa", "--configs", configs, "--image", "forge.test/kalypso/x:0.0.1-7")
	r.must("descriptor", "--environment", "qa", "--version", "0.0.1-7", "--workspace", "edge-ai")
	d := r.must("create-pr", "--repo", "basic-inference-orchestration-gitops", "--base", "qa")
	if d.outputs["merged"] != "false" || d.outputs["number"] != "1" {
		t.Errorf("outputs %v", d.outputs)
	}
	head := r.forge.Files(gitops, r.forge.AllPullRequests(gitops)[0].Head)
	manifests := head["basic-inference-orchestration/gen_manifests.yaml"]
	for _, part := range []string{"replicas: 2", `image: "forge.test/kalypso/x:0.0.1-7"`, "name: basic-inference-config"} {
		if !strings.Contains(manifests, part) {
			t.Errorf("no %s in\n%s", part, manifests)
		}
	}
	if got := head["descriptors/basic-inference-qa.yaml"]; got != string(want) {
		t.Errorf("descriptor:\n%s\nwant\n%s", got, want)
	}
}
