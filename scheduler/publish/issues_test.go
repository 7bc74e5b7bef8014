package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

const (
	gone  = "kalypso-bot: The problem is gone. Closing."
	again = "kalypso-bot: The problem is back."
)

func TestIssues(t *testing.T) {
	w := newFixture(t, nil)
	r := w.apply(w.plan(nil, problem("drone", "web-dev", "inference_url is required"), problem("drone", "web-dev", "port is required")))
	w.issuesAre("#1 open Can't generate manifests for deployment target web-dev in cluster type drone in dev environment")
	if len(r.Issues) != 1 {
		t.Errorf("result has %d issues", len(r.Issues))
	}
	body, _, _ := strings.Cut(w.forge.AllIssues(repo)[0].Body, "<!--")
	want := `Config data validation failed:

- ` + "`inference_url`" + ` is required
- port is required

Where to fix it:

- [` + "`platform@dev:config.yaml:3`" + `](http://forge.test/acme/platform/src/branch/dev/config.yaml#L3): add it to a platform config

`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}

	w.apply(w.plan(nil, problem("drone", "web-dev", "port is required"), problem("drone", "api-dev", "x is required")))
	w.issuesAre("#1 open "+issueTitle("web-dev"), "#2 open "+issueTitle("api-dev"))
	if body := w.forge.AllIssues(repo)[0].Body; strings.Contains(body, "inference_url") {
		t.Errorf("not updated in place:\n%s", body)
	}
	w.comments(1)

	if r := w.apply(w.plan(nil, problem("drone", "api-dev", "x is required"))); len(r.Issues) != 1 || r.Issues[0].Number != 2 {
		t.Errorf("result has issues %+v", r.Issues)
	}
	w.issuesAre("#1 closed "+issueTitle("web-dev"), "#2 open "+issueTitle("api-dev"))
	w.comments(1, gone)

	w.apply(w.plan(nil, problem("drone", "web-dev", "port is required"), problem("drone", "api-dev", "x is required")))
	w.issuesAre("#1 open "+issueTitle("web-dev"), "#2 open "+issueTitle("api-dev"))
	w.comments(1, gone, again)
}

// TestIssueOfEveryReason has what goes wrong beside schemas reported the same
// way.
func TestIssueOfEveryReason(t *testing.T) {
	for _, reason := range []plan.Reason{plan.InvalidConfig, plan.InvalidSchema, plan.UnknownTemplate, plan.TemplateFailed, plan.InvalidName, plan.InvalidText} {
		t.Run(string(reason), func(t *testing.T) {
			w := newFixture(t, nil)
			p := problem("drone", "web-dev", "it is wrong")
			p.Reason = reason
			w.apply(w.plan(nil, p))
			w.issuesAre("#1 open " + issueTitle("web-dev"))
			heading := "Generating the manifests failed:"
			if reason == plan.InvalidConfig {
				heading = "Config data validation failed:"
			}
			if body := w.forge.AllIssues(repo)[0].Body; !strings.HasPrefix(body, heading+"\n\n- it is wrong\n\nWhere to fix it:\n\n- [") {
				t.Errorf("body\n%s", body)
			}
		})
	}
}

