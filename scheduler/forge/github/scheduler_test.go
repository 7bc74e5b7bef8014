package github_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgecontract"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// once runs the scheduler until every environment has had a run that it need
// not repeat, and returns how they are. Errors of a run are tried again.
func once(t testing.TB, f forge.Forge, control string) []controller.EnvironmentStatus {
	t.Helper()
	statuses, err := runOnce(t, f, control, 60*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return statuses
}

func runOnce(t testing.TB, f forge.Forge, control string, within time.Duration) ([]controller.EnvironmentStatus, error) {
	t.Helper()
	w, err := controller.New(controller.Options{
		Forge: f, ControlPlane: model.Reference{Repo: control}, PromoteTo: "dev", Poll: time.Hour, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	}()
	for deadline := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		status := w.Status()
		done := len(status.Environments) > 0
		for _, e := range status.Environments {
			done = done && e.State == controller.Synced && e.Runs > 0
		}
		if done {
			return status.Environments, nil
		}
		if time.Now().After(deadline) {
			var all []error
			for _, e := range status.Environments {
				all = append(all, fmt.Errorf("%s: %s: %s", e.Name, e.State, e.Error))
			}
			return status.Environments, errors.Join(append(all, errors.New(status.ControlPlane.Error))...)
		}
	}
}

// stage is a forge on which a story is played.
type stage struct {
	forgecontract.Harness
	prefix string // of clone URLs
	files  func(repo, branch string) map[string]string
}

func stages(t *testing.T) map[string]stage {
	list := map[string]stage{}
	fake := forgefake.New()
	list["in memory"] = stage{fakeHarness{fake}, strings.TrimSuffix(forgefake.URL("kalypso/"), ".git"), fake.Files}
	w := newFixture(t)
	for _, repo := range []string{"kalypso-control-plane", "kalypso-app-src", "kalypso-gitops"} {
		w.Server.Repo("kalypso/" + repo)
	}
	list["GitHub"] = stage{w, w.URL + "/kalypso/", w.Files}
	return list
}

// write pushes the files of an archive, named repository@branch/path.
func (s stage) write(files ...txtar.File) {
	for _, f := range files {
		repo, rest, _ := strings.Cut(f.Name, "@")
		branch, path, _ := strings.Cut(rest, "/")
		data := strings.ReplaceAll(string(f.Data), "https://forge.test/kalypso/", s.prefix)
		data = strings.ReplaceAll(data, "https://github.com/$org/$prefix-", s.prefix+"kalypso-")
		data = commitOf.ReplaceAllStringFunc(data, func(found string) string {
			m := commitOf.FindStringSubmatch(found)
			head, err := s.Forge().Head(context.Background(), model.Reference{Repo: s.prefix + m[1], Branch: m[2]})
			if err != nil {
				panic(err)
			}
			return head
		})
		s.Push("kalypso/"+repo, branch, map[string]string{path: data})
	}
}

var commitOf = regexp.MustCompile(`COMMIT\(([^@()]+)@([^@()]+)\)`)

// told is what the scheduler has said and done, without what differs between
// servers: their addresses and the IDs that come of them.
type outcome struct {
	Pulls []forge.PullRequest
	Files map[string]string
}

var ids = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{40}|\b[0-9a-f]{7}\b`)

// escapes undoes how the plan's marker writes the addresses of its sources.
var escapes = strings.NewReplacer("%3A", ":", "%2F", "/", "%40", "@", "%2C", ",")

func (s stage) plain(text string) string {
	text = escapes.Replace(text)
	text = strings.ReplaceAll(text, strings.TrimSuffix(s.prefix, "kalypso/"), "FORGE/")
	text = strings.ReplaceAll(text, "/src/branch/", "/blob/")
	return ids.ReplaceAllString(text, "ID")
}

func (s stage) outcome(t *testing.T) map[string]outcome {
	all := map[string]outcome{}
	for _, environment := range []string{"dev", "stage"} {
		one := outcome{Files: map[string]string{}}
		pulls, err := s.Forge().PullRequests(t.Context(), "kalypso/kalypso-gitops", "kalypso/"+environment, environment)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pulls {
			if p.Created.IsZero() || p.Merged.IsZero() == (p.State == forge.Merged) {
				t.Errorf("%s: %s was opened at %v and merged at %v", environment, p.State, p.Created, p.Merged)
			}
			p.Created, p.Merged, p.MergedBy = time.Time{}, time.Time{}, ""
			p.Title, p.Body, p.Author, p.URL, p.HeadCommit, p.MergeCommit = s.plain(p.Title), s.plain(p.Body), "", "", "", ""
			p.Number = 0 // which environment is first is chance
			one.Pulls = append(one.Pulls, p)
		}
		for path, content := range s.files("kalypso/kalypso-gitops", environment) {
			one.Files[path] = s.plain(content)
		}
		all[environment] = one
	}
	return all
}

// TestHelloWorld plays the workload-management tutorial from empty repositories
// to merged pull requests, on GitHub and in memory, and compares every byte.
func TestHelloWorld(t *testing.T) {
	start, err := txtar.ParseFile("../../plan/testdata/seeds/hello-world-start.txtar")
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]txtar.File{}
	printed, err := txtar.ParseFile("../../plan/testdata/seeds/hello-world.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range printed.Files {
		says[f.Name] = f
	}
	at := func(where, what string) txtar.File { return txtar.File{Name: where, Data: says[what].Data} }
	results := map[string][]map[string]outcome{}
	for name, s := range stages(t) {
		control := s.prefix + "kalypso-control-plane"
		merge := func() {
			for _, environment := range []string{"dev", "stage"} {
				pulls, err := s.Forge().PullRequests(t.Context(), "kalypso/kalypso-gitops", "kalypso/"+environment, environment)
				if err != nil || len(pulls) == 0 {
					t.Fatalf("%s: pull requests of %s: %v, %v", name, environment, pulls, err)
				}
				if pulls[0].State == forge.Open {
					s.Merge("kalypso/kalypso-gitops", pulls[0].Number)
				}
			}
		}
		if _, err := runOnce(t, s.Forge(), control, 200*time.Millisecond); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: an empty control plane: %v", name, err)
		}
		s.write(start.Files...)
		once(t, s.Forge(), control)
		merge()
		s.write(
			at("kalypso-app-src@main/workload/workload.yaml", "workload.yaml"),
			at("kalypso-control-plane@main/workloads/hello-world-app.yaml", "registration.yaml"),
			at("kalypso-control-plane@dev/scheduling/kaizen/functional-test-policy.yaml", "functional-test-policy.yaml"),
			at("kalypso-control-plane@dev/scheduling/kaizen/performance-test-policy.yaml", "performance-test-policy.yaml"),
		)
		once(t, s.Forge(), control)
		results[name] = append(results[name], s.outcome(t))
		merge()
		for _, e := range once(t, s.Forge(), control) {
			if e.PullRequest != nil || e.Assignments != map[string]int{"dev": 2}[e.Name] {
				t.Errorf("%s: in the end %s is %+v", name, e.Name, e)
			}
		}
		results[name] = append(results[name], s.outcome(t))
	}
	end := results["GitHub"][1]["dev"]
	if len(end.Files["drone/hello-world-app-functional-test/reconciler.yaml"]) == 0 || len(end.Pulls) != 2 || end.Pulls[0].State != forge.Merged {
		t.Errorf("in the end dev has %q and %+v", slices.Sorted(maps.Keys(end.Files)), end.Pulls)
	}
	for name, got := range results {
		if diff := cmp.Diff(results["in memory"], got); diff != "" {
			t.Errorf("%s differs from the forge in memory (-memory +%s):\n%s", name, name, diff)
		}
	}
}

// TestCommitIsReproducible makes one commit twice: it is the same, to the last
// byte.
func TestCommitIsReproducible(t *testing.T) {
	w := newFixture(t)
	base := w.Push("acme/gitops", "dev", map[string]string{"a/x.yaml": "1", "a/y.yaml": "2", "z": "3"})
	request := forge.CommitRequest{
		Branch: "kalypso/dev", Parent: base, Message: "Kalypso: dev\n\nmore\n", When: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC),
		Changes: []forge.Change{{Path: "a/x.yaml", Content: []byte("é\n")}, {Path: "a/y.yaml"}, {Path: "b/c/d", Content: []byte("new")}},
	}
	first, err := w.forge.Commit(t.Context(), "acme/gitops", request)
	if err != nil {
		t.Fatal(err)
	}
	w.DeleteBranch("acme/gitops", "kalypso/dev")
	again, err := w.connect(t, github.Options{}).Commit(t.Context(), "acme/gitops", request)
	if err != nil || again != first {
		t.Errorf("first %s, then %s, %v", first, again, err)
	}
	if got := w.Log("acme/gitops", "kalypso/dev", "%H %an <%ae> %cn <%ce> %aI %s"); got[0] != first+" Kalypso Scheduler <scheduler@kalypso.local> Kalypso Scheduler <scheduler@kalypso.local> 2024-01-02T03:04:05+00:00 Kalypso: dev" {
		t.Errorf("commit %s", got[0])
	}
}

// fleet writes a platform of so many cluster types, each of which gets all of
// so many deployment targets.
func fleet(w *fixture, clusterTypes, targets int) {
	const api = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	folder := func(repo, branch string) string {
		return fmt.Sprintf("repo: %q, branch: %s, path: .", w.URL+"/acme/"+repo, branch)
	}
	template := func(kind, body string) string {
		return api + "kind: Template\nmetadata: {name: " + kind + "}\nspec:\n  type: " + kind + "\n  manifests:\n  - |\n    " + body + "\n---\n"
	}
	w.Push("acme/platform", "main", map[string]string{
		".environments/dev.yaml": api + "kind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {" + folder("platform", "dev") + "}}\n",
		"templates/t.yaml": template("reconciler", "name: {{ .DeploymentTargetName }}") +
			template("namespace", "name: {{ .Namespace }}") + template("config", "name: {{ .ConfigData.region }} {{ .ConfigData.size }}"),
		"registrations/web.yaml": api + "kind: WorkloadRegistration\nmetadata: {name: web}\nspec: {workload: {" + folder("app", "main") + "}, workspace: team}\n",
	})
	files := map[string]string{
		"base-repo.yaml":   api + "kind: BaseRepo\nmetadata: {name: main}\nspec: {" + folder("platform", "main") + "}\n",
		"gitops-repo.yaml": api + "kind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {" + folder("gitops", "dev") + "}\n",
		"policy.yaml":      api + "kind: SchedulingPolicy\nmetadata: {name: all}\nspec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}\n",
		"all.yaml":         configMap("all", "", "east"),
	}
	for i := range clusterTypes {
		name := fmt.Sprintf("type-%03d", i)
		files["types/"+name+".yaml"] = api + "kind: ClusterType\nmetadata: {name: " + name + "}\nspec: {reconciler: reconciler, namespaceService: namespace, configType: config}\n"
		files["configs/"+name+".yaml"] = strings.Replace(configMap(name, ", cluster-type: "+name, "small"), "region", "size", 1)
	}
	w.Push("acme/platform", "dev", files)
	var list []string
	for i := range targets {
		list = append(list, fmt.Sprintf("{name: target-%03d, environment: dev, manifests: {%s}}", i, folder("app", "dev")))
	}
	w.Push("acme/app", "main", map[string]string{
		"workload.yaml": api + "kind: Workload\nmetadata: {name: web}\nspec: {deploymentTargets: [" + strings.Join(list, ", ") + "]}\n",
	})
	w.Push("acme/gitops", "dev", map[string]string{"README.md": "x"})
}

func configMap(name, labels, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", labels: {platform-config: \"true\"" + labels + "}}\ndata: {region: " + value + "}\n"
}

// TestCalls counts the API requests of a change of one configuration, from the
// push to the pull request, in a small fleet: how many there are does not
// depend on its size. Those that GitHub answers by 304 cost nothing.
func TestCalls(t *testing.T) {
	countCalls(t, 20, 20, 6)
}

// BenchmarkCalls does so in a fleet of 100 cluster types with 100 targets each.
// The goal is 12.
func BenchmarkCalls(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(countCalls(b, 100, 100, 12)), "requests")
	}
}

// countCalls plays changes of a fleet and holds all but the first run to most
// requests that count. It returns the most that a change took, with those that
// do not count.
func countCalls(tb testing.TB, clusterTypes, targets, most int) (worst int) {
	w := newFixture(tb)
	fleet(w, clusterTypes, targets)
	control := w.URL + "/acme/platform"
	step := func(what string, f *github.Forge, most int) {
		tb.Helper()
		w.Calls()
		before := f.Budget()
		start := time.Now()
		e := once(tb, f, control)[0]
		took := time.Since(start)
		calls := w.Calls()
		kinds, n := githubfake.Count(calls)
		free := f.Budget().Unchanged - before.Unchanged
		tb.Logf("%s: %d API requests (%d of them free: 304) and %d of git, %s, %d assignments, pull request %t",
			what, n, free, len(calls)-n, took.Round(time.Millisecond), e.Assignments, e.PullRequest != nil)
		for _, k := range slices.Sorted(maps.Keys(kinds)) {
			tb.Logf("    %2d  %s", kinds[k], k)
		}
		if most > 0 && n-free > most {
			tb.Errorf("%s: %d API requests count, more than %d", what, n-free, most)
		}
		if most > 0 {
			worst = max(worst, n)
		}
	}
	push := func(file, text string) { w.Push("acme/platform", "dev", map[string]string{file: text}) }
	merge := func() { w.Merge("acme/gitops", len(w.Pulls("acme/gitops"))) }

	step("everything is new", w.forge, 0)
	merge()
	step("merged", w.forge, most)
	large := strings.Replace(configMap("type-007", ", cluster-type: type-007", "large"), "region", "size", 1)
	push("configs/type-007.yaml", large)
	step("one cluster type's config, a scheduler that runs", w.forge, most)
	push("configs/type-007.yaml", strings.Replace(large, "large", "huge", 1))
	step("the same again, the pull request is open", w.forge, most)
	merge()
	push("all.yaml", configMap("all", "", "west"))
	step("everybody's config", w.forge, most)
	merge()
	push("configs/type-007.yaml", large)
	late := w.connect(tb, github.Options{})
	step("one cluster type's config, a scheduler that starts for it", late, most)
	step("nothing", late, most)
	return worst
}
