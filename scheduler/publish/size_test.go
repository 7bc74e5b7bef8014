package publish_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// TestTenThousandFiles opens, updates, holds and withdraws a plan of ten
// thousand files. forgefake refuses texts that a forge refuses.
func TestTenThousandFiles(t *testing.T) {
	large := func(version string) map[string]string {
		files := map[string]string{}
		for i := range 5000 {
			maps.Copy(files, pairFiles(fmt.Sprintf("type-%03d", i%200), fmt.Sprintf("%s-app%04d-dev", strings.Repeat("n", 40), i), version))
		}
		return files
	}
	w := newFixture(t, nil)
	r := w.apply(w.plan(large("1")))
	if r.Action != publish.Opened || !strings.Contains(r.PullRequest.Title, "add 5000 assignments") {
		t.Errorf("%s: %q", r.Action, r.PullRequest.Title)
	}
	for _, remainder := range []string{" more cluster types.\n", " more assignments.\n"} {
		if !strings.Contains(r.PullRequest.Body, remainder) {
			t.Errorf("the body says nothing of%s", remainder)
		}
	}
	if r := w.apply(w.plan(large("2"))); r.Action != publish.Updated {
		t.Errorf("action %q", r.Action)
	}
	w.forge.Merge(repo, 1)
	w.holds("dev", large("2"))
	if r := w.apply(w.plan(nil)); !r.Held {
		t.Error("not held")
	}
	if r := w.apply(w.plan(large("2"))); r.Action != publish.Withdrawn {
		t.Errorf("action %q", r.Action)
	}
}

// TestTextsAreBounded has everything that can be long be long at once.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("日本 text ", 20_000)
	w := newFixture(t, map[string]string{".github/tracking/Promoted_Commit_Id": long})
	want := map[string]string{".github/tracking/Promoted_Commit_Id": long + "2"}
	name := func(s string, i int) string { return fmt.Sprintf("%s-%03d", strings.Repeat(s, 240), i) }
	for i := range 300 {
		maps.Copy(want, pairFiles(name("c", i), name("t", i), "1"))
		want[name("f", i)+"/"+name("f", i)] = "x"
	}
	for i := range 300 {
		maps.Copy(want, pairFiles("a", name("t", i), "1"))
	}
	p := w.plan(want)
	for i := range p.Assignments {
		p.Assignments[i].Policies = []string{long, "b"}
	}
	for i := range 300 {
		problem := problem("", "", fmt.Sprint(i, long))
		problem.Position.File, problem.Hint = long, long
		p.Problems = append(p.Problems, problem)
	}
	for i := range 500 {
		p.Problems = append(p.Problems, problem("drone", "web-dev", fmt.Sprint(i, strings.Repeat("y", 200))))
	}
	p.Problems = append(p.Problems, problem(name("c", 1), name("t", 1), "x is required"))
	r := w.apply(p)
	for _, remainder := range []string{" more cluster types.\n", " more assignments.\n", " more files.\n", " more problems.\n", "<br>and "} {
		if !strings.Contains(r.PullRequest.Body, remainder) {
			t.Errorf("the body says nothing of %q", remainder)
		}
	}
	issues := ""
	for _, i := range r.Issues {
		issues += i.Body
	}
	if !strings.Contains(issues, " more findings.\n") || strings.Count(issues, " more problems.\n") != 1 {
		t.Error("the issues say nothing of more findings")
	}
	if n := len(r.PullRequest.Body); n < forgefake.MaxBody/2 {
		t.Errorf("the body has %d bytes: there is room for more", n)
	}
	w.apply(w.plan(nil))
}

// TestManyIssues opens one issue per assignment, however many there are.
func TestManyIssues(t *testing.T) {
	w := newFixture(t, nil)
	var problems []plan.Problem
	for i := range 300 {
		problems = append(problems, problem("drone", fmt.Sprintf("app%03d-dev", i), "x is required"))
	}
	if r := w.apply(w.plan(nil, problems...)); len(r.Issues) != 300 {
		t.Errorf("%d issues", len(r.Issues))
	}
	if r := w.apply(w.plan(nil, problems[1:]...)); len(r.Issues) != 299 || r.Writes != 2 {
		t.Errorf("%d issues, %d writes", len(r.Issues), r.Writes)
	}
}

// TestModelTextIsNoMarker makes sure that nobody who writes the platform model
// can pass for the scheduler.
func TestModelTextIsNoMarker(t *testing.T) {
	w := newFixture(t, nil)
	evil := problem("drone", "web-dev", "x\x00\xff\u0085\u2028\r\n<!-- kalypso:plan sha256=0 environment=dev -->\n<!-- kalypso:problem environment=dev -->")
	evil.Hint = evil.Message
	evil.Position.File = evil.Message
	p := w.plan(pairFiles("drone", "web-dev", "1"), evil)
	p.Assignments[0].Policies = []string{evil.Message}
	p.Changes = append(p.Changes, plan.Change{Path: "drone/\xff\n<!-- kalypso:plan -->", Action: plan.Add, Content: []byte("x")})
	w.apply(p)
	for _, text := range []string{w.forge.AllPullRequests(repo)[0].Body, w.forge.AllIssues(repo)[0].Body} {
		if n := strings.Count("\n"+text, "\n<!--"); n != 1 {
			t.Errorf("%d markers in\n%s", n, text)
		}
	}
}

// TestEmptyFileIsNoRemoval adds a file without content.
func TestEmptyFileIsNoRemoval(t *testing.T) {
	w := newFixture(t, nil)
	p := w.plan(nil)
	p.Changes = []plan.Change{{Path: "drone/web-dev/reconciler.yaml", Action: plan.Add}}
	w.apply(p)
	if files := w.forge.Files(repo, "kalypso/dev"); len(files) != 2 {
		t.Errorf("files %v", files)
	}
}

// TestTextsWithoutLinks is on a forge that does not know where files are shown.
func TestTextsWithoutLinks(t *testing.T) {
	w := newFixture(t, nil)
	elsewhere := problem("drone", "web-dev", "x is required")
	elsewhere.Position = model.Position{Repo: "http://elsewhere/acme/platform", Branch: "dev", File: "a.yaml", Line: 1}
	if _, err := publish.Apply(context.Background(), w.forge, w.plan(nil, elsewhere), options()); err != nil {
		t.Fatal(err)
	}
	if body := w.forge.AllIssues(repo)[0].Body; !strings.Contains(body, "- `platform@dev:a.yaml:1`: add it") {
		t.Errorf("body\n%s", body)
	}
	plain := struct{ forge.Forge }{w.forge} // has the methods of a forge and no other
	if _, err := publish.Apply(context.Background(), plain, w.plan(nil, problem("drone", "api-dev", "x")), options()); err != nil {
		t.Fatal(err)
	}
	if body := w.forge.AllIssues(repo)[1].Body; strings.Contains(body, "](") {
		t.Errorf("body\n%s", body)
	}
}
