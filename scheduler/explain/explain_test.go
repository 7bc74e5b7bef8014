package explain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/rogpeppe/go-internal/txtar"
)

func tutorial(t testing.TB) (*model.Environment, *plan.Plan) {
	t.Helper()
	return planned(t, repositories(t, &txtar.Archive{}))
}

func planInput(t testing.TB, name string) (*model.Environment, *plan.Plan) {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("..", "plan", "testdata", "inputs", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return planned(t, modeltest.Parse(string(archive)))
}

func TestPlanOfAnotherEnvironment(t *testing.T) {
	env, p := tutorial(t)
	other := *p
	other.Environment = "stage"
	_, err := explain.Explain(t.Context(), env, &other, explain.Query{Target: "functional-test"})
	var input *explain.InputError
	if err == nil || errors.As(err, &input) || !strings.Contains(err.Error(), "stage") {
		t.Errorf("got %v", err)
	}
}

// TestHeld is about what stays as it is because something cannot be read.
func TestHeld(t *testing.T) {
	env, p := planInput(t, "config-incomplete")
	count := func(q explain.Query) int {
		n := 0
		for _, problem := range mustExplain(t, env, p, q).Problems {
			if problem.Reason == string(plan.Held) {
				n++
			}
		}
		return n
	}
	for _, c := range env.ClusterTypes {
		want := 0
		for _, problem := range p.Problems {
			if strings.HasPrefix(problem.Message, c.Name+"/shop-test stays as it is") {
				want = 1
			}
		}
		if got := count(explain.Query{Target: "shop-test", ClusterType: c.Name}); got != want {
			t.Errorf("%s: %d problems about files that are held, want %d", c.Name, got, want)
		}
	}
	if count(explain.Query{Target: "shop-test"}) == 0 {
		t.Error("nothing is held in a model that is about that")
	}
}

// TestNothingThere is about environments in which nothing can be assigned.
func TestNothingThere(t *testing.T) {
	env, _ := tutorial(t)
	env.Policies, env.ClusterTypes = nil, nil
	p := newPlan(t, env, nil)
	e := mustExplain(t, env, p, explain.Query{Target: "functional-test"})
	for _, says := range []string{"assigned to no cluster type", "There is no SchedulingPolicy in dev.", "There is no ClusterType in dev."} {
		if !strings.Contains(e.Text(), says) {
			t.Errorf("the text does not say %q:\n%s", says, e.Text())
		}
	}
	if e.Nearest != nil {
		t.Errorf("nearest is %v", e.Nearest)
	}
	env, _ = tutorial(t)
	env.ClusterTypes = nil
	text := mustExplain(t, env, newPlan(t, env, nil), explain.Query{Target: "functional-test"}).Text()
	if !strings.Contains(text, "Policy functional-test-policy selects the target and 0 of 0 cluster types\n") || strings.Contains(text, "\n\n\n") || strings.HasSuffix(text, "\n\n") {
		t.Errorf("without cluster types:\n%q", text)
	}
	env.Workloads = nil
	_, err := explain.Explain(t.Context(), env, newPlan(t, env, nil), explain.Query{Target: "functional-test"})
	var input *explain.InputError
	if !errors.As(err, &input) || !strings.Contains(input.Text(), "there are no deployment targets of dev") {
		t.Errorf("got %v", err)
	}
}

// TestLongName is about a target that is wrong by itself, wherever it goes.
func TestLongName(t *testing.T) {
	w := repositories(t, &txtar.Archive{})
	w.Write("app-src", "main", "workload/workload.yaml", fmt.Appendf(nil, `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: hello}
spec:
  deploymentTargets:
    - {name: test, environment: dev}
    - {name: %s, environment: dev}
`, strings.Repeat("long", 15)))
	env, p := planned(t, w)
	for target, want := range map[string]int{"test": 0, strings.Repeat("long", 15): 1} {
		for _, q := range []explain.Query{{Target: target}, {Target: target, ClusterType: "small"}} {
			problems := mustExplain(t, env, p, q).Problems
			if len(problems) != want || want > 0 && !strings.HasSuffix(problems[0].Message, " has 66 characters, 63 is the limit") {
				t.Errorf("%v: problems %v", q, problems)
			}
		}
	}
}

// TestPositionWithoutFile is about what is missing from a branch.
func TestPositionWithoutFile(t *testing.T) {
	w := repositories(t, &txtar.Archive{})
	w.Remove("control", "dev", "gitops-repo.yaml")
	env, p := planned(t, w)
	text := mustExplain(t, env, p, explain.Query{Target: "functional-test", ClusterType: "drone"}).Text()
	if !strings.Contains(text, "there is no GitOpsRepo on this branch") || !strings.Contains(text, "at  control@dev\n") {
		t.Errorf("the text does not say what is missing where:\n%s", text)
	}
}

// TestHiding says which errors are shown with a target that is not there.
func TestHiding(t *testing.T) {
	env, p := tutorial(t)
	registration := env.Registrations[0]
	registration.Name = "orders"
	registration.Spec.Workload.Path = "./apps/orders/"
	other := registration
	other.Name, other.Spec.Workload.Path = "billing", "apps/billing"
	whole := registration
	whole.Name, whole.Spec.Workload.Repo, whole.Spec.Workload.Path = "whole", modeltest.Forge+"whole", "."
	env.Registrations = append(env.Registrations, registration, other, whole)
	at := func(repo, branch, file string) model.Diagnostic {
		return model.Diagnostic{Severity: model.Error, Message: file, Position: model.Position{Repo: repo, Branch: branch, File: file}}
	}
	source := registration.Spec.Workload.Repo
	control := env.ControlPlane.Repo
	own := at(registration.Position.Repo, registration.Position.Branch, registration.Position.File)
	below := at(source, "main", "apps/orders/workload.yaml")
	folder := at(source, "main", "apps/orders")
	billing := at(source, "main", "apps/billing/workload.yaml")
	read := at(source, "main", "workload/workload.yaml")
	deep := at(whole.Spec.Workload.Repo, "main", "deep/down/workload.yaml")
	namesake := at("https://forge.test/kalypso/namesake", "main", own.Position.File)
	beside := at(source, "main", "apps/orders-old/workload.yaml")
	branch := at(source, "next", "apps/orders/workload.yaml")
	policy := at(control, "dev", "policy.yaml")
	base := at(control, "main", "template.yaml")
	warning := below
	warning.Severity = model.Warning
	for _, test := range []struct {
		name  string
		asked string
		found []model.Diagnostic
		want  []model.Diagnostic
	}{
		{"the registration's file", "orders-test", []model.Diagnostic{policy, own, base}, []model.Diagnostic{own}},
		{"the registered folder", "orders-test", []model.Diagnostic{policy, below}, []model.Diagnostic{below}},
		{"the registered folder itself", "orders", []model.Diagnostic{policy, folder}, []model.Diagnostic{folder}},
		{"by another name", "shop-test", []model.Diagnostic{policy, below}, []model.Diagnostic{below}},
		{"with the workload's name", "orders/test", []model.Diagnostic{below, below}, []model.Diagnostic{below}},
		{"of two, the one that is asked for", "orders-test", []model.Diagnostic{billing, below}, []model.Diagnostic{below}},
		{"of two, by the workload", "orders/test", []model.Diagnostic{billing, below}, []model.Diagnostic{below}},
		{"of two, by the workload alone", "orders", []model.Diagnostic{billing, folder}, []model.Diagnostic{folder}},
		{"of two, by a name that only begins alike", "orders2-test", []model.Diagnostic{billing, below}, []model.Diagnostic{billing, below}},
		{"a whole repository", "whole-test", []model.Diagnostic{billing, deep}, []model.Diagnostic{deep}},
		{"a file elsewhere of the registration's name", "orders-test", []model.Diagnostic{below, namesake}, []model.Diagnostic{below}},
		{"a workload that has been read hides nothing", "hello-world-app-nothing", []model.Diagnostic{read, below}, []model.Diagnostic{below}},
		{"another folder is not the workload's", "orders-test", []model.Diagnostic{below, beside, branch}, []model.Diagnostic{below}},
		{"read elsewhere", "orders-test", []model.Diagnostic{policy, base, at("/home/me/orders", "main", "workload.yaml")}, []model.Diagnostic{at("/home/me/orders", "main", "workload.yaml")}},
		{"all, when none is nearer", "orders-test", []model.Diagnostic{policy, base}, []model.Diagnostic{policy, base}},
		{"warnings hide nothing", "orders-test", []model.Diagnostic{warning}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			mixed := *env
			mixed.Diagnostics = test.found
			_, err := explain.Explain(t.Context(), &mixed, p, explain.Query{Target: test.asked})
			var input *explain.InputError
			if !errors.As(err, &input) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(test.want, input.Diagnostics); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
	mixed := *env
	mixed.Diagnostics = []model.Diagnostic{policy, below, own}
	_, err := explain.Explain(t.Context(), &mixed, p, explain.Query{Target: "functional-test", ClusterType: "nope"})
	var input *explain.InputError
	if !errors.As(err, &input) || !cmp.Equal(input.Diagnostics, []model.Diagnostic{policy}) {
		t.Errorf("for a cluster type: %v", err)
	}
}

func TestManyNamesAndErrors(t *testing.T) {
	just := &explain.InputError{Message: "there is no x", What: "names", Candidates: strings.Fields(strings.Repeat("name ", 20))}
	for range 10 {
		just.Diagnostics = append(just.Diagnostics, model.Diagnostic{Severity: model.Error, Message: "broken"})
	}
	if text := just.Text(); strings.Count(text+"\n", "  name\n") != 20 || strings.Count(text, "  broken\n") != 10 || strings.Contains(text, "more") {
		t.Errorf("20 names and 10 errors are all listed:\n%s", text)
	}
	e := &explain.InputError{Message: "there is no x", What: "names", Candidates: strings.Fields(strings.Repeat("name ", 25))}
	for range 12 {
		e.Diagnostics = append(e.Diagnostics, model.Diagnostic{Severity: model.Error, Message: "broken"})
	}
	text := e.Text()
	for says, times := range map[string]int{"  name\n": 20, "  and 5 more\n": 1, "  error  broken\n": 10, "  and 2 more": 1} {
		if got := strings.Count(text+"\n", says); got != times {
			t.Errorf("%q stands there %d times, want %d:\n%s", says, got, times, text)
		}
	}
}

// TestManyPolicies proves that a text takes the nearest policies apart and only
// lists the others.
func TestManyPolicies(t *testing.T) {
	w := repositories(t, &txtar.Archive{})
	for i := range 14 {
		w.Write("control", "dev", fmt.Sprintf("policy-%d.yaml", i), fmt.Appendf(nil, `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: policy-%02d}
spec:
  deploymentTargetSelector: {labelSelector: {matchLabels: {%s: p%d}}}
  clusterTypeSelector: {labelSelector: {matchLabels: {size: s%d}}}
`, i, []string{"purpose", "type: application, a"}[i%2], i, i))
	}
	w.Write("control", "dev", "selects.yaml", []byte(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: zz-selects-the-target-only}
spec:
  clusterTypeSelector: {labelSelector: {matchLabels: {size: none}}}
`))
	env, p := planned(t, w)
	for _, test := range []struct {
		query explain.Query
		says  map[string]int
	}{
		// 15 do not select the target: 14 and the performance test's. The one
		// that does, and the functional test's, do not count.
		{explain.Query{Target: "functional-test"}, map[string]int{
			"\n  no   p": 5, "\nPolicy ": 12, "\nOther policies that do not assign it (5)\n": 1, "Policy zz-selects-the-target-only selects the target and 0 of 4": 1,
		}},
		// 16 do not assign it to drone.
		{explain.Query{Target: "functional-test", ClusterType: "drone"}, map[string]int{
			"\nPolicy ": 11, "\nOther policies that do not assign it (6)\n": 1, "Policy zz-selects-the-target-only selects the target, but not drone": 1,
		}},
		{explain.Query{Target: "functional-test", ClusterType: "small"}, map[string]int{"\nPolicy ": 10, "\nOther policies that do not assign it (7)\n": 1}},
	} {
		e := mustExplain(t, env, p, test.query)
		checkText(t, e)
		for says, times := range test.says {
			if got := strings.Count(e.Text(), says); got != times {
				t.Errorf("%v: %q stands there %d times, want %d:\n%s", test.query, says, got, times, e.Text())
			}
		}
	}
}

// TestManyPoliciesForTheTarget is about those of a pair that all select the
// target: of those that are only listed, it is the cluster type's clause that
// says why.
func TestManyPoliciesForTheTarget(t *testing.T) {
	w := repositories(t, &txtar.Archive{})
	for i := range 13 {
		w.Write("control", "dev", fmt.Sprintf("policy-%d.yaml", i), fmt.Appendf(nil, `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: policy-%02d}
spec:
  deploymentTargetSelector: {workspace: kaizen-app-team}
  clusterTypeSelector: {labelSelector: {matchLabels: {size: s%d}}}
`, i, i))
	}
	env, p := planned(t, w)
	text := mustExplain(t, env, p, explain.Query{Target: "functional-test", ClusterType: "large"}).Text()
	_, listed, found := strings.Cut(text, "\nOther policies that do not assign it (5)\n")
	if !found || !strings.HasPrefix(listed, "  no   policy-09") || !strings.Contains(listed, "wants size=s12, cluster type has large\n") {
		t.Errorf("got\n%s", text)
	}
}

// TestJSON proves that no list is null, and that names are in lower camel case.
func TestJSON(t *testing.T) {
	env, p := tutorial(t)
	for _, q := range []explain.Query{{Target: "functional-test"}, {Target: "functional-test", ClusterType: "small"}} {
		content, err := json.Marshal(mustExplain(t, env, p, q))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "null") {
			t.Errorf("%v: null in %s", q, content)
		}
	}
	env.Configs, env.ConfigSchemas, env.Templates, env.Policies, env.ClusterTypes = nil, nil, nil, nil, env.ClusterTypes[:1]
	content, err := json.Marshal(mustExplain(t, env, newPlan(t, env, nil), explain.Query{Target: "functional-test", ClusterType: env.ClusterTypes[0].Name}))
	if err != nil || strings.Contains(string(content), "null") {
		t.Errorf("an environment with hardly anything: %v, null in %s", err, content)
	}
	var visit func(typ reflect.Type)
	seen := map[reflect.Type]bool{}
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(typ.Elem())
		case reflect.Struct:
			if seen[typ] {
				return
			}
			seen[typ] = true
			for field := range typ.Fields() {
				if !field.IsExported() {
					continue
				}
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if want := string(unicode.ToLower(rune(field.Name[0]))) + field.Name[1:]; name != want {
					t.Errorf("%s.%s is %q in JSON, want %q", typ, field.Name, name, want)
				}
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[explain.Explanation]())
	if len(seen) < 15 {
		t.Errorf("%d types only", len(seen))
	}
}

// TestExplainChangesNothing is about the model and the plan that are given.
func TestExplainChangesNothing(t *testing.T) {
	env, p := planInput(t, "names")
	before, policies := answer(t, env, p, nil, "a/b-c small"), slices.Clone(env.Policies)
	for _, target := range p.Targets {
		answer(t, env, p, nil, target.Name)
		answer(t, env, p, nil, target.Name+" small")
	}
	if after := answer(t, env, p, nil, "a/b-c small"); after != before || len(env.Policies) != len(policies) {
		t.Errorf("another answer after some questions:\n%s", cmp.Diff(before, after))
	}
	if again := newPlan(t, env, nil); len(again.Assignments) != len(p.Assignments) {
		t.Errorf("%d assignments after some questions, %d before", len(again.Assignments), len(p.Assignments))
	}
}

// FuzzText puts everything into a value and a label that a terminal may
// obey or that may break a line.
func FuzzText(f *testing.F) {
	f.Add("plain", "west-us")
	f.Add("\x1b[2J\r\n\t\u202e\xff", "a b")
	f.Add(strings.Repeat("word ", 60), strings.Repeat("x", 150))
	env, _ := tutorial(f)
	f.Fuzz(func(t *testing.T, value, label string) {
		mixed := *env
		mixed.Configs = slices.Clone(env.Configs)
		config := mixed.Configs[0]
		config.Labels = map[string]string{"region": label}
		config.Spec.Data = map[string]string{value: value, "K": value}
		mixed.Configs = append(mixed.Configs, config)
		config.Name, config.Labels = "zz", nil
		config.Spec.Data = map[string]string{"K": label}
		mixed.Configs = append(mixed.Configs, config)
		p := newPlan(t, &mixed, nil)
		checkText(t, mustExplain(t, &mixed, p, explain.Query{Target: "functional-test", ClusterType: "drone"}))
	})
}