// TestIssueClosedByUser closes an issue whose problem remains: it stays
// closed while the findings are the same, wherever they stand.
func TestIssueClosedByUser(t *testing.T) {
	x := problem("drone", "web-dev", "x is required")
	start := func(t *testing.T) *fixture {
		w := newFixture(t, nil)
		w.apply(w.plan(nil, x))
		w.forge.EditIssue(repo, 1, func(i *forge.Issue) { i.State = forge.Closed })
		if r := w.apply(w.plan(nil, x)); r.Writes > 0 || len(r.Issues) > 0 {
			t.Errorf("same findings: %+v", r)
		}
		w.issuesAre("#1 closed " + issueTitle("web-dev"))
		return w
	}
	t.Run("findings move", func(t *testing.T) {
		w := start(t)
		moved := x
		moved.Position.Line = 77
		w.apply(w.plan(nil, moved))
		w.issuesAre("#1 closed " + issueTitle("web-dev"))
		w.comments(1)
	})
	t.Run("findings change", func(t *testing.T) {
		w := start(t)
		w.apply(w.plan(nil, problem("drone", "web-dev", "y is required")))
		w.issuesAre("#1 open " + issueTitle("web-dev"))
		w.comments(1, again)
	})
	t.Run("findings go and come back", func(t *testing.T) {
		w := start(t)
		w.apply(w.plan(nil))
		w.comments(1) // a user closed it; there is nothing to say
		w.apply(w.plan(nil, x))
		w.issuesAre("#1 open " + issueTitle("web-dev"))
		w.comments(1, again)
	})
	t.Run("the model breaks meanwhile", func(t *testing.T) {
		w := start(t)
		broken := w.plan(nil)
		broken.Incomplete = true
		if r := w.apply(broken); r.Writes > 0 {
			t.Errorf("%d writes", r.Writes)
		}
		w.apply(w.plan(nil, x))
		w.issuesAre("#1 closed " + issueTitle("web-dev"))
	})
}

// TestIncompleteModelClosesNoIssue plans without an assignment that may be in
// the part of the model that cannot be read.
func TestIncompleteModelClosesNoIssue(t *testing.T) {
	w := newFixture(t, nil)
	w.apply(w.plan(nil, problem("drone", "web-dev", "a is required")))
	broken := plan.Problem{Reason: plan.InvalidModel, Severity: model.Error, Message: "not valid YAML"}
	if r := w.apply(w.plan(nil, broken)); len(r.Issues) != 2 || r.Issues[0].State != forge.Open || r.Issues[0].Title != issueTitle("web-dev") {
		t.Errorf("issues %+v", r.Issues)
	}
	if r := w.apply(w.plan(nil)); len(r.Issues) != 0 {
		t.Errorf("issues %+v", r.Issues)
	}
}

// TestModelIssue opens one issue about all that is wrong with the model and about no
// single assignment, also where there is no pull request to say it.
func TestModelIssue(t *testing.T) {
	const title = "Can't use all of the platform model in dev environment"
	w := newFixture(t, nil)
	broken := problem("", "", "not valid YAML: x_y")
	broken.Reason = plan.InvalidModel
	other := problem("", "web-dev", "two deployment targets have this name")
	warning := problem("", "", "no effect")
	warning.Severity = model.Warning
	w.apply(w.plan(nil, broken, other, warning))
	w.issuesAre("#1 open " + title)
	body := w.forge.AllIssues(repo)[0].Body
	for _, text := range []string{"not valid YAML: `x_y`", "two deployment targets", "config.yaml#L3"} {
		if !strings.Contains(body, text) {
			t.Errorf("the issue says nothing of %s:\n%s", text, body)
		}
	}
	if strings.Contains(body, warning.Message) {
		t.Errorf("the issue is about a warning:\n%s", body)
	}
	if r := w.apply(w.plan(nil, broken, other, warning)); r.Writes != 0 {
		t.Errorf("%d writes", r.Writes)
	}
	w.forge.EditIssue(repo, 1, func(i *forge.Issue) { i.Body = "" })
	w.apply(w.plan(nil, broken, warning))
	w.issuesAre("#1 open " + title)
	incomplete := w.plan(nil, warning)
	incomplete.Incomplete = true // a file is empty
	w.apply(incomplete)
	w.issuesAre("#1 closed " + title)
	w.comments(1, gone)
}

