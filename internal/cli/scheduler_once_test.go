package cli

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/rogpeppe/go-internal/txtar"
)

const helloGitOps = "kalypso/kalypso-gitops"

// helloWorld is the workload-management tutorial's repositories on a forge.
type helloWorld struct {
	t      *testing.T
	prefix string // of clone URLs
	push   func(repo, branch string, files map[string]string)
	head   func(repo, branch string) string
}

var helloCommit = regexp.MustCompile(`COMMIT\(([^@()]+)@([^@()]+)\)`)

// write pushes the files of an archive, named repository@branch/path.
func (w helloWorld) write(files ...txtar.File) {
	for _, f := range files {
		repo, rest, _ := strings.Cut(f.Name, "@")
		branch, file, _ := strings.Cut(rest, "/")
		data := strings.NewReplacer("https://forge.test/kalypso/", w.prefix, "https://github.com/$org/$prefix-", w.prefix+"kalypso-").Replace(string(f.Data))
		data = helloCommit.ReplaceAllStringFunc(data, func(found string) string {
			m := helloCommit.FindStringSubmatch(found)
			return w.head("kalypso/"+m[1], m[2])
		})
		w.push("kalypso/"+repo, branch, map[string]string{file: data})
	}
}

func helloFiles(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("../../scheduler/plan/testdata/seeds", name))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (w helloWorld) begin() { w.write(helloFiles(w.t, "hello-world-start.txtar").Files...) }

// onboard is what the tutorial's reader does: a workload, its registration and
// the policies.
func (w helloWorld) onboard() {
	says := map[string][]byte{}
	for _, f := range helloFiles(w.t, "hello-world.txtar").Files {
		says[f.Name] = f.Data
	}
	for _, at := range [][2]string{
		{"kalypso-app-src@main/workload/workload.yaml", "workload.yaml"},
		{"kalypso-control-plane@main/workloads/hello-world-app.yaml", "registration.yaml"},
		{"kalypso-control-plane@dev/scheduling/kaizen/functional-test-policy.yaml", "functional-test-policy.yaml"},
		{"kalypso-control-plane@dev/scheduling/kaizen/performance-test-policy.yaml", "performance-test-policy.yaml"},
	} {
		w.write(txtar.File{Name: at[0], Data: says[at[1]]})
	}
}

// helloGitHub is an empty organisation on GitHub, and the variables of a
// workflow of its control plane.
func helloGitHub(t *testing.T) (*githubfake.Server, helloWorld) {
	t.Helper()
	s := githubfake.Start(t)
	for _, repo := range []string{"control-plane", "app-src", "gitops"} {
		s.Repo("kalypso/kalypso-" + repo)
	}
	t.Setenv("GITHUB_SERVER_URL", s.URL)
	t.Setenv("GITHUB_API_URL", s.URL+"/api/v3")
	t.Setenv("GITHUB_REPOSITORY", "kalypso/kalypso-control-plane")
	t.Setenv("GITHUB_TOKEN", s.User("kalypso-bot").Token)
	for _, name := range []string{"KALYPSO_CI_TOKEN", "KALYPSO_FORGE", "GITEA_ACTIONS"} {
		t.Setenv(name, "")
	}
	push := func(repo, branch string, files map[string]string) { s.Push(repo, branch, files) }
	return s, helloWorld{t, s.URL + "/kalypso/", push, s.Branch}
}

