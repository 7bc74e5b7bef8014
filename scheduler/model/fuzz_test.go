package model_test

import (
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// FuzzLoadEnvironment puts any text into the place of a file on each branch
// that is read. Nothing may panic, what is wrong must have a place, and an
// object with an error must not be in the model.
func FuzzLoadEnvironment(f *testing.F) {
	for _, seed := range []string{
		clusterType,
		policyHead + "spec:\n  clusterTypeSelector:\n    labelSelector:\n      matchExpressions: [{key: a, operator: In, values: [b]}]\n",
		application,
		"a: &a [*a]\n---\n<<: [*a, *a]\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: &m {name: t}\nspec: {type: config, manifests: [*m, \"{{\"]}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {platform-config: \"true\"}}\ndata: {a: \"1\"}\n",
		"? [a]\n: b\n",
		"\x00",
		"apiVersion: v1\nkind: List\nitems: &i [{apiVersion: v1, kind: List, items: *i}, null]\n",
		"kind: Configmap\nmetadata: {name: c, labels: {platform-confg: \"true\"}}\n",
	} {
		f.Add(seed, "*.txt\n!a/\n")
	}
	f.Fuzz(func(t *testing.T, content, ignore string) {
		repos := modeltest.Parse(pointers + application)
		for _, branch := range [][2]string{{"control", "dev"}, {"control", "main"}, {"shop", "main"}} {
			repos.Write(branch[0], branch[1], "workload/fuzz.yaml", []byte(content))
			repos.Write(branch[0], branch[1], "a/.sourceignore", []byte(ignore))
		}
		env, err := model.LoadEnvironment(t.Context(), repos, "dev", dev)
		if err != nil {
			t.Fatal(err)
		}
		errors := 0
		for _, d := range env.Diagnostics {
			if d.Position.Repo == "" || d.Message == "" || d.Code == "" {
				t.Errorf("a diagnostic without a place, a code or words: %+v", d)
			}
			if d.Severity == model.Error {
				errors++
			}
		}
		if (errors+len(env.Blank) > 0) != env.Incomplete {
			t.Errorf("%d errors, %d blank, incomplete %v", errors, len(env.Blank), env.Incomplete)
		}
		for _, c := range env.ClusterTypes {
			if c.Name == "" || c.Spec.Reconciler == "" || c.Position.Line == 0 {
				t.Errorf("half an object: %+v", c)
			}
		}
	})
}
