package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

func pairOf(clusterType, name string) pair {
	p := pair{clusterType: &model.ClusterType{}}
	p.clusterType.Name = clusterType
	p.target = &target{Target: Target{Name: name, Position: model.Position{File: name + ".yaml", Line: 1}}}
	return p
}

// assigned is an environment dev with these assignments and one template.
func assigned(template string, pairs []pair) *state {
	env := &model.Environment{Name: "dev", Templates: []model.Template{templateOf("t", v1alpha1.NamespaceTemplate, template)}}
	s := &state{env: env, rows: map[string]*row{}}
	s.templates = s.templates.next(env, func() int64 { return 0 })
	for _, p := range pairs {
		r := s.rows[p.clusterType.Name]
		if r == nil {
			r = &row{clusterType: *p.clusterType}
			s.rows[p.clusterType.Name] = r
		}
		r.cells = append(r.cells, cell{pair: p})
	}
	return s
}

func TestNamespaceCollisions(t *testing.T) {
	const uses, usesNot = "name: {{ .Namespace }}", "name: {{ .Environment }}-{{ .Workspace }}"
	tests := []struct {
		name, template string
		pairs          []pair
		want           []string
	}{
		{"none", uses, nil, []string{}},
		{"different", uses, []pair{pairOf("a", "b"), pairOf("a", "c"), pairOf("b", "b")}, []string{}},
		{"same", uses, []pair{pairOf("a", "b-c"), pairOf("a-b", "c")}, []string{
			"warning shared-namespace c.yaml:1",
		}},
		{"three", uses, []pair{pairOf("a", "b-c-d"), pairOf("a-b", "c-d"), pairOf("a-b-c", "d"), pairOf("x", "y")}, []string{
			"warning shared-namespace c-d.yaml:1",
			"warning shared-namespace d.yaml:1",
		}},
		{"no template asks", usesNot, []pair{pairOf("a", "b-c"), pairOf("a-b", "c")}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems := namespaceCollisions(assigned(test.template, test.pairs))
			slices.SortFunc(problems, compareProblems)
			if diff := cmp.Diff(test.want, reasons(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateOfWrongType(t *testing.T) {
	env := &model.Environment{Templates: []model.Template{
		templateOf("flux", v1alpha1.ReconcilerTemplate), templateOf("argocd", v1alpha1.ReconcilerTemplate), templateOf("default", v1alpha1.NamespaceTemplate),
	}}
	c := clusterTypeOf(t, "small", "{}")
	c.Position = model.Position{File: "small.yaml", Line: 3}
	tests := []struct {
		reconciler, namespace, config string
		want                          []string
	}{
		{"flux", "default", "flux", []string{"warning wrong-template small.yaml:3"}},
		{"default", "argocd", "gone", []string{
			"warning wrong-template small.yaml:3",
			"warning wrong-template small.yaml:3",
		}},
	}
	for _, test := range tests {
		c.Spec = v1alpha1.ClusterTypeSpec{Reconciler: test.reconciler, NamespaceService: test.namespace, ConfigType: test.config}
		_, _, mistyped := (*templates)(nil).next(env, func() int64 { return 0 }).of(&c)
		if diff := cmp.Diff(test.want, reasons(mistyped)); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
}

func TestUnvalidated(t *testing.T) {
	control := model.Position{Repo: "https://forge.test/kalypso/control", Branch: "dev"}
	got := unvalidated(control, pairOf("small", "shop-test"))
	const want = "warning Held control@dev"
	if line := reasons([]Problem{got})[0]; line != want {
		t.Errorf("%s, want %s", line, want)
	}
	if got.ClusterType != "" || got.Target != "" {
		t.Error("the warning is one of the assignment, which makes an issue of it")
	}
}
