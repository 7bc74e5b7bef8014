package engine

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scenarios"
)

// scenarioFile is a file of the first scenario, filled in.
func scenarioFile(t *testing.T, name string, w Access) string {
	t.Helper()
	text, err := tutorial("basic-inference").Source("onboard-app")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse(text).Files {
		if f.Name == name {
			return strings.ReplaceAll(string(f.Data), "https://github.com/YOUR_ORG", w.OrgURL())
		}
	}
	t.Fatalf("the scenario has no file %s", name)
	return ""
}

// onboardForge has the application that the first scenario is about.
func onboardForge(t *testing.T) *fakeForge {
	t.Helper()
	f := newFakeForge(t)
	f.Create("kalypso/basic-inference-orchestration", "main").Push("main", map[string]string{"workload/workload.yaml": scenarioFile(t, "workload.yaml", f.access())})
	return f
}

// runOnboard runs the first scenario with short waits.
func runOnboard(t *testing.T, w Access) (scenarios.Result, *scenarios.CheckError) {
	t.Helper()
	text, err := tutorial("basic-inference").Source("onboard-app")
	if err != nil {
		t.Fatal(err)
	}
	quick := strings.NewReplacer(" 10s ", " 400ms ", " 30s ", " 400ms ", " 60s ", " 400ms ").Replace(string(text))
	return runText(t, w, quick)
}

// runText runs a scenario that is not in the library.
func runText(t *testing.T, w Access, text string) (scenarios.Result, *scenarios.CheckError) {
	t.Helper()
	r, err := Run(t.Context(), Options{Name: "script", Access: w, Library: library(fstest.MapFS{
		"test/order":        {Data: []byte("script\n")},
		"test/script.txtar": {Data: []byte(text)},
	})})
	var check *scenarios.CheckError
	if err != nil && !errors.As(err, &check) {
		t.Fatalf("%v is no CheckError", err)
	}
	return r, check
}

func TestOnboardApp(t *testing.T) {
	t.Parallel()
	f := onboardForge(t)
	// what Gitea answers while it works out whether there are conflicts
	f.Fail(giteafake.Fault{Times: 2, Answer: httpfault.Text(http.StatusMethodNotAllowed, "application/json", `{"message":"Please try again later"}`),
		On: func(q *http.Request) bool { return strings.HasSuffix(q.URL.Path, "/merge") }})
	var titles []string
	r, err := Run(t.Context(), Options{Library: tutorial("basic-inference"), Name: "onboard-app", Access: f.access(), Report: func(e scenarios.Event) {
		if e.Kind == scenarios.StepEnds {
			titles = append(titles, e.Step.Title)
		}
	}})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Steps[len(r.Steps)-1].Output)
	}
	if r.State != scenarios.Passed || len(titles) != len(r.Steps) || len(r.Steps) != 9 {
		t.Errorf("state %s, %d steps of which %d were reported", r.State, len(r.Steps), len(titles))
	}
	for _, s := range r.Steps {
		if s.State != scenarios.Passed || s.Output != "" || s.Note != "" {
			t.Errorf("step %+v", s)
		}
	}
	if len(r.Measurements) != 2 || r.Measurements[0].Took <= 0 || r.Measurements[1].Took <= 0 {
		t.Errorf("measured %v", r.Measurements)
	}

	heads := func() string {
		return f.control.Git("show-ref") + f.gitops.Git("show-ref")
	}
	before := heads()
	again, err := Run(t.Context(), Options{Library: tutorial("basic-inference"), Name: "onboard-app", Access: f.access()})
	if err != nil {
		t.Fatalf("second run: %v", err)
	}
	if heads() != before || len(f.gitops.Pulls) != 1 {
		t.Error("the second run has changed something")
	}
	if len(again.Measurements) != 0 {
		t.Errorf("the second run has measured %v", again.Measurements)
	}
	for _, i := range []int{1, 2, 7} {
		if !strings.HasPrefix(again.Steps[i].Note, "done already") {
			t.Errorf("note of %q is %q", again.Steps[i].Title, again.Steps[i].Note)
		}
	}
}

func TestOnboardAppAfterInterruption(t *testing.T) {
	t.Parallel()
	f := onboardForge(t)
	f.control.Push("main", map[string]string{
		"workloads/basic-inference-workload-registration.yaml": scenarioFile(t, "registration.yaml", f.access()),
	})
	f.schedule("kalypso/"+controlPlane, nil)
	r, err := runOnboard(t, f.access())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Measurements) != 1 || r.Measurements[0].Name != "merge to applied" {
		t.Errorf("measured %v", r.Measurements)
	}
	if !f.gitops.Pulls[0].HasMerged {
		t.Error("not merged")
	}
}

