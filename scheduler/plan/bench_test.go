package plan_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// fleets are the sizes that are measured. Each policy selects perPolicy targets
// and perPolicy/10 cluster types.
var fleets = []struct{ clusterTypes, targets, policies int }{
	{10, 10, 1},
	{100, 1000, 10},
	{1000, 10000, 100},
}

const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// fleet is an environment of which policy i selects the cluster types and the
// deployment targets of group i. Configuration is for all, for each region, for
// each group, for some cluster types and for some targets.
func fleet(clusterTypes, targets, policies int) *modeltest.Repositories {
	var archive strings.Builder
	write := func(repo, branch, file, text string, args ...any) {
		fmt.Fprintf(&archive, "-- %s@%s/%s --\n%s\n", repo, branch, file, fmt.Sprintf(text, args...))
	}
	control := func(file, text string, args ...any) { write("control", "dev", file, head+text, args...) }
	config := func(name, label, values string) {
		write("control", "dev", "configs/"+name+".yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {platform-config: 'true'%s}}\ndata: {%s}\n", name, label, values)
	}
	control("base.yaml", "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: %scontrol, branch: main}\n", modeltest.Forge)
	control("gitops.yaml", "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: %sgitops, branch: dev}\n", modeltest.Forge)
	for i := range policies {
		control(fmt.Sprintf("policies/%03d.yaml", i), "kind: SchedulingPolicy\nmetadata: {name: policy-%03d}\nspec:\n  deploymentTargetSelector: {workspace: team, labelSelector: {matchLabels: {group: g%03d}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {group: g%03d}}}\n", i, i, i)
		config(fmt.Sprintf("group-%03d", i), fmt.Sprintf(", group: g%03d", i), fmt.Sprintf("GROUP: 'group %03d', DATABASE: 'https://db%03d.example.com:5432/main'", i, i))
	}
	for i := range clusterTypes {
		control(fmt.Sprintf("types/%04d.yaml", i), "kind: ClusterType\nmetadata: {name: type-%04d, labels: {group: g%03d, region: region-%d}}\nspec: {reconciler: flux, namespaceService: default}\n", i, i%policies, i%7)
		if i%10 == 0 {
			config(fmt.Sprintf("type-%04d", i), fmt.Sprintf(", cluster-type: type-%04d", i), "SIZE: large")
		}
	}
	config("all", "", "ENVIRONMENT: dev, LOG_LEVEL: debug, LIMITS: '{cpu: 2, memory: 4Gi}'")
	for i := range 7 {
		config(fmt.Sprintf("region-%d", i), fmt.Sprintf(", region: region-%d", i), fmt.Sprintf("REGION: region-%d, LOG_LEVEL: info", i))
	}
	control("schema.yaml", "kind: ConfigSchema\nmetadata: {name: all}\nspec: {schema: '{\"type\": \"object\", \"properties\": {\"REGION\": {\"type\": \"string\"}}, \"required\": [\"REGION\"]}'}\n")
	for name, text := range fleetTemplates {
		write("control", "main", "templates/"+name+".yaml", "%s", head+text)
	}
	for i := range targets {
		write("control", "main", fmt.Sprintf("workloads/%05d.yaml", i), head+"kind: WorkloadRegistration\nmetadata: {name: app-%05d}\nspec: {workspace: team, workload: {repo: %sapp-%05d, branch: main, path: ./workload}}\n", i, modeltest.Forge, i)
		write(fmt.Sprintf("app-%05d", i), "main", "workload/workload.yaml", head+"kind: Workload\nmetadata: {name: app-%05d, labels: {type: application}}\nspec:\n  deploymentTargets:\n    - name: test\n      labels: {group: g%03d, purpose: test}\n      environment: dev\n      manifests: {repo: %sapp-%05d-gitops, branch: dev, path: ./test}\n", i, i%policies, modeltest.Forge, i)
		if i%100 == 0 {
			config(fmt.Sprintf("target-%05d", i), fmt.Sprintf(", deployment-target: app-%05d-test", i), "REPLICAS: '3'")
		}
	}
	return modeltest.Parse(archive.String())
}

