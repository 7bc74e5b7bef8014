package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestHelloWorldTutorial walks through the workload-management tutorial, in both
// editions, and holds the scheduler to all that it prints.
func TestHelloWorldTutorial(t *testing.T) {
	for _, edition := range []string{"first-edition", "second-edition"} {
		t.Run(edition, func(t *testing.T) {
			start, err := txtar.ParseFile("testdata/seeds/hello-world-start.txtar")
			if err != nil {
				t.Fatal(err)
			}
			w := &walk{T: t, repos: modeltest.Parse(""), control: "kalypso-control-plane", gitops: "kalypso-gitops"}
			w.repos.Add(start.Files...)
			says := printed(t, "hello-world")
			helloOnboard(w, says)
			helloDev(w, says)
			helloStage(w, says)
			helloConfigure(w, says[edition+"/west-us-config.yaml"])
			helloSmall(w, says)
		})
	}
}

// helloOnboard registers the application on the main branch. Nothing is
// scheduled: environments follow the promoted commit, and have no policy.
func helloOnboard(w *walk, says map[string][]byte) {
	w.Helper()
	const tracking = "add .github/tracking/Promoted_Commit_Id"
	w.expect("dev", tracking, "add command-center/README.md", "add drone/README.md", "add large/README.md", "add small/README.md")
	w.expect("stage", tracking, "add drone/README.md", "add large/README.md")
	w.write("kalypso-app-src", "main", "workload/workload.yaml", says["workload.yaml"])
	w.write(w.control, "main", "workloads/hello-world-app.yaml", says["registration.yaml"])
	w.expect("dev")
	w.promote("dev")
	files := w.expect("dev", "modify .github/tracking/Promoted_Commit_Id")
	if got := strings.TrimSpace(string(files[".github/tracking/Promoted_Commit_Id"])); got != w.repos.Tree(w.control, "main").Commit {
		w.Errorf("promoted %q", got)
	}
	want := []string{"hello-world-app-functional-test", "hello-world-app-performance-test"}
	if diff := cmp.Diff(want, w.targets("dev")); diff != "" {
		w.Errorf("targets of dev (-want +got):\n%s", diff)
	}
	if got := w.targets("stage"); len(got) > 0 {
		w.Errorf("targets of stage before the promotion: %q", got)
	}
}