// TestIssuesAreFoundAgain starts with a forge that has a history and a
// scheduler that has none.
func TestIssuesAreFoundAgain(t *testing.T) {
	x := problem("drone", "web-dev", "x is required")
	for name, edit := range map[string]func(*forge.Issue){
		"as it was":         func(*forge.Issue) {},
		"title edited":      func(i *forge.Issue) { i.Title = "mine" },
		"body edited":       func(i *forge.Issue) { i.Body = "I look into this\r\n\r\n" + i.Body + "\r\nmore\r\n" },
		"marker in between": func(i *forge.Issue) { i.Body = strings.ReplaceAll(i.Body, "\n", "\r\n") + "\r\nmore" },
		"marker removed":    func(i *forge.Issue) { i.Body = "fixed soon" },
		"body removed":      func(i *forge.Issue) { i.Body = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, nil)
			w.apply(w.plan(nil, x))
			want := w.forge.AllIssues(repo)[0]
			for i := range 120 { // more than a page of others, older and newer
				w.forge.OpenIssue(repo, "ann", fmt.Sprint("theirs ", i), want.Body)
			}
			w.forge.EditIssue(repo, 1, edit)
			w.apply(w.plan(nil, x))
			if diff := cmp.Diff(want, w.forge.AllIssues(repo)[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			w.apply(w.plan(nil))
			open := 0
			for _, i := range w.forge.AllIssues(repo) {
				if i.State == forge.Open {
					open++
				}
			}
			if n := len(w.forge.AllIssues(repo)); n != 121 || open != 120 {
				t.Errorf("%d issues, %d of them open", n, open)
			}
		})
	}
}

// TestUsersIssuesAreLeftAlone has users open issues that look like ours to
// the last character.
func TestUsersIssuesAreLeftAlone(t *testing.T) {
	w := newFixture(t, nil)
	x := problem("drone", "web-dev", "x is required")
	w.apply(w.plan(nil, x))
	ours := w.forge.AllIssues(repo)[0]
	w.forge.OpenIssue(repo, "ann", ours.Title, ours.Body)
	w.forge.OpenIssue(repo, "ann", "quoting", "> "+ours.Body)
	w.forge.OpenIssue(repo, "ann", issueTitle("api-dev"), "mine")
	w.forge.OpenIssue(repo, forgefake.Account, "by the scheduler's account, for users", "no marker")
	w.forge.CommentByUser(repo, 1, "ann", "I look into this")
	foreign := w.forge.AllIssues(repo)[1:]

	w.apply(w.plan(nil, x, problem("drone", "api-dev", "x is required")))
	w.apply(w.plan(nil, problem("drone", "web-dev", "y is required")))
	w.apply(w.plan(nil))
	all := w.forge.AllIssues(repo)
	if diff := cmp.Diff(foreign, all[1:len(foreign)+1]); diff != "" {
		t.Errorf("users' issues (-before +after):\n%s", diff)
	}
	if len(all) != len(foreign)+2 {
		t.Errorf("%d issues", len(all))
	}
	for _, i := range foreign {
		w.comments(i.Number)
	}
	w.comments(1, "ann: I look into this", gone)
}

// TestDoubledIssuesAreMended has two issues for one assignment, as two
// schedulers that do not know of each other make them.
func TestDoubledIssuesAreMended(t *testing.T) {
	x := problem("drone", "web-dev", "x is required")
	start := func(t *testing.T) *fixture {
		w := newFixture(t, nil)
		w.apply(w.plan(nil, x))
		twin := w.forge.AllIssues(repo)[0]
		w.forge.OpenIssue(repo, forgefake.Account, twin.Title, twin.Body)
		return w
	}
	t.Run("the younger is closed", func(t *testing.T) {
		w := start(t)
		w.apply(w.plan(nil, x))
		w.issuesAre("#1 open "+issueTitle("web-dev"), "#2 closed "+issueTitle("web-dev"))
		w.comments(1)
		w.comments(2, "kalypso-bot: This repeats #1. Closing.")

		// A user's closing of the one that is left counts, too.
		w.forge.EditIssue(repo, 1, func(i *forge.Issue) { i.State = forge.Closed })
		w.apply(w.plan(nil, x))
		w.issuesAre("#1 closed "+issueTitle("web-dev"), "#2 closed "+issueTitle("web-dev"))
	})
	t.Run("both are closed when the problem is gone", func(t *testing.T) {
		w := start(t)
		w.apply(w.plan(nil))
		w.issuesAre("#1 closed "+issueTitle("web-dev"), "#2 closed "+issueTitle("web-dev"))
		w.comments(1, gone)
		w.comments(2, gone)
	})
	t.Run("a user closes both", func(t *testing.T) {
		w := start(t)
		for n := range 2 {
			w.forge.EditIssue(repo, n+1, func(i *forge.Issue) { i.State = forge.Closed })
		}
		w.apply(w.plan(nil, x))
		w.issuesAre("#1 closed "+issueTitle("web-dev"), "#2 closed "+issueTitle("web-dev"))
		w.apply(w.plan(nil))
		w.apply(w.plan(nil, x))
		w.issuesAre("#1 closed "+issueTitle("web-dev"), "#2 open "+issueTitle("web-dev"))
	})
}

