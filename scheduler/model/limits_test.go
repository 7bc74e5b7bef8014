package model_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// second is a workload beside that of application.
const second = `
-- control@main/second.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: till}
spec: {workload: {repo: https://forge.test/kalypso/till, branch: main, path: .}, workspace: team}
-- till@main/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: till}
`

// TestRepositoryBeyondALimit has one repository too large to be read: that is
// said where it is named, the rest is there, and what is missing does not
// count as removed.
func TestRepositoryBeyondALimit(t *testing.T) {
	for branch, at := range map[string]string{"shop@main": "registrations.yaml", "control@main": "base-repo.yaml"} {
		repos := modeltest.Parse(pointers + application + second)
		repos.Errors[branch] = fmt.Errorf("reading it: %w", &model.LimitError{What: "files and folders", Max: 300_000, Hint: "less", Commit: strings.Repeat("1", 40)})
		env := load(t, repos)
		if !env.Incomplete || env.BaseUnreadable != (branch == "control@main") {
			t.Errorf("%s: incomplete %t, base unreadable %t", branch, env.Incomplete, env.BaseUnreadable)
		}
		found := false
		for _, d := range env.Diagnostics {
			found = found || d.Severity == model.Error && d.Position.File == at && d.Position.Line > 0 && d.Hint == "less" && strings.Contains(d.Message, branch)
		}
		if !found {
			t.Errorf("%s: diagnostics %v", branch, env.Diagnostics)
		}
		if branch == "shop@main" && (len(env.Workloads) != 1 || env.Workloads[0].Name != "till") {
			t.Errorf("workloads %v", env.Workloads)
		}
		known := false
		for _, s := range env.Sources {
			known = known || s.Commit == strings.Repeat("1", 40)
		}
		if !known {
			t.Errorf("%s is not among the sources %v", branch, env.Sources)
		}
	}
}

// manyLarge are repositories of 28 MiB, 35 MiB and so on, besides
// two small ones.
func manyLarge() *modeltest.Repositories {
	repos := modeltest.Parse(pointers + application + second)
	bulk := make([]byte, 7<<20) // all of them share it
	copy(bulk, "apiVersion: scheduler.kalypso.io/v1alpha1 # ")
	for i := range 8 {
		name := fmt.Sprintf("app%d", i)
		repos.Write("control", "main", name+".yaml", fmt.Appendf(nil, `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: %s}
spec: {workload: {repo: https://forge.test/kalypso/%s, branch: main, path: .}, workspace: team}
`, name, name))
		for n := range 4 + i {
			repos.Write(name, "main", fmt.Sprintf("%d.yaml", n), bulk)
		}
	}
	return repos
}

// TestWorkloadsTogether has many repositories that are within the limits each:
// the largest give way, whatever the order, and the small ones stay.
func TestWorkloadsTogether(t *testing.T) {
	repos := manyLarge()
	for range 5 {
		env := load(t, repos)
		if len(env.Workloads) != 2 || !env.Incomplete {
			t.Errorf("workloads %v", env.Workloads)
		}
		if got := beyond(env); got != "app5.yaml app6.yaml app7.yaml" {
			t.Errorf("beyond the limit: %s", got)
		}
	}
}

// beyond is where the large repositories are registered that were left out.
func beyond(env *model.Environment) string {
	var files []string
	for _, d := range env.Diagnostics {
		if strings.Contains(d.Message, "too large") && strings.HasPrefix(d.Position.File, "app") && !slices.Contains(files, d.Position.File) {
			files = append(files, d.Position.File)
		}
	}
	return strings.Join(files, " ")
}