// mergedRound lets the scheduler run once, and merges what it has opened.
func mergedRound(t *testing.T, f *forgefake.Forge, prefix string) {
	t.Helper()
	watcher, err := controller.New(controller.Options{
		Forge: f, ControlPlane: model.Reference{Repo: prefix + "kalypso-control-plane"}, PromoteTo: "dev", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watcher.RunOnce(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for _, pr := range f.AllPullRequests(helloGitOps) {
		if pr.State == forge.Open {
			f.Merge(helloGitOps, pr.Number)
		}
	}
}

// inMemory plays the tutorial without a server and returns the files of the
// GitOps branches in the end.
func inMemory(t *testing.T) map[string]map[string]string {
	t.Helper()
	f := forgefake.New()
	prefix := strings.TrimSuffix(forgefake.URL("kalypso/"), ".git")
	w := helloWorld{t, prefix, func(repo, branch string, files map[string]string) { f.Push(repo, branch, files) }, f.Branch}
	round := func() {
		t.Helper()
		mergedRound(t, f, prefix)
	}
	w.begin()
	round()
	w.onboard()
	round()
	return map[string]map[string]string{"dev": plainFiles(f.Files(helloGitOps, "dev"), prefix), "stage": plainFiles(f.Files(helloGitOps, "stage"), prefix)}
}

var commitIDs = regexp.MustCompile(`[0-9a-f]{40}`)

// plainFiles has files without what differs between servers.
func plainFiles(files map[string]string, prefix string) map[string]string {
	plain := map[string]string{}
	for name, content := range files {
		plain[name] = commitIDs.ReplaceAllString(strings.ReplaceAll(content, prefix, "FORGE/"), "ID")
	}
	return plain
}

// TestSchedulerOnceOnGitHub plays the tutorial from empty repositories to merged
// pull requests, by nothing but the command. The files are those of the forge in
// memory, to the byte.
func TestSchedulerOnceOnGitHub(t *testing.T) {
	s, w := helloGitHub(t)
	once := func(args ...string) (int, string, string) {
		return call(t, append([]string{"scheduler", "once", "--promote-to", "dev"}, args...)...)
	}
	merge := func() {
		for _, p := range s.Pulls(helloGitOps) {
			if p.State == "open" {
				s.Merge(helloGitOps, p.Number)
			}
		}
	}
	code, out, talk := once()
	if code != cmdutil.ExitFailure || out != "" || !strings.Contains(talk, "reading the control plane: ") || !strings.Contains(talk, "is empty") {
		t.Errorf("empty repositories: exit code %d, %q, %q", code, out, talk)
	}

	w.begin()
	code, out, talk = once("--exit-code")
	if code != cmdutil.ExitChanges || talk != "" || !regexp.MustCompile(`(?m)^dev: opened http\S+/kalypso/kalypso-gitops/pull/\d, 0 assignments of 0 deployment targets$`).MatchString(out) {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	merge()

	w.onboard()
	code, out, talk = once("-o", "json")
	var document rounds
	if err := json.Unmarshal([]byte(out), &document); code != cmdutil.ExitOK || talk != "" || err != nil {
		t.Fatalf("exit code %d, %q, %q: %v", code, out, talk, err)
	}
	dev := document.ControlPlanes[0].Environments[0]
	if dev.Name != "dev" || dev.Action != "opened" || dev.Assignments != 2 || !dev.Promotes || dev.Writes == 0 || dev.PullRequest == nil {
		t.Errorf("dev: %+v", dev)
	}
	if strings.Contains(out, ": null") {
		t.Errorf("there is null in\n%s", out)
	}
	merge()

	s.Calls()
	code, out, talk = once("--exit-code")
	want := "dev: nothing to do, 2 assignments of 2 deployment targets\nstage: nothing to do, 0 assignments of 0 deployment targets\n"
	if code != cmdutil.ExitOK || out != want || talk != "" {
		t.Errorf("in the end: exit code %d, %q, %q", code, out, talk)
	}
	for _, c := range s.Calls() {
		if c.Write() {
			t.Errorf("nothing was to be done, and it wrote: %s", c.Kind)
		}
	}
	got := map[string]map[string]string{"dev": plainFiles(s.Files(helloGitOps, "dev"), w.prefix), "stage": plainFiles(s.Files(helloGitOps, "stage"), w.prefix)}
	if diff := cmp.Diff(inMemory(t), got); diff != "" || got["dev"]["drone/hello-world-app-functional-test/reconciler.yaml"] == "" {
		t.Errorf("files (-in memory +GitHub):\n%s", diff)
	}
}

// TestSchedulerOnceReportsProblems is about its exit codes.
func TestSchedulerOnceReportsProblems(t *testing.T) {
	s, w := helloGitHub(t)
	w.begin()
	w.onboard()

	t.Log("an environment by its name; the others are left alone")
	code, out, talk := call(t, "scheduler", "once", "-e", "stage")
	if code != cmdutil.ExitOK || !strings.HasPrefix(out, "stage: ") || strings.Contains(out, "dev") || len(s.Pulls(helloGitOps)) != 1 {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	code, out, talk = call(t, "scheduler", "once", "-e", "deb")
	if code != cmdutil.ExitFailure || out != "" || !strings.Contains(talk, "dev, stage") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}

	t.Log("a problem is reported, and fails the step only where that is asked for")
	s.Push("kalypso/kalypso-control-plane", "stage", map[string]string{"broken.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: x}\nspec: 1\n"})
	code, out, _ = call(t, "scheduler", "once")
	if code != cmdutil.ExitOK || !strings.Contains(out, "\n  kalypso-control-plane@stage:broken.yaml:4") {
		t.Errorf("exit code %d, %q", code, out)
	}
	if code, out, _ = call(t, "scheduler", "once", "--exit-code"); code != cmdutil.ExitFailure {
		t.Errorf("exit code %d, %q", code, out)
	}

	t.Log("one environment fails, the other is published all the same")
	elsewhere := strings.ReplaceAll(s.Files("kalypso/kalypso-control-plane", "stage")["gitops-repo.yaml"], "/kalypso-gitops", "/nowhere")
	s.Push("kalypso/kalypso-control-plane", "stage", map[string]string{"broken.yaml": "", "gitops-repo.yaml": elsewhere})
	code, out, talk = call(t, "scheduler", "once")
	if code != cmdutil.ExitFailure || !strings.Contains(out, "dev: nothing to do, ") || !strings.Contains(out, "stage: failed\n") || !strings.Contains(talk, "kalypso: publishing environment stage: ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}

	t.Log("an account that may not")
	end := s.Fail(githubfake.Fault{
		On:    githubfake.Kinds("GET /repos/{owner}/{repo}/pulls"),
		Times: -1, Answer: githubfake.Status(http.StatusForbidden, "Resource not accessible by personal access token"),
	})
	code, out, talk = call(t, "scheduler", "once", "-e", "dev", "-o", "json")
	if code != cmdutil.ExitAuthentication || !strings.Contains(out, `"state": "error"`) || !strings.Contains(talk, "publishing environment dev: ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	end()

	t.Log("a token that is none")
	t.Setenv("GITHUB_TOKEN", "ghp_wrong")
	code, out, talk = call(t, "scheduler", "once")
	if code != cmdutil.ExitAuthentication || out != "" || strings.Contains(talk, "ghp_wrong") || !strings.Contains(talk, "reading the control plane: ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
}

// TestSchedulerOnceByFile needs no webhook secret.
func TestSchedulerOnceByFile(t *testing.T) {
	s, w := helloGitHub(t)
	w.begin()
	dir := t.TempDir()
	text := fmt.Sprintf("forge: {type: github, url: %q, tokenFile: token}\ncontrolPlane: {repo: %q}\npromoteTo: dev\n", s.URL, w.prefix+"kalypso-control-plane")
	for name, content := range map[string]string{"scheduler.yaml": text, "token": os.Getenv("GITHUB_TOKEN") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GITHUB_TOKEN", "")
	file := filepath.Join(dir, "scheduler.yaml")
	code, out, talk := call(t, "scheduler", "once", "--config", file, "--exit-code")
	if code != cmdutil.ExitChanges || talk != "" || !strings.Contains(out, "dev: opened ") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if code, _, talk := call(t, "scheduler", "run", "--config", file); code != cmdutil.ExitFailure || !strings.Contains(talk, file+":1: either webhookSecret or webhookSecretFile is needed") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

// rounds is what -o json prints.
type rounds struct{ ControlPlanes []controller.RunReport }
