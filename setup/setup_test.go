package setup_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/setup"
)

func TestInit(t *testing.T) {
	o := newOrganisation(t)
	o.FirstBranch("acme", "trunk") // so that the default branch is not main by itself
	synctest.Test(t, func(t *testing.T) {
		o.Calls()
		p, err := setup.Look(t.Context(), o.options(t))
		if err != nil {
			t.Fatal(err)
		}
		if kinds := o.written(); len(kinds) > 0 || len(o.Repos()) > 0 {
			t.Errorf("looking writes: %q", kinds)
		}
		if len(p.Missing) > 0 {
			t.Errorf("missing secrets %v", p.Missing)
		}
		if err := p.Do(t.Context(), func(setup.Step) {}); err != nil {
			t.Fatal(err)
		}
		state := o.state()
		for _, want := range []string{
			"acme/app: Source (made by kalypso init), private, topics [kalypso-init-hello-world], default main\n",
			"acme/control: Platform (made by kalypso init), private, topics [kalypso-init-hello-world], default main\n",
			"  environments [dev stage], next stage, secret \n",
			"  environments [], next , secret open sesame\n",
			"  hook {ID:0 URL:https://scheduler.example.com/webhook Secret:signed ContentType:json Events:[push create delete pull_request issues] Active:true}\n",
			"  pull request \"Add more\" from more to main, open\n",
			"[.github/tracking/Promoted_Commit_Id .github/workflows/w.yaml README.md]",
		} {
			if !strings.Contains(state, want) {
				t.Errorf("no %q in\n%s", want, state)
			}
		}
		if got := o.Files("acme/control", "dev")["base-repo.yaml"]; !strings.Contains(got, "commit: "+o.Branch("acme/control", "main")) {
			t.Errorf("dev is not pinned: %s", got)
		}
		pushes := 0
		for _, kind := range o.written() {
			if kind == "push" {
				pushes++
			}
		}
		if pushes != 3 {
			t.Errorf("%d pushes for three repositories", pushes)
		}

		t.Log("once more, what cannot be seen is set, and nothing else")
		if err := o.initialise(t); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"PATCH /repos/{owner}/{repo}/hooks/{id}", "PUT /repos/{owner}/{repo}/actions/secrets/{name}",
			"PATCH /repos/{owner}/{repo}/hooks/{id}", "PATCH /repos/{owner}/{repo}/hooks/{id}",
		}
		if diff := cmp.Diff(want, o.written()); diff != "" {
			t.Errorf("writes: %s", diff)
		}
		if diff := cmp.Diff(state, o.state()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestInitIsResumed cuts it off at every request that writes, before the
// request is carried out and after.
func TestInitIsResumed(t *testing.T) {
	whole := newOrganisation(t)
	whole.FirstBranch("acme", "trunk")
	var state string
	var kinds []string
	synctest.Test(t, func(t *testing.T) {
		whole.Calls()
		if err := whole.initialise(t); err != nil {
			t.Fatal(err)
		}
		state, kinds = whole.state(), whole.written()
	})
	for i, kind := range kinds {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s late=%t", i, kind, late), func(t *testing.T) {
				t.Parallel()
				o := newOrganisation(t)
				o.FirstBranch("acme", "trunk")
				synctest.Test(t, func(t *testing.T) {
					o.Fail(githubfake.Fault{On: githubfake.Call.Write, Skip: i, Late: late, Answer: githubfake.Reset()})
					first := o.initialise(t)
					// some that were carried out are known by looking
					if first == nil && !late {
						t.Error("it went well")
					}
					if err := o.initialise(t); err != nil {
						t.Errorf("after %v: %v", first, err)
					}
					if diff := cmp.Diff(state, o.state()); diff != "" {
						t.Errorf("after %v:\n%s", first, diff)
					}
				})
			})
		}
	}
	t.Logf("cut off at each of %d requests", len(kinds))
}

