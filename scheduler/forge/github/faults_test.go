package github_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// faults are what can happen to a request.
var faults = []struct {
	name   string
	late   bool // the request was carried out all the same
	answer githubfake.Answer
	every  bool // tried with every request, not with some
	git    bool // git's server can answer so, too
}{
	{"401 bad credentials", false, githubfake.Status(http.StatusUnauthorized, "Bad credentials"), false, true},
	{"403 no permission", false, githubfake.Status(http.StatusForbidden, "Resource not accessible by integration", "X-Accepted-GitHub-Permissions", "issues=write"), false, false},
	{"403 single sign-on", false, githubfake.Status(http.StatusForbidden, "Resource protected by organization SAML enforcement.", "X-GitHub-SSO", "required; url=https://github.com/orgs/acme/sso?authorization_request=AZSCKtL4"), false, false},
	{"403 primary limit", false, githubfake.PrimaryLimit(time.Now().Add(40 * time.Minute)), false, false},
	{"403 secondary limit, 7 s", false, githubfake.SecondaryLimit(7), false, false},
	{"403 secondary limit, it does not say how long", false, githubfake.SecondaryLimit(0), false, false},
	{"429 too many requests", false, githubfake.Status(http.StatusTooManyRequests, "Too many requests"), false, false},
	{"404 not found", false, githubfake.Status(http.StatusNotFound, "Not Found"), false, false},
	{"409 conflict", false, githubfake.Status(http.StatusConflict, "Conflict"), false, false},
	{"422 validation failed", false, githubfake.Status(http.StatusUnprocessableEntity, "Validation Failed"), false, false},
	{"500 server error", true, githubfake.Status(http.StatusInternalServerError, "Server Error"), true, true},
	{"502 of a proxy", false, githubfake.BadGateway(), false, true},
	{"connection reset before", false, githubfake.Reset(), false, true},
	{"connection reset after", true, githubfake.Reset(), true, true},
	{"half an answer", false, githubfake.Half(), true, true},
	{"slow answer", false, githubfake.Slow(300 * time.Millisecond), false, false},
}

func ofAPI(c githubfake.Call) bool { return c.API }

// story is a GitOps repository in which a pull request and an issue are opened,
// and later the one is updated and the other closed.
type story struct {
	*fixture
	plans [2]*plan.Plan
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{fixture: newFixture(t)}
	head := s.Push("acme/gitops", "dev", map[string]string{"README.md": "x"})
	for i, content := range []string{"1", "2"} {
		p := &plan.Plan{
			Environment: "dev", GitOps: model.Reference{Repo: s.URL + "/acme/gitops", Branch: "dev"}, GitOpsHead: head,
			Changes: []plan.Change{
				{Path: ".github/tracking/Promoted_Commit_Id", Action: plan.Add, Content: []byte(strings.Repeat("1", 40) + "\n")},
				{Path: "drone/web/namespace.yaml", Action: plan.Add, Content: []byte(content)},
			},
			Assignments: []plan.Assignment{{ClusterType: "drone", Target: "web", Policies: []string{"all"}}, {ClusterType: "large", Target: "web", Policies: []string{"all"}}},
		}
		if i == 0 {
			p.Problems = []plan.Problem{{Severity: model.Error, Reason: plan.TemplateFailed, ClusterType: "large", Target: "web", Message: "no value"}}
		}
		s.plans[i] = p
	}
	return s
}

// play publishes a plan until it is published, and returns what went wrong on
// the way. The scheduler itself would wait between two tries.
func (s *story) play(t *testing.T, p *plan.Plan) (wrong []error) {
	t.Helper()
	for range 4 {
		_, err := publish.Apply(t.Context(), s.forge, p, publish.Options{})
		if err == nil {
			return wrong
		}
		wrong = append(wrong, err)
	}
	t.Fatalf("not published after 4 tries: %v", wrong[len(wrong)-1])
	return nil
}

// end is what there is in the end, without the IDs.
func (s *story) end() string {
	var b strings.Builder
	for _, p := range s.Pulls("acme/gitops") {
		p.HeadSHA, p.Number = "", 0 // which of the two is opened first is chance
		fmt.Fprintf(&b, "%+v\n", p)
	}
	for _, i := range s.Issues("acme/gitops") {
		i.Number = 0
		fmt.Fprintf(&b, "%+v\n", i)
	}
	for _, branch := range []string{"dev", "kalypso/dev"} {
		files := s.Files("acme/gitops", branch)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&b, "%s %s %q\n", branch, path, files[path])
		}
		fmt.Fprintf(&b, "%s %q\n", branch, s.Log("acme/gitops", branch, "%an: %s"))
	}
	return ids.ReplaceAllString(b.String(), "ID")
}

