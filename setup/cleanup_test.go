package setup_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/setup"
)

var hello = []string{"hello-world"}

func (o *organisation) found(t *testing.T, workshops []string) []setup.Made {
	t.Helper()
	made, err := setup.Find(t.Context(), o.connect(t, o.owner.Token), "acme", workshops)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func losses(made []setup.Made) []string {
	var all []string
	for _, m := range made {
		all = append(all, m.Name+": "+m.Loss())
	}
	return all
}

// TestFind is about exactly what was made, with what people lose.
func TestFind(t *testing.T) {
	o := newOrganisation(t)
	o.Push("acme/others", "main", map[string]string{"a": "b"})
	o.Push("acme/copied", "main", map[string]string{"a": "b"})
	o.SetTopics("acme/copied", "kalypso-init", "kalypso-init-something")
	synctest.Test(t, func(t *testing.T) {
		if got := o.found(t, hello); len(got) > 0 {
			t.Errorf("found %+v", got)
		}
		if err := o.initialise(t); err != nil {
			t.Fatal(err)
		}
		want := []string{"acme/app: 1 open issue or pull request", "acme/control: as it was made", "acme/gitops: as it was made"}
		if diff := cmp.Diff(want, losses(o.found(t, hello))); diff != "" {
			t.Error(diff)
		}
		if got := o.found(t, []string{"basic-inference"}); len(got) > 0 {
			t.Errorf("of another workshop: %+v", got)
		}

		t.Log("people work with it, rename one and keep one")
		o.Push("acme/control", "main", map[string]string{"mine": "1"})
		o.Push("acme/control", "main", map[string]string{"mine": "2"})
		o.Push("acme/control", "dev", map[string]string{"mine": "1"})
		o.Rename("acme/control", "platform")
		o.Merge("acme/app", 1)
		o.OpenIssue(o.owner, "acme/app", "t", "b")
		o.OpenIssue(o.owner, "acme/app", "t", "b")
		o.SetTopics("acme/gitops")
		for i := range 120 {
			o.Push("acme/app", "kalypso/dev", map[string]string{"f": fmt.Sprint(i)})
		}
		o.Calls()
		made := o.found(t, hello)
		want = []string{
			"acme/app: more than 101 commits since then (kalypso/dev 100, main 1), 2 open issues and pull requests",
			"acme/platform: 3 commits since then (dev 1, main 2)",
		}
		if diff := cmp.Diff(want, losses(made)); diff != "" {
			t.Error(diff)
		}
		if kinds := o.written(); len(kinds) > 0 {
			t.Errorf("it writes %q", kinds)
		}

		t.Log("while the list is read one is made anew, and one gets its mark taken off")
		forge := o.connect(t, o.owner.Token)
		o.SetTopics("acme/app")
		if err := made[0].Delete(t.Context(), forge); err == nil || !strings.Contains(err.Error(), "acme/app is no more what was shown") {
			t.Error(err)
		}
		for range 2 {
			if err := made[1].Delete(t.Context(), forge); err != nil {
				t.Error(err)
			}
		}
		o.Push("acme/platform", "main", map[string]string{"a": "b"})
		o.SetTopics("acme/platform", setup.Mark("hello-world"))
		if err := made[1].Delete(t.Context(), forge); err == nil {
			t.Error("another repository of that name is deleted")
		}
		if diff := cmp.Diff([]string{"acme/app", "acme/copied", "acme/gitops", "acme/others", "acme/platform"}, o.Repos()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCleanUpIsResumed cuts init off in the middle, cleans up, which is cut off
// too, and begins again.
func TestCleanUpIsResumed(t *testing.T) {
	o := newOrganisation(t)
	synctest.Test(t, func(t *testing.T) {
		o.Fail(githubfake.Fault{On: githubfake.Kinds("PUT /repos/{owner}/{repo}/topics"), Skip: 2, Answer: githubfake.Reset()})
		if err := o.initialise(t); err == nil {
			t.Fatal("init went well")
		}
		o.Fail(githubfake.Fault{On: githubfake.Kinds("DELETE /repos/{owner}/{repo}"), Skip: 1, Answer: githubfake.Reset()})
		var err error
		for range 2 {
			// acme/app, without a mark, is one of them: its name and description
			// are those of the real workshop's only there, so it is left here
			for _, m := range o.found(t, hello) {
				if err = m.Delete(t.Context(), o.connect(t, o.owner.Token)); err != nil {
					break
				}
			}
		}
		if err != nil || strings.Join(o.Repos(), " ") != "acme/app" {
			t.Errorf("there are %q, %v", o.Repos(), err)
		}
		if err := o.initialise(t); err != nil {
			t.Fatal(err)
		}
		if made := o.found(t, hello); len(made) != 3 {
			t.Errorf("made %q", losses(made))
		}
	})
}

// TestFindHalfMade is a repository of the real workshop that was cut off before
// it got its mark.
func TestFindHalfMade(t *testing.T) {
	o := newOrganisation(t)
	options := o.options(t)
	var err error
	if options.Workshop, err = setup.Load(options.Forge, "hello-world", "acme", ""); err != nil {
		t.Fatal(err)
	}
	o.Fail(githubfake.Fault{On: githubfake.Kinds("PUT /repos/{owner}/{repo}/topics"), Answer: githubfake.Reset()})
	p, err := setup.Look(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Do(t.Context(), func(setup.Step) {}); err == nil {
		t.Fatal("init went well")
	}
	made := o.found(t, hello)
	if len(made) != 1 || made[0].Loss() != "as it was made" {
		t.Fatalf("found %+v", made)
	}
	o.Push("acme/kalypso-control-plane", "main", map[string]string{"a": "b"})
	if err := made[0].Delete(t.Context(), options.Forge); err == nil {
		t.Error("it is not empty any more and is deleted")
	}
	if made := o.found(t, hello); len(made) > 0 {
		t.Errorf("found %+v", made)
	}
}
