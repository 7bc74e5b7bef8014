package plan_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/txtar"
)

// wantFolder holds in a rule's archive what is expected: plan.txt is all that
// the plan says, the rest are the files that it adds or changes.
const wantFolder = "want/"

// TestRules plans one small repository for every rule of the contract's
// sections 1 to 6. Each archive in testdata/rules says its rule first and is
// read on top of testdata/base.txtar.
func TestRules(t *testing.T) {
	for _, file := range ruleFiles(t) {
		t.Run(ruleName(file), func(t *testing.T) {
			archive, repos := rule(t, file)
			env := environment(t, repos, "dev")
			p := newPlan(t, env, repos.Tree("gitops", "dev"))
			got := map[string]string{wantFolder + "plan.txt": report(p)}
			for _, c := range p.Changes {
				// READMEs are the same in all rules.
				if c.Action != plan.Remove && path.Base(c.Path) != "README.md" {
					got[wantFolder+c.Path] = string(c.Content)
				}
			}
			if *update {
				rewrite(t, file, archive, got)
				return
			}
			want := map[string]string{}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, wantFolder) {
					want[f.Name] = string(f.Data)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%splan (-want +got):\n%s", archive.Comment, diff)
			}
		})
	}
}

func ruleFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	return files
}

func ruleName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), ".txtar")
}

// rule reads a rule's archive and makes its repositories.
func rule(t testing.TB, file string) (*txtar.Archive, *modeltest.Repositories) {
	t.Helper()
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	repos := modeltest.Parse("")
	repos.Add(base.Files...)
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, wantFolder) {
			repos.Add(f)
		}
	}
	return archive, repos
}

// environment loads an environment as the control plane's main branch names it.
func environment(t testing.TB, repos *modeltest.Repositories, name string) *model.Environment {
	t.Helper()
	environments, diagnostics := model.LoadEnvironments(repos.Tree("control", "main"), "")
	for _, e := range environments {
		if e.Name != name {
			continue
		}
		c := e.Spec.ControlPlane
		env, err := model.LoadEnvironment(t.Context(), repos, name, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path})
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	t.Fatalf("there is no environment %s: %v", name, diagnostics)
	return nil
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, wantFolder) })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// report writes down a plan without the content of its files.
func report(p *plan.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s", p.Environment, p.GitOps)
	if p.Promoted != "" {
		fmt.Fprintf(&b, ", promoted %s", p.Promoted)
	}
	b.WriteString("\n")
	for _, t := range p.Targets {
		fmt.Fprintf(&b, "target %s (%s)\n", t.Name, pairsOf(t.Labels))
	}
	for _, a := range p.Assignments {
		fmt.Fprintf(&b, "%s/%s by %s\n", a.ClusterType, a.Target, strings.Join(a.Policies, ", "))
		for _, v := range a.Config {
			reportValue(&b, v)
		}
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(&b, "%s %s", problem.Severity, problem.Reason)
		if problem.ClusterType != "" {
			fmt.Fprintf(&b, " of %s/%s", problem.ClusterType, problem.Target)
		}
		fmt.Fprintf(&b, " at %s\n  %s\n", problem.Position, problem.Message)
		if problem.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", problem.Hint)
		}
	}
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%s %s\n", c.Action, c.Path)
	}
	return b.String()
}

func reportValue(b *strings.Builder, v plan.ConfigValue) {
	fmt.Fprintf(b, "  %s = %q from %s %s\n", v.Key, v.Value, v.Source.ConfigMap, v.Source.Position)
	for _, o := range v.Overrides {
		at := ""
		if o.Path != "" {
			at = " at " + o.Path
		}
		fmt.Fprintf(b, "    over %q%s from %s %s\n", o.Value, at, o.ConfigMap, o.Position)
	}
	if len(v.Sources) > 1 {
		var names []string
		for _, s := range v.Sources {
			names = append(names, s.ConfigMap)
		}
		fmt.Fprintf(b, "    merged from %s\n", strings.Join(names, ", "))
	}
}

func pairsOf(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, " ")
}
