package plan

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
)

// FuzzWorkload gives an application's team any text for its Workload: names,
// labels, manifests and schemas. Whatever it is, it is planned as often as one
// likes with the same result, the team's files lie in the folders of its own
// deployment targets, those of another team stay what they are, and what is said
// about it has an end.
func FuzzWorkload(f *testing.F) {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop, labels: {tier: web}}\nspec:\n"
	for _, spec := range []string{
		"  deploymentTargets:\n    - {name: test, environment: dev, labels: {region: a, size: 'true'}, manifests: {repo: r, branch: b, path: ./p, chart: c}}\n",
		"  configSchemas: ['{\"required\": [\"K\"]}']\n  deploymentTargets:\n    - &t\n      name: test\n      environment: dev\n      configSchemas: ['{\"properties\": {\"K\": {\"type\": \"integer\"}}}', '{']\n    - <<: *t\n      name: uat\n    - *t\n",
		"  deploymentTargets:\n    - name: test\n      environment: dev\n      manifests:\n        branch: |\n          b\n          ---\n          kind: ClusterRoleBinding\n        path: '{{ .Labels }}'\n",
		"  deploymentTargets:\n    - {name: ../../x, environment: dev}\n    - {name: A, environment: dev}\n    - {name: \"a\\nb\", environment: dev}\n",
		"  configSchemas: ['{\"allOf\": [{\"$ref\": \"#/$defs/a\"}, {\"$ref\": \"#/$defs/a\"}], \"$defs\": {\"a\": {\"multipleOf\": 1e-99}}}']\n  deploymentTargets: [{name: t, environment: dev, labels: {workload: stock, workspace: other, cluster-type: east}}]\n",
		"  deploymentTargets: [{name: " + strings.Repeat("n", 70) + ", environment: dev}, {name: x, environment: qa}]\n",
	} {
		f.Add(head + spec)
	}
	f.Add(strings.Replace(head, "name: shop", "name: stock", 1) + "  deploymentTargets: [{name: test, environment: dev}]\n")
	f.Add(strings.Replace(head, "name: shop", "name: stock-test", 1) + "  deploymentTargets: [{name: test, environment: dev}]\n")
	f.Add(strings.Replace(head, "kind", "klph", 1) + "  deploymentTargets: [{name: test, environment: dev}]\n")
	f.Add("")

	// Another model without the team's workload says what the other team has.
	load := func(t testing.TB, text string) (*model.Environment, *Plan) {
		repos := twoApps()
		repos.Write("control", "dev", "c.yaml", configText("c", "region: east", "a"))
		repos.Write("control", "dev", "d.yaml", configText("d", "size: 'true'", "[1, {name: x}]"))
		repos.Write("shop", "main", "workload.yaml", []byte(text))
		env, err := model.LoadEnvironment(t.Context(), repos, "dev", model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return env, planWith(t, new(Planner), env, nil)
	}
	others := func(p *Plan) map[string]string {
		files := map[string]string{}
		for _, a := range p.Assignments {
			if a.Target == "stock-test" {
				for _, file := range a.Files {
					files[file] = string(p.Files()[file])
				}
			}
		}
		return files
	}
	var want map[string]string
	f.Fuzz(func(t *testing.T, text string) {
		if want == nil {
			_, alone := load(t, "")
			if want = others(alone); len(want) == 0 {
				t.Fatal("the other team has nothing")
			}
		}
		env, p := load(t, text)
		samePlan(t, "again", p, planWith(t, new(Planner), env, nil))
		owners := map[string]string{}
		for _, target := range p.Targets {
			owners[target.Name] = target.Workload
		}
		for _, a := range p.Assignments {
			for _, file := range a.Files {
				if path.Clean(file) != file || path.Dir(file) != a.ClusterType+"/"+a.Target || owners[a.Target] == "" {
					t.Errorf("%s on %s has the file %q", a.Target, a.ClusterType, file)
				}
			}
		}
		claimed := slices.ContainsFunc(env.Workloads, func(w model.Workload) bool {
			return w.Registration.Name == "shop" && (w.Name == "stock" || strings.HasPrefix("stock-test", w.Name+"-"))
		})
		stock := slices.ContainsFunc(env.Workloads, func(w model.Workload) bool { return w.Name == "stock" && w.Registration.Name == "stock" })
		if got := others(p); !claimed && stock && !maps.Equal(want, got) {
			t.Errorf("the other team's files (-before +after):\n%s", cmp.Diff(want, got))
		}
		size := 0
		for _, problem := range p.Problems {
			size += len(problem.Message) + len(problem.Hint)
		}
		if size > 20*len(text)+100_000 {
			t.Errorf("%d bytes about a text of %d", size, len(text))
		}
	})
}
