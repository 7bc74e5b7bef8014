package plan

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/configvalue"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// config makes a platform ConfigMap. Labels and data are YAML.
func config(t testing.TB, name, labels, data string) model.PlatformConfig {
	t.Helper()
	var c model.PlatformConfig
	c.Name = name
	fromYAML(t, labels, &c.Labels)
	fromYAML(t, data, &c.Spec.Data)
	c.Position = model.Position{File: name + ".yaml", Line: 1}
	return c
}

func fromYAML(t testing.TB, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func templateOf(name string, kind v1alpha1.TemplateType, manifests ...string) model.Template {
	var t model.Template
	t.Name = name
	t.Spec.Type = kind
	t.Position = model.Position{File: name + ".yaml", Line: 1}
	for i, text := range manifests {
		t.Spec.Manifests = append(t.Spec.Manifests, v1alpha1.Manifest{Text: text, Line: 100 * (i + 1)})
	}
	return t
}

// data is what templates see in tests.
func data(t testing.TB, config string) renderData {
	t.Helper()
	d := renderData{
		DeploymentTargetName: "shop-test",
		Namespace:            "dev-small-shop-test",
		Environment:          "dev",
		Workspace:            "team",
		Workload:             "shop",
		Labels:               map[string]string{"purpose": "test"},
		Manifests:            map[string]string{"repo": "r", "branch": "b", "path": "./p"},
		ClusterType:          "small",
		ConfigData:           map[string]any{},
	}
	var values map[string]string
	fromYAML(t, config, &values)
	for key, value := range values {
		d.ConfigData[key] = configvalue.Parse(value)
	}
	return d
}

// permutations calls f with every order of n things.
func permutations(n int, f func(order []int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var visit func(k int)
	visit = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			visit(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	visit(0)
}

func pick[T any](all []T, order []int) []T {
	picked := make([]T, len(order))
	for i, n := range order {
		picked[i] = all[n]
	}
	return picked
}

// reasons writes what tests assert of problems, one per line.
func reasons(problems []Problem) []string {
	all := []string{}
	for _, p := range problems {
		where := ""
		if p.ClusterType != "" {
			where = p.ClusterType + "/" + p.Target + " "
		}
		all = append(all, fmt.Sprintf("%s%s %s %s", where, p.Severity, cmp.Or(p.Code, string(p.Reason)), p.Position))
	}
	return all
}

// planWith plans, and fails the test when there is an error.
func planWith(t testing.TB, planner *Planner, env *model.Environment, gitops *model.Tree) *Plan {
	t.Helper()
	p, err := planner.New(t.Context(), env, gitops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func targetsOf(env *model.Environment) []*target {
	id := int64(0)
	return (*targetSet)(nil).next(env, func() int64 { id++; return id }).sorted
}

// asTheyAre explains no errors.
func asTheyAre(err error) error { return err }

// render renders a template's text, again and again while the result still
// changes and holds an action.
func (r *renderer) render(text string, data renderData) (string, error) {
	made, err := r.rounds(text, data)
	if err != nil {
		return "", err
	}
	return made.text()
}
