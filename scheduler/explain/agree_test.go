package explain_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// TestAgreesWithPlan asks everything that can be asked about random models and
// compares it with the plan.
func TestAgreesWithPlan(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := modeltest.Parse(randomArchive(r))
		env, p := planned(t, w)
		for _, d := range env.Diagnostics {
			t.Fatalf("seed %d: the model is not as it should be: %v", seed, d)
		}
		askAll(t, w, env, p, seen)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, randomArchive(rand.New(rand.NewPCG(seed, 1))))
		}
	}
	t.Log(seen)
	for _, what := range []string{"assigned", "twins", "not assigned", "misspelt", "matches", "does not match", "key does not apply"} {
		if seen[what] < 20 {
			t.Errorf("%q came up %d times only", what, seen[what])
		}
	}
}

// TestAgreesOnPlansInputs does the same with the models that package plan is
// tested with: those have everything that can go wrong.
func TestAgreesOnPlansInputs(t *testing.T) {
	files, err := filepath.Glob("../plan/testdata/inputs/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := modeltest.Parse(string(archive))
			env, p := planned(t, w)
			askAll(t, w, env, p, map[string]int{})
		})
	}
}

// askAll asks about every target and every pair. The pairs' answers must be
// those of the plan, and the targets' the sum of their pairs'.
func askAll(t *testing.T, w *modeltest.Repositories, env *model.Environment, p *plan.Plan, seen map[string]int) {
	t.Helper()
	type pair struct{ clusterType, target string }
	got := map[pair][]string{}
	for _, target := range p.Targets {
		name := target.Workload + "/" + strings.TrimPrefix(target.Name, target.Workload+"-")
		all := mustExplain(t, env, p, explain.Query{Target: name})
		checkText(t, all)
		checkMisses(t, w, all, seen)
		sum, fewest := []explain.Assigned{}, 1000
		for _, c := range env.ClusterTypes {
			one := mustExplain(t, env, p, explain.Query{Target: name, ClusterType: c.Name})
			checkText(t, one)
			checkMisses(t, w, one, seen)
			checkPair(t, env, p, one, seen)
			sum = append(sum, one.Assigned...)
			for _, p := range one.Policies {
				fewest = min(fewest, fails(p.Clauses)+fails(p.ClusterTypes[0].Clauses))
			}
			for _, a := range one.Assigned {
				k := pair{a.ClusterType, one.Target.Name}
				got[k] = append(got[k], a.Policies...)
			}
		}
		slices.SortFunc(sum, func(a, b explain.Assigned) int { return cmp.Compare(a.ClusterType, b.ClusterType) })
		if diff := gocmp.Diff(sum, all.Assigned); diff != "" {
			t.Errorf("%s alone is assigned otherwise than its pairs:\n%s", name, diff)
		}
		if (all.Nearest == nil) != (len(all.Assigned) > 0 || len(env.Policies)*len(env.ClusterTypes) == 0) {
			t.Errorf("%s: nearest %v, assigned %v", name, all.Nearest, all.Assigned)
		}
		if all.Nearest != nil && len(all.Nearest.Fails) != fewest {
			t.Errorf("%s: the nearest misses by %d clauses, and another by %d", name, len(all.Nearest.Fails), fewest)
		}
		if len(all.Target.Twins) > 0 {
			seen["twins"]++
		}
	}
	want := map[pair][]string{}
	for _, a := range p.Assignments {
		want[pair{a.ClusterType, a.Target}] = a.Policies
	}
	for k := range got { // twins share an assignment and its policies
		slices.Sort(got[k])
		got[k] = slices.Compact(got[k])
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("assignments (-plan +explanation):\n%s", diff)
	}
}

func fails(clauses []explain.Clause) int {
	n := 0
	for _, c := range clauses {
		if !c.Holds {
			n++
		}
	}
	return n
}

func mustExplain(t *testing.T, env *model.Environment, p *plan.Plan, q explain.Query) *explain.Explanation {
	t.Helper()
	e, err := explain.Explain(t.Context(), env, p, q)
	if err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	return e
}

// checkPair compares which ConfigMaps match with where values come from: all
// keys of random ConfigMaps have values of their own, so that one that matches
// is among the sources of each of its keys.
func checkPair(t *testing.T, env *model.Environment, p *plan.Plan, e *explain.Explanation, seen map[string]int) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, v := range e.Pair.Config {
		for i, s := range v.Sources {
			want[s.ConfigMap]++
			if last := i == len(v.Sources)-1; last != (s.Role == explain.Decides) {
				t.Errorf("%s of %s is %s", v.Key, s.ConfigMap, s.Role)
			}
		}
	}
	data := map[string]int{}
	for _, c := range env.Configs {
		data[c.Name] = len(c.Spec.Data)
	}
	for _, c := range e.Pair.ConfigMaps {
		if !c.Matches {
			seen["does not match"]++
			if len(c.Keys) > 0 {
				t.Errorf("%s does not match, and then none of its keys is looked at: %v", c.Name, c.Keys)
			}
			continue
		}
		seen["matches"]++
		seen["key does not apply"] += len(c.Keys)
		if n := data[c.Name] - len(c.Keys); n > 0 {
			got[c.Name] = n
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s on %s: values by ConfigMap (-plan +explanation):\n%s", e.Target.Name, e.ClusterType.Name, diff)
	}
	if e.Pair.Assigned != (len(e.Assigned) > 0) {
		t.Errorf("%s on %s: assigned %v by %v", e.Target.Name, e.ClusterType.Name, e.Pair.Assigned, e.Assigned)
	}
	if !e.Pair.Assigned {
		seen["not assigned"]++
		return
	}
	seen["assigned"]++
	for _, a := range p.Assignments {
		if a.ClusterType != e.ClusterType.Name || a.Target != e.Target.Name || len(e.Target.Twins) > 0 {
			continue
		}
		var planned, explained []string
		for _, v := range a.Config {
			planned = append(planned, fmt.Sprintf("%s=%s from %s", v.Key, v.Value, v.Source.ConfigMap))
		}
		for _, v := range e.Pair.Config {
			explained = append(explained, fmt.Sprintf("%s=%s from %s", v.Key, v.Value, v.Sources[len(v.Sources)-1].ConfigMap))
		}
		if diff := gocmp.Diff(planned, explained); diff != "" {
			t.Errorf("%s on %s: configuration (-plan +explanation):\n%s", e.Target.Name, e.ClusterType.Name, diff)
		}
		files, actions := map[string]string{}, map[string]string{}
		for _, f := range a.Files {
			files[f] = "keep"
		}
		for _, change := range p.Changes {
			if strings.Contains("/"+change.Path, "/"+a.ClusterType+"/"+a.Target+"/") {
				files[change.Path] = string(change.Action)
			}
		}
		for _, f := range e.Pair.Files {
			actions[f.Path] = f.Action
		}
		if diff := gocmp.Diff(files, actions); diff != "" {
			t.Errorf("%s on %s: files (-plan +explanation):\n%s", e.Target.Name, e.ClusterType.Name, diff)
		}
	}
}