// TestFaults lets every kind of fault happen to the API requests of a story, one
// at a time. In the end there is what there would be without it, once.
func TestFaults(t *testing.T) {
	want, requests := undisturbed(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			saw := map[string]int{} // what the user saw, and how often
			waited := map[time.Duration]int{}
			tries := 0
			for at := range requests {
				if step := map[bool]int{true: 1, false: 5}[f.every && !testing.Short()]; (at+2)%step != 0 && at != requests-1 {
					continue
				}
				s := newStory(t)
				s.forge.Impatient(func(d time.Duration) { waited[d.Round(time.Minute/60)]++ })
				s.Fail(githubfake.Fault{On: ofAPI, Skip: at, Late: f.late, Answer: f.answer})
				for _, p := range s.plans {
					wrong := s.play(t, p)
					tries += len(wrong)
					for _, err := range wrong {
						saw[shown(err)]++
						useful(t, s.bot.Token, err)
					}
				}
				if diff := cmp.Diff(want, s.end()); diff != "" {
					t.Errorf("request %d of %d: in the end (-want +got):\n%s", at, requests, diff)
				}
			}
			t.Logf("runs that failed and were made again: %d; waits: %v", tries, waited)
			for _, text := range slices.Sorted(maps.Keys(saw)) {
				t.Logf("%3d  %s", saw[text], text)
			}
		})
	}
}

// TestFaultsOfGit does the same to git.
func TestFaultsOfGit(t *testing.T) {
	want, _ := undisturbed(t)
	for _, kind := range []string{"refs", "fetch", "push"} {
		for _, f := range faults {
			if !f.git {
				continue
			}
			for skip := range map[string]int{"refs": 4, "fetch": 2, "push": 2}[kind] {
				s := newStory(t)
				s.Fail(githubfake.Fault{On: githubfake.Kinds(kind), Skip: skip, Late: f.late, Answer: f.answer})
				for _, p := range s.plans {
					for _, err := range s.play(t, p) {
						t.Logf("%s, %s: %s", kind, f.name, shown(err))
						useful(t, s.bot.Token, err)
					}
				}
				if diff := cmp.Diff(want, s.end()); diff != "" {
					t.Errorf("%s, %s: in the end (-want +got):\n%s", kind, f.name, diff)
				}
			}
		}
	}
}

// undisturbed plays the story and returns its end and how many API requests it
// took.
func undisturbed(t *testing.T) (end string, requests int) {
	t.Helper()
	s := newStory(t)
	for _, p := range s.plans {
		if wrong := s.play(t, p); wrong != nil {
			t.Fatal(wrong)
		}
	}
	_, requests = githubfake.Count(s.Calls())
	end = s.end()
	for _, part := range []string{"State:open", "Labels:[promoted]", "State:closed", "[The problem is gone. Closing.]"} {
		if !strings.Contains(end, part) {
			t.Fatalf("there is no %s in\n%s", part, end)
		}
	}
	return end, requests
}

// shown is an error without what differs from run to run.
func shown(err error) string {
	text := ids.ReplaceAllString(err.Error(), "ID")
	for _, cut := range []string{"127.0.0.1:"} {
		for {
			i := strings.Index(text, cut)
			if i < 0 {
				break
			}
			j := i + len(cut)
			for j < len(text) && text[j] >= '0' && text[j] <= '9' {
				j++
			}
			text = text[:i] + "HOST" + text[j:]
		}
	}
	return text
}

// useful holds an error to what it is for: it says what to do, and no secret.
func useful(t *testing.T, token string, err error) {
	t.Helper()
	secret(t, token, err)
	var refused *github.Error
	var limit *github.LimitError
	switch {
	case errors.Is(err, forge.ErrMoved): // nothing for a user: the scheduler plans again
	case errors.As(err, &refused) && refused.Hint == "":
		t.Errorf("this does not say what to do: %v", err)
	case errors.As(err, &refused), errors.As(err, &limit):
	case !strings.Contains(err.Error(), "githubstatus.com") && !strings.Contains(err.Error(), "check "):
		t.Errorf("this does not say what to do: %v", err)
	}
}

func secret(t *testing.T, token string, err error) {
	t.Helper()
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), token) {
		t.Error("an error holds the token")
	}
}

// TestLimitsAreObeyed waits for real.
func TestLimitsAreObeyed(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	var waits []github.Wait
	f := w.connect(t, github.Options{User: w.bot.Login, Waiting: func(wait github.Wait) { waits = append(waits, wait) }})
	start := time.Now()
	w.Fail(githubfake.Fault{Answer: githubfake.SecondaryLimit(3)})
	if _, err := f.Issues(t.Context(), "acme/gitops"); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < 3*time.Second || len(waits) != 1 || waits[0].Request != "GET /api/v3/repos/acme/gitops/issues" || !strings.Contains(waits[0].Reason, "secondary") {
		t.Errorf("after %s, reported %+v", took, waits)
	}

	// a limit that outlasts the caller is an error at once, and nothing is sent
	w.SetRate(0, time.Now().Add(20*time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w.Calls()
	for range 3 {
		var limit *github.LimitError
		_, err := f.Statuses(ctx, "acme/gitops", strings.Repeat("1", 40))
		if !errors.As(err, &limit) || time.Until(limit.Until) < 19*time.Minute {
			t.Errorf("error %v", err)
		}
	}
	if calls := w.Calls(); len(calls) != 1 {
		t.Errorf("%d requests against a limit that was known", len(calls))
	}
	if b := f.Budget(); b.Limit != 5000 || b.Remaining != 0 || b.Requests == 0 {
		t.Errorf("budget %+v", b)
	}
}

// TestGivingUp ends a call with its context, whatever it waits for.
func TestGivingUp(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	f := w.connect(t, github.Options{User: w.bot.Login})
	w.Fail(githubfake.Fault{Answer: githubfake.Slow(10 * time.Second)})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := f.Issues(ctx, "acme/gitops"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
}