// Each check fails when what it is for has not come about.
func TestOnboardAppFails(t *testing.T) {
	const folder = "dev/basic-inference-dev/"
	schedule := func(changed map[string]string) func(*fakeForge, string) {
		return func(f *fakeForge, repo string) { f.schedule(repo, changed) }
	}
	changed := func(name, from, to string) func(*fakeForge, string) {
		return func(f *fakeForge, repo string) {
			content := scenarioFile(f.t, name, f.access())
			if !strings.Contains(content, from) {
				f.t.Errorf("%s has no %q", name, from)
			}
			schedule(map[string]string{folder + name: strings.Replace(content, from, to, 1)})(f, repo)
		}
	}
	tests := []struct {
		name      string
		scheduler func(*fakeForge, string)
		cluster   bool // follows the repository
		step      int
		reason    string
	}{
		{"no scheduler", func(*fakeForge, string) {}, true, 2, "not within 400ms: there is none"},
		{"nothing assigned", schedule(map[string]string{folder + "namespace.yaml": "", folder + "platform-config.yaml": "", folder + "reconciler.yaml": ""}), true, 2,
			"#1 (Kalypso: dev: change) is open, but does not change dev/basic-inference-dev/namespace.yaml"},
		{"a file too few", schedule(map[string]string{folder + "reconciler.yaml": ""}), true, 2, "does not change dev/basic-inference-dev/reconciler.yaml"},
		{"a file too many", schedule(map[string]string{"qa/x.yaml": "x"}), true, 2, "changes qa/x.yaml, which it should not"},
		{"another label", changed("namespace.yaml", `workspace: "edge-ai"`, `workspace: "edge"`), true, 3, `metadata.labels.workspace is "edge" instead of "edge-ai"`},
		{"no service account", changed("namespace.yaml", "kind: ServiceAccount", "kind: Role"), true, 3, "ServiceAccount basic-inference-dev/basic-inference-sa: missing"},
		{"another value", changed("platform-config.yaml", "ENVIRONMENT: Dev", "ENVIRONMENT: Qa"), true, 4, `data.ENVIRONMENT is "Qa" instead of "Dev"`},
		{"no string", changed("platform-config.yaml", `"true"`, `true`), true, 4, `SOME_DEV_ENVIRONMENT_VARIABLE is true instead of "true"`},
		{"another field", changed("reconciler.yaml", "  prune: true", "  prune: true\n  wait: true"), true, 5, "spec.wait is true, should not be there"},
		{"another repository", changed("reconciler.yaml", "inference-orchestration-gitops", "gitops"), true, 5, "spec.url is"},
		{"another commit", schedule(map[string]string{".github/tracking/Promoted_Commit_Id": strings.Repeat("0", 40) + "\n"}), true, 6, "does not contain"},
		{"no cluster", schedule(nil), false, 8, `Error from server (NotFound): "Namespace basic-inference-dev" not found`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := onboardForge(t)
			f.OnPush = func(repo string) { test.scheduler(f, repo) }
			w := f.access()
			if !test.cluster {
				other := f.Create("kalypso/other", "dev")
				other.Push("dev", map[string]string{"README.md": "nothing\n"})
				// the scheduler's files are made by access, which writes the kubeconfig
				w.Kubeconfig = filepath.Join(f.home, "other-kubeconfig")
				writeFile(t, f.home, "other-kubeconfig", other.Dir)
			}
			r, err := runOnboard(t, w)
			if err == nil {
				t.Fatal("the scenario passes")
			}
			for i, s := range r.Steps {
				want := scenarios.Passed
				if i == test.step {
					want = scenarios.Failed
				} else if i > test.step {
					want = scenarios.Skipped
				}
				if s.State != want {
					t.Errorf("step %d, %s, is %s, want %s: %s", i, s.Title, s.State, want, s.Output)
				}
			}
			if !strings.Contains(err.Reason, test.reason) {
				t.Errorf("the reason is %q, want %q in it", err.Reason, test.reason)
			}
			if len(f.gitops.Pulls) > 0 && f.gitops.Pulls[0].HasMerged != (test.step > 7) {
				t.Errorf("merged: %v", f.gitops.Pulls[0].HasMerged)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := onboardForge(t)
	f.OnPush = nil
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	r, err := Run(ctx, Options{Library: tutorial("basic-inference"), Name: "onboard-app", Access: f.access(), Report: func(e scenarios.Event) {
		if e.Kind == scenarios.StepWaits {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("ended after %s", took)
	}
	if r.Steps[2].State != scenarios.Failed {
		t.Errorf("step 3 is %s", r.Steps[2].State)
	}
}

func TestRunAllStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	f := newFakeForge(t)
	head := "# Title\n#\n# Persona: platform team\n\n"
	files := fstest.MapFS{
		"w/order":       {Data: []byte("one\ntwo\nthree\n")},
		"w/one.txtar":   {Data: []byte(head + "step A\nexec true\n")},
		"w/two.txtar":   {Data: []byte(head + "step B\nexec false\n")},
		"w/three.txtar": {Data: []byte(head + "step C\nexec true\n")},
	}
	results, err := RunAll(t.Context(), Options{Access: f.access(), Library: library(files)}, []string{"one", "two", "three"})
	var check *scenarios.CheckError
	if !errors.As(err, &check) || check.Scenario != "two" || check.Step != "B" {
		t.Errorf("error %v", err)
	}
	var states []scenarios.State
	for _, r := range results {
		states = append(states, r.State)
	}
	if len(states) != 3 || states[0] != scenarios.Passed || states[1] != scenarios.Failed || states[2] != scenarios.Skipped {
		t.Errorf("states %v", states)
	}
}