// promote does what the promotion flow does: it pins the environment's base to
// the main branch as it is now.
func (w *walk) promote(environment string) {
	w.Helper()
	lines := strings.Split(string(w.repos.Tree(w.control, environment).Files["base-repo.yaml"]), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  commit: ") })
	lines[i] = "  commit: " + w.repos.Tree(w.control, "main").Commit
	w.write(w.control, environment, "base-repo.yaml", []byte(strings.Join(lines, "\n")))
}

func (w *walk) targets(environment string) []string {
	w.Helper()
	var names []string
	for _, t := range w.plan(environment).Targets {
		names = append(names, t.Name)
	}
	return names
}

// helloDev schedules on dev: drone gets the functional test, large the
// performance test, and the other two cluster types get nothing.
func helloDev(w *walk, says map[string][]byte) {
	w.Helper()
	w.write(w.control, "dev", "scheduling/kaizen/functional-test-policy.yaml", says["functional-test-policy.yaml"])
	w.write(w.control, "dev", "scheduling/kaizen/performance-test-policy.yaml", says["performance-test-policy.yaml"])
	policies := map[string][]string{}
	for _, a := range w.plan("dev").Assignments {
		policies[a.ClusterType+"/"+a.Target] = a.Policies
	}
	want := map[string][]string{
		"drone/hello-world-app-functional-test":  {"functional-test-policy"},
		"large/hello-world-app-performance-test": {"performance-test-policy"},
	}
	if diff := cmp.Diff(want, policies); diff != "" {
		w.Errorf("assignments (-want +got):\n%s", diff)
	}
	files := w.expect("dev", slices.Concat(assignment("drone", "hello-world-app-functional-test"), assignment("large", "hello-world-app-performance-test"))...)
	for _, name := range []string{"namespace.yaml", "platform-config.yaml", "reconciler.yaml"} {
		w.same(name, says[name], files["drone/hello-world-app-functional-test/"+name])
	}
	// What large has is reported, not printed: Argo CD's resources instead of Flux's,
	// and in the namespace of the tutorial's kubectl lines.
	large := func(name string) []byte { return files["large/hello-world-app-performance-test/"+name+".yaml"] }
	const namespace = "dev-kaizen-app-team-hello-world-app-performance-test"
	for where, got := range map[string]string{
		"namespace":         w.field(large("namespace"), 0, "metadata", "name"),
		"config":            w.field(large("platform-config"), 0, "metadata", "namespace"),
		"Argo CD's":         w.field(large("reconciler"), 0, "spec", "destination", "namespace"),
		"functional test's": strings.Replace(w.field(files["drone/hello-world-app-functional-test/namespace.yaml"], 0, "metadata", "name"), "functional", "performance", 1),
	} {
		if got != namespace {
			w.Errorf("%s namespace: %s", where, got)
		}
	}
	if got := w.field(large("reconciler"), 0, "apiVersion") + " " + w.field(large("reconciler"), 0, "kind"); got != "argoproj.io/v1alpha1 Application" {
		w.Errorf("large reconciles by %s", got)
	}
	if got := w.field(large("reconciler"), 0, "spec", "source", "path"); got != "./performance-test" {
		w.Errorf("large reconciles %s", got)
	}
	if got := w.field(large("platform-config"), 0, "data", "REGION"); got != "West US" {
		w.Errorf("large is in %s", got)
	}
}

// helloStage promotes the registration and schedules on all of stage.
func helloStage(w *walk, says map[string][]byte) {
	w.Helper()
	w.write(w.control, "stage", "scheduling/kaizen/uat-test-policy.yaml", says["uat-test-policy.yaml"])
	w.expect("stage")
	w.promote("stage")
	files := w.expect("stage", slices.Concat([]string{"modify .github/tracking/Promoted_Commit_Id"},
		assignment("drone", "hello-world-app-uat-test"), assignment("large", "hello-world-app-uat-test"))...)
	for _, clusterType := range []string{"drone", "large"} {
		namespace := files[clusterType+"/hello-world-app-uat-test/namespace.yaml"]
		if got := w.field(namespace, 0, "metadata", "name"); got != "stage-kaizen-app-team-hello-world-app-uat-test" {
			w.Errorf("namespace on %s: %s", clusterType, got)
		}
		config := files[clusterType+"/hello-world-app-uat-test/platform-config.yaml"]
		if got := w.field(config, 0, "data", "ENVIRONMENT"); got != "Stage" {
			w.Errorf("environment on %s: %s", clusterType, got)
		}
	}
	if got := w.field(files["drone/hello-world-app-uat-test/reconciler.yaml"], 0, "spec", "ref", "branch"); got != "stage" {
		w.Errorf("drone follows branch %s", got)
	}
}

// helloConfigure gives west-us another database: one file of one assignment
// changes, and in it one value.
func helloConfigure(w *walk, config []byte) {
	w.Helper()
	const file = "large/hello-world-app-uat-test/platform-config.yaml"
	before := documents(w.T, w.repos.Tree(w.gitops, "stage").Files[file])
	w.write(w.control, "stage", "cluster-types/west-us/west-us-config.yaml", config)
	after := documents(w.T, w.expect("stage", "modify "+file)[file])
	data := func(documents []any) map[string]any { return documents[0].(map[string]any)["data"].(map[string]any) }
	want := documents(w.T, config)[0].(map[string]any)["data"].(map[string]any)
	if got := data(after)["DATABASE_URL"]; got != want["DATABASE_URL"] || got == data(before)["DATABASE_URL"] {
		w.Errorf("database %v, before %v, printed %v", got, data(before)["DATABASE_URL"], want["DATABASE_URL"])
	}
	data(after)["DATABASE_URL"] = data(before)["DATABASE_URL"]
	if diff := cmp.Diff(before, after); diff != "" {
		w.Errorf("more than the database changed:\n%s", diff)
	}
}

// helloSmall adds a cluster type, to which the policy assigns at once.
func helloSmall(w *walk, says map[string][]byte) {
	w.Helper()
	w.write(w.control, "stage", "cluster-types/west-us/small/small-cluster-type.yaml", says["small-cluster-type.yaml"])
	files := w.expect("stage", append([]string{"add small/README.md"}, assignment("small", "hello-world-app-uat-test")...)...)
	if !strings.Contains(string(files["small/README.md"]), "This folder contains deployment targets scheduled on the cluster type") {
		w.Errorf("README:\n%s", files["small/README.md"])
	}
	w.same("reconciler", files["large/hello-world-app-uat-test/reconciler.yaml"], files["small/hello-world-app-uat-test/reconciler.yaml"])
	w.expect("stage")
}