// TestInitTwiceAtOnce is about two people who begin at the same time.
func TestInitTwiceAtOnce(t *testing.T) {
	o := newOrganisation(t)
	synctest.Test(t, func(t *testing.T) {
		late, err := setup.Look(t.Context(), o.options(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.initialise(t); err != nil {
			t.Fatal(err)
		}
		state := o.state()
		if err := late.Do(t.Context(), func(setup.Step) {}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(state, o.state()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestInitRidesOut is about answers that a moment or a second run gets over.
func TestInitRidesOut(t *testing.T) {
	for name, answer := range map[string]githubfake.Answer{
		"secondary limit": githubfake.SecondaryLimit(60), "proxy": githubfake.BadGateway(), "half an answer": githubfake.Half(),
		"server error": githubfake.Status(http.StatusInternalServerError, "Server Error"), "slow": githubfake.Slow(20 * time.Second),
		"401": githubfake.Status(http.StatusUnauthorized, "Bad credentials"), "403": githubfake.Status(http.StatusForbidden, "Resource not accessible"),
		"404": githubfake.Status(http.StatusNotFound, "Not Found"), "409": githubfake.Status(http.StatusConflict, "Conflict"),
		"422": githubfake.Status(http.StatusUnprocessableEntity, "Validation Failed"),
	} {
		o := newOrganisation(t)
		synctest.Test(t, func(t *testing.T) {
			for skip := range 3 {
				o.Fail(githubfake.Fault{On: githubfake.Call.Write, Skip: skip * 5, Answer: answer})
			}
			var err error
			for range 4 {
				if err = o.initialise(t); err == nil {
					break
				}
			}
			if err != nil || strings.Count(o.state(), "topics [kalypso-init-hello-world]") != 3 {
				t.Errorf("%s: %v\n%s", name, err, o.state())
			}
		})
	}
}

// TestOthersRepositories stop everything.
func TestOthersRepositories(t *testing.T) {
	for name, test := range map[string]struct {
		others func(o *organisation)
		says   []string
	}{
		"a person's": {func(o *organisation) { o.Push("acme/gitops", "main", map[string]string{"a": "b"}) }, []string{"acme/gitops is there already"}},
		"two, in capital letters, one empty": {
			func(o *organisation) { o.Push("acme/App", "main", map[string]string{"a": "b"}); o.Repo("acme/gitops") },
			[]string{"acme/App is there already", "acme/gitops is there already"},
		},
		"of another workshop": {func(o *organisation) {
			o.Repo("acme/control")
			o.SetTopics("acme/control", "kalypso-init-basic-inference")
		}, []string{"acme/control was made by kalypso init for the workshop basic-inference", "--cleanup --workshop basic-inference"}},
	} {
		o := newOrganisation(t)
		test.others(o)
		before := o.state()
		o.Calls()
		err := o.initialise(t)
		var others *setup.NotOursError
		if !errors.As(err, &others) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, says := range test.says {
			if strings.Count(err.Error(), says) != 1 {
				t.Errorf("%s: it says %v, want once %q", name, err, says)
			}
		}
		if kinds := o.written(); len(kinds) > 0 || o.state() != before {
			t.Errorf("%s: it writes %q", name, kinds)
		}
	}
}

// TestHiddenRepository is one that only its name shows.
func TestHiddenRepository(t *testing.T) {
	o := newOrganisation(t)
	o.Repo("acme/control")
	o.Allow(o.owner, "acme/control", githubfake.None)
	if err := o.initialise(t); !errors.Is(err, github.ErrExists) || !strings.Contains(err.Error(), "acme/control") {
		t.Error(err)
	}
}

// TestPeoplesWorkStays is about a run after people have worked with it.
func TestPeoplesWorkStays(t *testing.T) {
	o := newOrganisation(t)
	synctest.Test(t, func(t *testing.T) {
		if err := o.initialise(t); err != nil {
			t.Fatal(err)
		}
		o.Push("acme/control", "main", map[string]string{"mine": "1"})
		o.DeleteBranch("acme/control", "dev")
		o.Merge("acme/app", 1)
		o.DeleteBranch("acme/app", "more")
		o.SetTopics("acme/gitops", "mine", setup.Mark("hello-world"))
		f := o.connect(t, o.owner.Token)
		if err := f.SetVariable(t.Context(), "acme/control", "dev", "NEXT", "qa"); err != nil {
			t.Fatal(err)
		}
		state := o.state()
		if err := o.initialise(t); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(state, o.state()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWhatCannotSucceed is told before anything is made.
func TestWhatCannotSucceed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *organisation, s *setup.Options)
		is     error
		says   string
	}{
		"no organisation": {func(_ *organisation, s *setup.Options) { s.Organisation = "nobody" }, nil, "organisation nobody: "},
		"a scope": {func(o *organisation, s *setup.Options) {
			s.Forge = o.connect(t, o.User("poor", "repo").Token)
		}, gitclient.ErrDenied, "lacks the scope workflow"},
		"a token that is none": {func(o *organisation, s *setup.Options) { s.Forge = o.connect(t, "ghp_none") }, gitclient.ErrDenied, "Bad credentials"},
		"the free plan":        {func(o *organisation, _ *setup.Options) { o.Plan("acme", "free") }, nil, "--visibility public"},
	} {
		o := newOrganisation(t)
		options := o.options(t)
		test.change(o, &options)
		_, err := setup.Look(t.Context(), options)
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if kinds := o.written(); len(kinds) > 0 {
			t.Errorf("%s: it writes %q", name, kinds)
		}
	}
}

// TestVisibility is who may see the repositories, and what GitHub refuses.
func TestVisibility(t *testing.T) {
	for plan, test := range map[string]struct {
		visibility github.Visibility
		says       string
	}{
		"free": {github.Public, ""}, "team": {github.Internal, "organizations associated with an enterprise"}, "enterprise": {github.Internal, ""},
	} {
		o := newOrganisation(t)
		o.Plan("acme", plan)
		options := o.options(t)
		options.Visibility, options.Webhook, options.Secrets = test.visibility, nil, nil
		p, err := setup.Look(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Missing); got != "[{acme/gitops DOOR}]" {
			t.Errorf("missing secrets %s", got)
		}
		synctest.Test(t, func(t *testing.T) {
			options.Forge = o.connect(t, o.owner.Token)
			if p, err = setup.Look(t.Context(), options); err != nil {
				t.Fatal(err)
			}
			err = p.Do(t.Context(), func(setup.Step) {})
		})
		if test.says != "" {
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", plan, err)
			}
			continue
		}
		// another visibility changes nothing of what is there
		if _, err := setup.Look(t.Context(), o.options(t)); plan == "free" && err != nil {
			t.Error(err)
		}
		if _, got := o.Description("acme/control"); err != nil || got != string(test.visibility) {
			t.Errorf("%s: it is %s, %v", plan, got, err)
		}
	}
}