var fleetTemplates = map[string]string{
	"default": `kind: Template
metadata: {name: default}
spec:
  type: namespace
  manifests:
    - |
      apiVersion: v1
      kind: Namespace
      metadata:
        name: "{{ .Namespace }}"
        labels:
          environment: "{{ .Environment }}"
          workspace: "{{ .Workspace }}"
          workload: "{{ .Workload }}"
          deploymentTarget: "{{ .DeploymentTargetName }}"
    - |
      apiVersion: v1
      kind: ServiceAccount
      metadata:
        name: "{{ .Workload }}-sa"
        namespace: "{{ .Namespace }}"
`,
	"configmap": `kind: Template
metadata: {name: configmap}
spec:
  type: config
  manifests:
    - |
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: platform-config
        namespace: {{ .Namespace }}
      {{- if .ConfigData }}
      data:
      {{ stringify .ConfigData | indent 2 }}
      {{- end }}
`,
	"flux": `kind: Template
metadata: {name: flux}
spec:
  type: reconciler
  manifests:
    - |
      apiVersion: source.toolkit.fluxcd.io/v1
      kind: GitRepository
      metadata:
        name: {{ .Environment }}.{{ .Workload }}.{{ .DeploymentTargetName }}
        namespace: flux-system
      spec:
        interval: 30s
        url: "{{ .Manifests.repo }}"
        ref:
          branch: "{{ .Manifests.branch }}"
    - |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata:
        name: {{ .Environment }}.{{ .Workload }}.{{ .DeploymentTargetName }}
        namespace: flux-system
      spec:
        interval: 30s
        targetNamespace: "{{ .Namespace }}"
        sourceRef:
          kind: GitRepository
          name: {{ .Environment }}.{{ .Workload }}.{{ .DeploymentTargetName }}
        path: "{{ .Manifests.path }}"
        prune: true
`,
}

var fleetBranch = model.Reference{Repo: modeltest.Forge + "control", Branch: "dev"}

// expected checks a plan, so that nothing else is measured than what is meant.
func expected(b *testing.B, p *plan.Plan, assignments, changes int) {
	b.Helper()
	if len(p.Assignments) != assignments || len(p.Problems) > 0 || len(p.Changes) != changes {
		b.Fatalf("%d assignments, %d changes, problems %v", len(p.Assignments), len(p.Changes), p.Problems)
	}
}

// BenchmarkFullPlan plans a fleet for the first time, on an empty branch.
func BenchmarkFullPlan(b *testing.B) {
	for _, f := range fleets {
		assignments := f.clusterTypes * f.targets / f.policies
		b.Run(fmt.Sprintf("%dx%d", f.clusterTypes, f.targets), func(b *testing.B) {
			env, err := model.LoadEnvironment(b.Context(), fleet(f.clusterTypes, f.targets, f.policies), "dev", fleetBranch)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				expected(b, newPlan(b, env, nil), assignments, 3*assignments+f.clusterTypes)
			}
		})
	}
}

// BenchmarkOneChange plans a fleet whose branch is as it should be after one
// file of the model has changed, with and without the reading of the model.
func BenchmarkOneChange(b *testing.B) {
	for _, f := range fleets {
		perType := f.targets / f.policies
		changes := []struct {
			name, repo, branch, file, old, new string
			changes                            int
		}{
			{"config", "control", "dev", fmt.Sprintf("configs/type-%04d.yaml", f.clusterTypes-10), "SIZE: large", "SIZE: small", perType},
			{"regionConfig", "control", "dev", "configs/region-0.yaml", "REGION: region-0", "REGION: region-x", 0},
			{"targetLabel", "app-00003", "main", "workload/workload.yaml", "type: application", "type: service", 0},
			{"targetGone", "app-00003", "main", "workload/workload.yaml", "environment: dev", "environment: qa", 3 * f.clusterTypes / f.policies},
			{"clusterTypeLabel", "control", "dev", "types/0000.yaml", "region: region-0", "region: region-1", perType},
		}
		repos := fleet(f.clusterTypes, f.targets, f.policies)
		var loader model.Loader
		var planner plan.Planner
		load := func(b *testing.B) *model.Environment {
			env, err := loader.Load(b.Context(), repos, "dev", fleetBranch)
			if err != nil {
				b.Fatal(err)
			}
			return env
		}
		env, err := loader.Load(b.Context(), repos, "dev", fleetBranch)
		if err != nil {
			b.Fatal(err)
		}
		branch := &model.Tree{Commit: "merged", Files: planWith(b, &planner, env, nil).Files()}
		planWith(b, &planner, env, branch)
		for _, c := range changes {
			old := string(repos.Tree(c.repo, c.branch).Files[c.file])
			edited := strings.Replace(old, c.old, c.new, 1)
			if edited == old {
				b.Fatalf("%s: nothing to change in %s", c.name, old)
			}
			for _, withModel := range []bool{false, true} {
				name := fmt.Sprintf("%dx%d/%s", f.clusterTypes, f.targets, c.name)
				if withModel {
					name += "WithModel"
				}
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for i := range b.N {
						b.StopTimer()
						text := edited
						if i%2 == 1 {
							text = old
						}
						repos.Write(c.repo, c.branch, c.file, []byte(text))
						runtime.GC() // of what the test makes; the planner's own garbage counts
						if withModel {
							b.StartTimer()
						}
						env := load(b)
						b.StartTimer()
						p := planWith(b, &planner, env, branch)
						b.StopTimer()
						if i%2 == 0 && c.changes > 0 && len(p.Changes) != c.changes {
							b.Fatalf("%d changes, problems %v", len(p.Changes), p.Problems)
						}
						b.StartTimer()
					}
					b.StopTimer()
					repos.Write(c.repo, c.branch, c.file, []byte(old))
					planWith(b, &planner, load(b), branch)
				})
			}
		}
	}
}
