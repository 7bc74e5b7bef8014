package plan_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

var update = flag.Bool("update", false, "rewrite the golden trees in testdata/golden")

// summary writes down everything of a plan but its files.
func summary(p *plan.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "environment %s, GitOps %s, promoted %q\n", p.Environment, p.GitOps, p.Promoted)
	for _, t := range p.Targets {
		fmt.Fprintf(&b, "target %s of %s in %s %v at %s\n", t.Name, t.Workload, t.Workspace, t.Labels, t.Position)
	}
	for _, a := range p.Assignments {
		fmt.Fprintf(&b, "assignment %s/%s by %s\n", a.ClusterType, a.Target, strings.Join(a.Policies, ", "))
		for _, v := range a.Config {
			fmt.Fprintf(&b, "  %s = %q from %s\n", v.Key, v.Value, v.Source.Position)
			for _, o := range v.Overrides {
				fmt.Fprintf(&b, "    over %q from %s\n", o.Value, o.Position)
			}
		}
		for _, file := range a.Files {
			fmt.Fprintf(&b, "  %s\n", file)
		}
	}
	for _, problem := range p.Problems {
		where := ""
		if problem.ClusterType != "" {
			where = " of " + problem.ClusterType + "/" + problem.Target
		}
		fmt.Fprintf(&b, "%s %s%s at %s\n  %s\n", problem.Severity, problem.Reason, where, problem.Position, problem.Message)
		if problem.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", problem.Hint)
		}
	}
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%s %s\n", c.Action, c.Path)
	}
	return b.String()
}

// TestGolden plans every model in testdata/inputs and compares the result with
// the tree of the same name in testdata/golden: its plan.txt is the summary,
// all else the files that the plan wants.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/inputs/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range archives {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			repos := modeltest.Parse(string(archive))
			env, err := model.LoadEnvironment(context.Background(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
			if err != nil {
				t.Fatal(err)
			}
			p := newPlan(t, env, repos.Tree("gitops", "dev"))
			got := map[string][]byte{"plan.txt": []byte(summary(p))}
			for path, content := range p.Files() {
				got["files/"+path] = content
			}
			golden(t, filepath.Join("testdata", "golden", name), got)
			checkConsistent(t, repos.Tree("gitops", "dev"), p)
			checkOrder(t, env, repos.Tree("gitops", "dev"), p)
		})
	}
}

// golden compares files with a folder, or rewrites the folder.
func golden(t *testing.T, folder string, got map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		for path, content := range got {
			path = filepath.Join(folder, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	want := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		want[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatalf("%v; run go test -update to write it", err)
	}
	texts := func(files map[string][]byte) map[string]string {
		m := map[string]string{}
		for path, content := range files {
			m[path] = string(content)
		}
		return m
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// checkConsistent holds for every plan: what is changed leads from the branch
// to the plan's files, whatever the plan does not speak of stays, and a problem
// about an assignment changes nothing of it.
func checkConsistent(t *testing.T, branch *model.Tree, p *plan.Plan) {
	t.Helper()
	after := map[string][]byte{}
	if branch != nil {
		maps.Copy(after, branch.Files)
	}
	for _, c := range p.Changes {
		_, exists := after[c.Path]
		if exists == (c.Action == plan.Add) {
			t.Errorf("%s %s, which exists: %v", c.Action, c.Path, exists)
		}
		if (c.Content == nil) != (c.Action == plan.Remove) {
			t.Errorf("%s %s with content %q", c.Action, c.Path, c.Content)
		}
		if c.Action == plan.Remove {
			delete(after, c.Path)
		} else {
			after[c.Path] = c.Content
		}
		for _, problem := range p.Problems {
			if problem.ClusterType != "" && strings.Contains("/"+c.Path, "/"+problem.ClusterType+"/"+problem.Target+"/") {
				t.Errorf("%s %s despite %s", c.Action, c.Path, problem.Message)
			}
		}
	}
	for path, content := range p.Files() {
		if !bytes.Equal(after[path], content) {
			t.Errorf("%s is %q after the changes, and %q in the plan", path, after[path], content)
		}
	}
	for _, a := range p.Assignments {
		for _, path := range a.Files {
			if _, ok := p.Files()[path]; !ok && p.GitOps.Repo != "" {
				t.Errorf("%s of %s/%s is not in the plan", path, a.ClusterType, a.Target)
			}
		}
	}
	for _, problem := range p.Problems {
		if problem.ClusterType != "" && problem.Severity != model.Error {
			t.Errorf("a %s about an assignment: %s", problem.Severity, problem.Message)
		}
	}
}

// checkOrder proves that a plan does not depend on the order of anything.
func checkOrder(t *testing.T, env *model.Environment, branch *model.Tree, want *plan.Plan) {
	t.Helper()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		mixed := *env
		mixed.ClusterTypes = shuffled(r, env.ClusterTypes)
		mixed.Policies = shuffled(r, env.Policies)
		mixed.Configs = shuffled(r, env.Configs)
		mixed.ConfigSchemas = shuffled(r, env.ConfigSchemas)
		mixed.Templates = shuffled(r, env.Templates)
		mixed.Workloads = shuffled(r, env.Workloads)
		mixed.Diagnostics = shuffled(r, env.Diagnostics)
		got := newPlan(t, &mixed, branch)
		if diff := cmp.Diff(summary(want), summary(got)); diff != "" {
			t.Fatalf("another order, another plan:\n%s", diff)
		}
		if diff := cmp.Diff(want.Files(), got.Files()); diff != "" {
			t.Fatalf("another order, other files:\n%s", diff)
		}
	}
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// TestFixedPoint proves that merging a plan leaves nothing to do.
func TestFixedPoint(t *testing.T) {
	archives, _ := filepath.Glob("testdata/inputs/*.txtar")
	for _, file := range archives {
		archive, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		repos := modeltest.Parse(string(archive))
		ref := model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}
		env, err := model.LoadEnvironment(t.Context(), repos, "dev", ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range newPlan(t, env, repos.Tree("gitops", "dev")).Changes {
			if c.Action == plan.Remove {
				repos.Remove("gitops", "dev", c.Path)
			} else {
				repos.Write("gitops", "dev", c.Path, c.Content)
			}
		}
		if again := newPlan(t, env, repos.Tree("gitops", "dev")).Changes; len(again) > 0 {
			t.Errorf("%s: %d changes after the merge, the first is %s %s", file, len(again), again[0].Action, again[0].Path)
		}
	}
}

func TestNilAndEmptyBranch(t *testing.T) {
	repos := inference(t)
	c := model.Reference{Repo: modeltest.Forge + "kalypso-control-plane", Branch: "dev"}
	env, err := model.LoadEnvironment(t.Context(), repos, "dev", c)
	if err != nil {
		t.Fatal(err)
	}
	for _, branch := range []*model.Tree{nil, {}, {Files: map[string][]byte{}}} {
		if diff := cmp.Diff([]string{"add dev/README.md"}, changes(newPlan(t, env, branch))); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	}
}