// TestTwoSchedulersRace runs two schedulers that both look before either has
// written.
func TestTwoSchedulersRace(t *testing.T) {
	w := newFixture(t, nil)
	p := w.plan(pairFiles("drone", "api-dev", "1"), problem("drone", "web-dev", "x is required"))
	var looked, both sync.WaitGroup
	looked.Add(2)
	w.forge.OnCall(func(c forgefake.Call) {
		if c.Method == "SaveIssue" || c.Method == "Commit" {
			both.Wait()
		}
	})
	both.Add(1)
	var ended sync.WaitGroup
	errs := make([]error, 2)
	for i := range 2 {
		ended.Go(func() {
			f := &looker{Forge: w.forge, looked: looked.Done}
			_, errs[i] = publish.Apply(context.Background(), f, p, options())
		})
	}
	looked.Wait()
	both.Done()
	ended.Wait()
	w.forge.OnCall(nil)
	if n := len(w.forge.AllIssues(repo)); n != 2 {
		t.Fatalf("%d issues (%v): there was no race", n, errs)
	}
	w.apply(p)
	w.pulls("#" + fmt.Sprint(w.forge.AllPullRequests(repo)[0].Number) + " kalypso-bot open")
	older, younger := w.forge.AllIssues(repo)[0], w.forge.AllIssues(repo)[1]
	if older.State != forge.Open || younger.State != forge.Closed {
		t.Errorf("issues %+v", w.forge.AllIssues(repo))
	}
	w.comments(younger.Number, fmt.Sprintf("kalypso-bot: This repeats #%d. Closing.", older.Number))
}

// looker is a forge that reports when its issues have been listed.
type looker struct {
	forge.Forge
	looked func()
}

func (l *looker) Issues(ctx context.Context, repo string) ([]forge.Issue, error) {
	defer l.looked()
	return l.Forge.Issues(ctx, repo)
}

func TestWarningsOpenNoIssue(t *testing.T) {
	w := newFixture(t, nil)
	p := problem("drone", "web-dev", "name is long")
	p.Severity = model.Warning
	w.apply(w.plan(nil, p))
	w.issuesAre()
}

// TestPullRequestAndIssuesAreIndependent has the one fail and the other
// brought up to date.
func TestPullRequestAndIssuesAreIndependent(t *testing.T) {
	for _, broken := range []string{"PullRequests", "Issues"} {
		t.Run(broken, func(t *testing.T) {
			w := newFixture(t, nil)
			w.forge.FailOn(func(c forgefake.Call) bool { return c.Method == broken }, 1, forgefake.Before)
			p := w.plan(pairFiles("drone", "api-dev", "1"), problem("drone", "web-dev", "x is required"))
			if _, err := publish.Apply(context.Background(), w.forge, p, options()); !errors.Is(err, forgefake.ErrInjected) {
				t.Errorf("error %v", err)
			}
			if n := len(w.forge.AllIssues(repo)) + len(w.forge.AllPullRequests(repo)); n != 1 {
				t.Errorf("%d of both", n)
			}
		})
	}
}