// TestPool has two environments that want more together than both may have:
// each gets its share whatever the other has, and more while the other has less.
func TestPool(t *testing.T) {
	repos, pool := manyLarge(), new(model.Pool)
	var a, b model.Loader
	for _, step := range []struct {
		does    string
		do      func()
		loads   *model.Loader
		beyond  string
		exceeds bool // a does; b never
	}{
		{"alone", func() { pool.Join(&a) }, &a, "app5.yaml app6.yaml app7.yaml", false},
		{"a newcomer gets its share", func() { pool.Join(&b) }, &b, "app3.yaml app4.yaml app5.yaml app6.yaml app7.yaml", true},
		{"what is too much is given back", func() {}, &a, "app3.yaml app4.yaml app5.yaml app6.yaml app7.yaml", false},
		{"a load that fails keeps what there was", func() { repos.Errors["app0@main"] = errors.New("forge is down") }, &b, "fails", false},
		{"what another has left is there again", func() { delete(repos.Errors, "app0@main"); pool.Leave(&b) }, &a, "app5.yaml app6.yaml app7.yaml", false},
	} {
		step.do()
		env, err := step.loads.Load(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
		if (err != nil) != (step.beyond == "fails") {
			t.Fatalf("%s: %v", step.does, err)
		}
		if err == nil && beyond(env) != step.beyond {
			t.Errorf("%s: %s are beyond the limit, want %s", step.does, beyond(env), step.beyond)
		}
		if pool.Exceeds(&a) != step.exceeds || pool.Exceeds(&b) {
			t.Errorf("%s: exceeds: %t and %t", step.does, pool.Exceeds(&a), pool.Exceeds(&b))
		}
	}
}

// TestYAMLThatStandsForMuch parses small files that would be large as nodes.
// One that may hold something of the platform is an error.
func TestYAMLThatStandsForMuch(t *testing.T) {
	head := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: x}\nspec: {reconciler: a, namespaceService: b}\n"
	for name, content := range map[string]string{
		"a list in a line": head + "x: [" + strings.Repeat("a,", 1<<20) + "a]\n",
		"many documents":   head + strings.Repeat("---\n", 1<<19),
		"many lines":       head + "x:\n" + strings.Repeat("- a\n", 1<<19),
		"lists in lists":   head + "x:\n  " + strings.Repeat("- ", 1<<19) + "a\n",
		"many keys":        head + "x:\n" + strings.Repeat("  ? a\n", 1<<19),
	} {
		for _, ours := range []bool{true, false} {
			text := []byte(content)
			if !ours {
				text = bytes.ReplaceAll(text, []byte("scheduler.kalypso.io"), []byte("example.com"))
			}
			repos := modeltest.Parse(pointers)
			repos.Write("control", "dev", "z.yaml", text)
			env := load(t, repos)
			found := 0
			for _, d := range env.Diagnostics {
				if d.Position.File == "z.yaml" && d.Severity == model.Error {
					found++
				}
			}
			if (found == 1) != ours || env.Incomplete != ours || len(env.ClusterTypes) > 0 {
				t.Errorf("%s, ours %t: %d errors, incomplete %t", name, ours, found, env.Incomplete)
			}
		}
	}
}

// TestAliasesThatStandForMuch has a Workload whose targets are one target, again
// and again, with many labels.
func TestAliasesThatStandForMuch(t *testing.T) {
	text := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop}\nspec:\n  deploymentTargets:\n  - &a\n    name: a\n    environment: dev\n    labels:\n"
	for i := range 10_000 {
		text += fmt.Sprintf("      l%d: x\n", i)
	}
	merges := strings.Replace(text, "labels:\n", "labels: &l\n", 1) + strings.Repeat("  - {name: a, environment: dev, labels: {<<: *l}}\n", 10_000)
	for name, content := range map[string]string{"aliases": text + strings.Repeat("  - *a\n", 100_000), "merge keys": merges} {
		repos := modeltest.Parse(pointers + application)
		repos.Write("shop", "main", "workload/workload.yaml", []byte(content))
		env := load(t, repos)
		found := 0
		for _, d := range env.Diagnostics {
			if d.Position.File == "workload/workload.yaml" && d.Severity == model.Error {
				found++
			}
		}
		if found != 1 || !env.Incomplete || len(env.Workloads) != 0 {
			t.Errorf("%s: %d errors, %d workloads", name, found, len(env.Workloads))
		}
	}
}

// TestMarksTogether has many files in the environment's branch and its base that
// are within the limits each: the largest give way, one by one, and are errors.
func TestMarksTogether(t *testing.T) {
	repos := modeltest.Parse(pointers + application)
	object := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: %s}\nspec: {reconciler: a, namespaceService: b}\n"
	write := func(branch string, names string, lines int) {
		for _, name := range strings.Fields(names) {
			repos.Write("control", branch, name+".yaml", fmt.Appendf(nil, object+strings.Repeat("#\n", lines), name))
		}
	}
	write("dev", "a b c", 200_000)
	write("dev", "d", 300_000)
	write("dev", "e", 1)
	write("main", "f", 250_000)
	write("main", "g", 1)
	repos.Write("control", "dev", "data.yaml", []byte(strings.Repeat("- a\n", 190_000))) // no object, which counts for nothing
	var loader model.Loader
	check := func(types, want string) {
		t.Helper()
		env, err := loader.Load(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		var there, left []string
		for _, c := range env.ClusterTypes {
			there = append(there, c.Name)
		}
		for _, d := range env.Diagnostics {
			if d.Severity == model.Error {
				left = append(left, d.Position.File)
			}
		}
		if strings.Join(there, " ") != types || strings.Join(left, " ") != want || env.Incomplete != (want != "") {
			t.Errorf("cluster types %v, want %s; errors in %v, want %s; incomplete %t", there, types, left, want, env.Incomplete)
		}
	}
	check("a b c e g", "d.yaml f.yaml")
	check("a b c e g", "d.yaml f.yaml")
	repos.Remove("control", "dev", "b.yaml")
	check("a c d e g", "f.yaml")
	repos.Remove("control", "dev", "d.yaml")
	check("a c e f g", "")
	write("dev", "d", 300_000)
	check("a c d e g", "f.yaml")
}
