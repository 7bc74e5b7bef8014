package plan_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/workshop"
	"go.yaml.in/yaml/v3"
)

const registrationFile = "workloads/basic-inference-workload-registration.yaml"

const registration = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: basic-inference
spec:
  workload:
    repo: https://forge.test/kalypso/basic-inference-orchestration
    branch: main
    path: ./workload
  workspace: edge-ai
`

const qaPolicy = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: basic-inference-policy
spec:
  deploymentTargetSelector:
    labelSelector:
      matchLabels:
        workload: basic-inference
  clusterTypeSelector:
    labelSelector:
      matchLabels:
        region: westus
`

// workshopRepos returns the repositories of the basic-inference workshop.
func workshopRepos() (*modeltest.Repositories, error) {
	w, err := workshop.OpenBuiltin("basic-inference")
	if err == nil {
		w, err = w.Load(workshop.On(modeltest.Forge))
	}
	if err != nil {
		return nil, err
	}
	repos := modeltest.Parse("")
	for _, repo := range w.Repositories {
		for _, branch := range repo.Branches {
			for path, content := range branch.Files {
				repos.Write(repo.Name, branch.Name, path, content)
			}
		}
	}
	return repos, nil
}

func inference(t *testing.T) *modeltest.Repositories {
	t.Helper()
	repos, err := workshopRepos()
	if err != nil {
		t.Fatal(err)
	}
	return repos
}

// planned plans an environment of a workshop as it is at the moment.
func planned(t *testing.T, repos *modeltest.Repositories, environment string) *plan.Plan {
	t.Helper()
	main := repos.Tree("kalypso-control-plane", "main")
	environments, diagnostics := model.LoadEnvironments(main, "")
	if len(diagnostics) > 0 {
		t.Fatalf("environments: %v", diagnostics)
	}
	for _, e := range environments {
		if e.Name != environment {
			continue
		}
		c := e.Spec.ControlPlane
		env, err := model.LoadEnvironment(context.Background(), repos, e.Name, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path})
		if err != nil {
			t.Fatal(err)
		}
		return newPlan(t, env, repos.Tree("kalypso-platform-gitops", environment))
	}
	t.Fatalf("there is no environment %s", environment)
	return nil
}

// merge does to the GitOps branch what merging the plan's pull request does.
func merge(repos *modeltest.Repositories, p *plan.Plan) {
	for _, c := range p.Changes {
		if c.Action == plan.Remove {
			repos.Remove("kalypso-platform-gitops", p.GitOps.Branch, c.Path)
		} else {
			repos.Write("kalypso-platform-gitops", p.GitOps.Branch, c.Path, c.Content)
		}
	}
}

func changes(p *plan.Plan) []string {
	lines := []string{}
	for _, c := range p.Changes {
		lines = append(lines, string(c.Action)+" "+c.Path)
	}
	return lines
}

func documents(t *testing.T, content []byte) []any {
	t.Helper()
	var all []any
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, content)
		}
		all = append(all, document)
	}
}