// checkMisses proves of every clause that it has a reason exactly when it does
// not hold, and that it stands where it says: its key is on that line, and the
// key of a label that was found is on the line where it was found.
func checkMisses(t *testing.T, w *modeltest.Repositories, e *explain.Explanation, seen map[string]int) {
	t.Helper()
	line := func(p explain.Position) string {
		tree := w.Tree(strings.TrimPrefix(p.Repo, modeltest.Forge), p.Branch)
		if tree == nil || p.Line == 0 {
			return ""
		}
		return strings.Split(string(tree.Files[p.File]), "\n")[p.Line-1]
	}
	check := func(c explain.Clause) {
		if c.Holds != (c.Miss == nil) {
			t.Errorf("%s holds %v, and misses by %v", c.Text, c.Holds, c.Miss)
		}
		key := strings.FieldsFunc(strings.TrimPrefix(strings.TrimPrefix(c.Text, "no label "), "a label "), func(r rune) bool { return r == ' ' || r == '=' })[0]
		if !strings.Contains(line(c.Place), key) {
			t.Errorf("%s is said to stand at %v, where there is %q", c.Text, c.Place, line(c.Place))
		}
		if c.Miss == nil {
			return
		}
		if c.Miss.Nearest != "" {
			seen["misspelt"]++
		}
		if (c.Miss.Found == nil) == (c.Miss.Add == nil) {
			t.Errorf("%s: found at %v, to be added at %v", c.Text, c.Miss.Found, c.Miss.Add)
		}
		named := key == plan.ClusterTypeLabel || key == plan.DeploymentTargetLabel || key == plan.WorkloadLabel
		if label, ok := strings.CutPrefix(key, `labels["`); ok { // in an expression
			key = strings.TrimSuffix(label, `"]`)
		}
		if at := c.Miss.Found; at != nil && !named && !strings.Contains(line(*at), key) && !strings.Contains(line(*at), c.Miss.Nearest+":") {
			t.Errorf("%s is said to be found at %v, where there is %q", c.Text, *at, line(*at))
		}
	}
	for _, p := range e.Policies {
		for _, c := range p.Clauses {
			check(c)
		}
		for _, v := range p.ClusterTypes {
			for _, c := range v.Clauses {
				check(c)
			}
		}
	}
	if e.Pair == nil {
		return
	}
	for _, l := range slices.Concat(e.Pair.ConfigMaps, e.Pair.OtherSchemas) {
		for _, c := range l.Clauses {
			check(c)
		}
	}
}

// checkText proves that a text fits its terminal and cannot do anything to it.
func checkText(t *testing.T, e *explain.Explanation) {
	t.Helper()
	for line := range strings.Lines(e.Text()) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > 100 && strings.Count(strings.TrimLeft(line, " "), " ") > 2 {
			t.Errorf("a line of %d columns: %s", utf8.RuneCountInString(line), line)
		}
		if strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 || !utf8.ValidString(line) {
			t.Errorf("a line that a terminal may obey: %q", line)
		}
	}
}

// TestOrderDoesNotMatter shuffles all that has no order of its own.
func TestOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 2))
		env, p := planned(t, modeltest.Parse(randomArchive(r)))
		mixed := *env
		mixed.ClusterTypes = shuffled(r, env.ClusterTypes)
		mixed.Policies = shuffled(r, env.Policies)
		mixed.Configs = shuffled(r, env.Configs)
		mixed.ConfigSchemas = shuffled(r, env.ConfigSchemas)
		mixed.Templates = shuffled(r, env.Templates)
		mixed.Workloads = shuffled(r, env.Workloads)
		again := newPlan(t, &mixed, nil)
		for _, target := range p.Targets {
			for _, c := range env.ClusterTypes {
				for _, question := range []string{target.Name, target.Name + " " + c.Name, target.Name + " nothing", "nothing"} {
					if diff := gocmp.Diff(answer(t, env, p, nil, question), answer(t, &mixed, again, nil, question)); diff != "" {
						t.Fatalf("seed %d: another order, another answer:\n%s", seed, diff)
					}
				}
			}
		}
	}
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