// TestWorkshop walks through the workshop's tasks as far as the scheduler has a
// part in them.
func TestWorkshop(t *testing.T) {
	repos := inference(t)
	expect := func(p *plan.Plan, want ...string) {
		t.Helper()
		if want == nil {
			want = []string{}
		}
		if diff := cmp.Diff(want, changes(p)); diff != "" {
			t.Fatalf("changes (-want +got):\n%s", diff)
		}
	}
	messages := func(p *plan.Plan) []string {
		var all []string
		for _, problem := range p.Problems {
			all = append(all, problem.ClusterType+"/"+problem.Target+": "+problem.Message)
		}
		return all
	}

	t.Log("before anything is registered there is nothing to do")
	dev, qa := planned(t, repos, "dev"), planned(t, repos, "qa")
	expect(dev)
	expect(qa)
	if len(dev.Problems)+len(qa.Problems) > 0 {
		t.Fatalf("problems: %v %v", dev.Problems, qa.Problems)
	}

	t.Log("a registration is assigned by the default policy on dev, by none on qa")
	repos.Write("kalypso-control-plane", "main", registrationFile, []byte(registration))
	dev = planned(t, repos, "dev")
	expect(dev,
		"add dev/basic-inference-dev/namespace.yaml",
		"add dev/basic-inference-dev/platform-config.yaml",
		"add dev/basic-inference-dev/reconciler.yaml")
	expect(planned(t, repos, "qa"))
	for name := range map[string]bool{"namespace": true, "platform-config": true, "reconciler": true} {
		want, err := os.ReadFile(filepath.Join("testdata", "basic-inference", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		want = bytes.ReplaceAll(want, []byte("https://github.com/YOUR_ORG/"), []byte(modeltest.Forge))
		got := dev.Files()["dev/basic-inference-dev/"+name+".yaml"]
		if diff := cmp.Diff(documents(t, want), documents(t, got)); diff != "" {
			t.Errorf("%s.yaml (-want +got):\n%s", name, diff)
		}
	}
	merge(repos, dev)
	expect(planned(t, repos, "dev"))

	t.Log("a policy on qa selects west-us only")
	repos.Write("kalypso-control-plane", "qa", "scheduling-policies/basic-inference-policy.yaml", []byte(qaPolicy))
	qa = planned(t, repos, "qa")
	expect(qa,
		"add west-us/basic-inference-qa/namespace.yaml",
		"add west-us/basic-inference-qa/platform-config.yaml",
		"add west-us/basic-inference-qa/reconciler.yaml")
	merge(repos, qa)

	t.Log("a required value that nobody provides is one problem in each environment, and nothing else")
	workload := repos.Tree("basic-inference-orchestration", "main").Files["workload/workload.yaml"]
	repos.Write("basic-inference-orchestration", "main", "workload/workload.yaml", append(slices.Clone(workload), []byte(`  configSchemas:
     - |
      {
      "properties": {
        "inference_url": {
        "type": "string",
        "description": "Inference URL"
        }
      },
        "required": [
        "inference_url"
        ]
      }
`)...))
	dev, qa = planned(t, repos, "dev"), planned(t, repos, "qa")
	expect(dev)
	expect(qa)
	if diff := cmp.Diff([]string{"dev/basic-inference-dev: inference_url is required"}, messages(dev)); diff != "" {
		t.Fatalf("problems on dev (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"west-us/basic-inference-qa: inference_url is required"}, messages(qa)); diff != "" {
		t.Fatalf("problems on qa (-want +got):\n%s", diff)
	}

	t.Log("a value on dev solves the problem there and changes one file")
	repos.Write("kalypso-control-plane", "dev", "configs/inference-config.yaml", []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: inference-config
  labels:
    platform-config: "true"
    component: inference
data:
  inference_url: "https://httpbin.org/post"
`))
	dev, qa = planned(t, repos, "dev"), planned(t, repos, "qa")
	expect(dev, "modify dev/basic-inference-dev/platform-config.yaml")
	if len(dev.Problems) > 0 || len(qa.Problems) != 1 {
		t.Fatalf("problems: %v %v", dev.Problems, qa.Problems)
	}
	config := documents(t, dev.Files()["dev/basic-inference-dev/platform-config.yaml"])[0].(map[string]any)["data"]
	want := map[string]any{"ENVIRONMENT": "Dev", "SOME_DEV_ENVIRONMENT_VARIABLE": "true", "inference_url": "https://httpbin.org/post"}
	if diff := cmp.Diff(any(want), config); diff != "" {
		t.Fatalf("platform-config (-want +got):\n%s", diff)
	}

	t.Log("regional values on qa change west-us only")
	for region, url := range map[string]string{"eastus": "https://qa-eastus-api.contoso.com", "westus": "https://qa-westus-api.contoso.com"} {
		repos.Write("kalypso-control-plane", "qa", "configs/"+region+".yaml", []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: `+region+`-config
  labels:
    platform-config: "true"
    region: `+region+`
data:
  inference_url: `+url+`
`))
	}
	qa = planned(t, repos, "qa")
	expect(qa, "modify west-us/basic-inference-qa/platform-config.yaml")
	if !bytes.Contains(qa.Changes[0].Content, []byte("https://qa-westus-api.contoso.com")) || len(qa.Problems) > 0 {
		t.Fatalf("content\n%s\nproblems: %v", qa.Changes[0].Content, qa.Problems)
	}

	t.Log("without its registration the application is gone, the cluster types stay")
	repos.Remove("kalypso-control-plane", "main", registrationFile)
	expect(planned(t, repos, "dev"),
		"remove dev/basic-inference-dev/namespace.yaml",
		"remove dev/basic-inference-dev/platform-config.yaml",
		"remove dev/basic-inference-dev/reconciler.yaml")
}

// TestPromotedCommit pins the base repository and finds the pin on the branch.
func TestPromotedCommit(t *testing.T) {
	repos := inference(t)
	before := repos.Tree("kalypso-control-plane", "main").Commit
	base := repos.Tree("kalypso-control-plane", "dev").Files["base-repo.yaml"]
	repos.Write("kalypso-control-plane", "dev", "base-repo.yaml", append(slices.Clone(base), []byte("  commit: "+before+"\n")...))
	p := planned(t, repos, "dev")
	if p.Promoted != before || string(p.Files()[".github/tracking/Promoted_Commit_Id"]) != before+"\n" {
		t.Fatalf("promoted %q, files %q", p.Promoted, slices.Sorted(maps.Keys(p.Files())))
	}
	merge(repos, p)
	if again := changes(planned(t, repos, "dev")); len(again) > 0 {
		t.Fatalf("changes after the merge: %v", again)
	}
}
