package promote_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/promote"
)

const repo = "acme/control-plane"

var url = forgefake.URL(repo)

func request() promote.Request {
	return promote.Request{
		Environment: "dev",
		Branch:      model.Reference{Repo: url, Branch: "dev"},
		From:        model.Reference{Repo: url, Branch: "main"},
		Now:         func() time.Time { return time.Unix(1700000000, 0) },
	}
}

func baseRepo(commit string) string {
	if commit != "" {
		commit = "  commit: " + commit + "\n"
	}
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo # what is shared\nmetadata:\n  name: main\nspec:\n  repo: " +
		url + "\n  branch: main\n  path: .\n" + commit
}

func deployed(t *testing.T, pin string) (*forgefake.Forge, string) {
	t.Helper()
	f := forgefake.New()
	head := f.Push(repo, "main", map[string]string{"templates/t.yaml": "kind: Template\n", "README.md": "x"})
	f.Push(repo, "dev", map[string]string{"base-repo.yaml": baseRepo(pin), "other.yaml": "a: b\n"})
	return f, head
}

func apply(t *testing.T, f *forgefake.Forge) promote.Result {
	t.Helper()
	result, err := promote.Apply(context.Background(), f, request())
	if err != nil {
		t.Fatal(err)
	}
	f.Calls()
	if _, err := promote.Apply(context.Background(), f, request()); err != nil {
		t.Fatal(err)
	}
	if writes := f.Writes(); len(writes) > 0 {
		t.Fatalf("second Apply writes: %v", writes)
	}
	return result
}

func TestPromotes(t *testing.T) {
	f, first := deployed(t, "")
	if r := apply(t, f); !r.Promoted || r.Commit != first || r.Before != "" {
		t.Errorf("first: %+v", r)
	}
	if got, want := f.Files(repo, "dev")["base-repo.yaml"], baseRepo(first); got != want {
		t.Errorf("file (-want +got):\n%s", cmp.Diff(want, got))
	}
	want := []forge.Status{{Context: "dev environment", State: forge.Pending, Description: "Promoted"}}
	if diff := cmp.Diff(want, f.AllStatuses(repo, first)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}

	f.Push(repo, "main", map[string]string{"README.md": "y", ".github/workflows/ci.yaml": "on: push\n"})
	if r := apply(t, f); r.Promoted || r.Commit != first {
		t.Errorf("a change that does not matter: %+v", r)
	}

	second := f.Push(repo, "main", map[string]string{"templates/t.yaml": "kind: Template\n# new\n"})
	if r := apply(t, f); !r.Promoted || r.Commit != second || r.Before != first {
		t.Errorf("second: %+v", r)
	}
	if got := f.Files(repo, "dev"); got["base-repo.yaml"] != baseRepo(second) || got["other.yaml"] != "a: b\n" {
		t.Errorf("files: %v", got)
	}
}

func TestLaterStatusStays(t *testing.T) {
	f, first := deployed(t, "")
	apply(t, f)
	if err := f.SetStatus(context.Background(), repo, first, forge.Status{Context: "dev environment", State: forge.Failure, Description: "Failed to deploy"}); err != nil {
		t.Fatal(err)
	}
	apply(t, f)
	if n := len(f.AllStatuses(repo, first)); n != 2 {
		t.Errorf("%d statuses, want the promotion's and the later one", n)
	}
}

// TestOvertakenCommit: nothing stays pending on a commit that an environment gives
// up for a newer one, whichever call fails on the way.
func TestOvertakenCommit(t *testing.T) {
	for name, test := range map[string]struct {
		before []forge.Status // what is said of it besides the promotion
		want   []forge.Status // its last ones in the end
	}{
		"promoted": {nil, []forge.Status{{Context: "dev environment", State: forge.Success}}},
		"promoted here, deployed in an environment before": {
			[]forge.Status{{Context: "first environment", State: forge.Pending, Description: "Deployed"}, {Context: "tests", State: forge.Pending}},
			[]forge.Status{{Context: "dev environment", State: forge.Success}, {Context: "first environment", State: forge.Success}, {Context: "tests", State: forge.Pending}},
		},
		"being deployed": { // its workflow ends it
			[]forge.Status{{Context: "dev environment", State: forge.Pending, Description: "Deploying"}},
			[]forge.Status{{Context: "dev environment", State: forge.Pending}},
		},
		"deployed": { // it goes on to the next environment
			[]forge.Status{{Context: "dev environment", State: forge.Pending, Description: "Deployed"}},
			[]forge.Status{{Context: "dev environment", State: forge.Pending}},
		},
		"failed": {
			[]forge.Status{{Context: "dev environment", State: forge.Failure, Description: "Failed to deploy"}},
			[]forge.Status{{Context: "dev environment", State: forge.Failure}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				f, first := deployed(t, "")
				apply(t, f)
				for _, s := range test.before {
					if err := f.SetStatus(t.Context(), repo, first, s); err != nil {
						t.Fatal(err)
					}
				}
				second := f.Push(repo, "main", map[string]string{"templates/t.yaml": "kind: Template\n# new\n"})
				var failed error
				if n > 0 {
					f.FailAt(n, n%2 == 0)
					_, failed = promote.Apply(t.Context(), f, request())
					f.Calls()
				}
				apply(t, f)
				got, err := f.Statuses(t.Context(), repo, first)
				if err != nil {
					t.Fatal(err)
				}
				slices.SortFunc(got, func(a, b forge.Status) int { return strings.Compare(a.Context, b.Context) })
				if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(forge.Status{}, "Description")); diff != "" {
					t.Errorf("call %d: statuses of the first (-want +got):\n%s", n, diff)
				}
				want := []forge.Status{{Context: "dev environment", State: forge.Pending, Description: "Promoted"}}
				if diff := cmp.Diff(want, f.AllStatuses(repo, second)); diff != "" {
					t.Errorf("call %d: statuses of the second (-want +got):\n%s", n, diff)
				}
				if n > 0 && failed == nil {
					return
				}
			}
		})
	}
}

// TestOvertakenByPin: a workflow's promotion ends the statuses of the commit before, too.
func TestOvertakenByPin(t *testing.T) {
	f, first := deployed(t, "")
	apply(t, f)
	second := f.Push(repo, "main", map[string]string{"templates/t.yaml": "kind: Template\n# new\n"})
	if pinned, err := promote.Pin(t.Context(), f, repo, request().Branch, "dev", second, time.Unix(1700000000, 0)); !pinned || err != nil {
		t.Fatal(pinned, err)
	}
	got, err := f.Statuses(t.Context(), repo, first)
	if err != nil || len(got) != 1 || got[0].State != forge.Success || !strings.Contains(got[0].Description, second[:7]) {
		t.Errorf("%v %v", got, err)
	}
}

func TestOtherBaseIsLeftAlone(t *testing.T) {
	f, _ := deployed(t, "")
	f.Push(repo, "dev", map[string]string{"base-repo.yaml": strings.Replace(baseRepo(""), "branch: main", "branch: stable", 1)})
	if r := apply(t, f); r.Promoted || r.Commit != "" || !strings.Contains(r.Why, "stable") {
		t.Errorf("%+v", r)
	}
}

func TestUnknownPinIsReplaced(t *testing.T) {
	f, head := deployed(t, strings.Repeat("0a", 20))
	if r := apply(t, f); !r.Promoted || r.Commit != head {
		t.Errorf("%+v", r)
	}
}

// TestBranchMovesMeanwhile pushes to the environment's branch between the
// promotion's reading and writing.
func TestBranchMovesMeanwhile(t *testing.T) {
	f, head := deployed(t, "")
	pushes := 0
	f.OnCall(func(c forgefake.Call) {
		if c.Method == "Commit" && pushes < 2 {
			pushes++
			f.Push(repo, "dev", map[string]string{"other.yaml": "a: " + strings.Repeat("c", pushes) + "\n"})
		}
	})
	if r := apply(t, f); r.Commit != head {
		t.Errorf("%+v", r)
	}
	files := f.Files(repo, "dev")
	if files["other.yaml"] != "a: cc\n" || files["base-repo.yaml"] != baseRepo(head) {
		t.Errorf("files: %v", files)
	}
}

func TestFaults(t *testing.T) {
	for n := 1; ; n++ {
		hit := false
		for _, late := range []bool{false, true} {
			f, head := deployed(t, "")
			f.FailAt(n, late)
			_, err := promote.Apply(context.Background(), f, request())
			hit = hit || err != nil
			if err != nil && !errors.Is(err, forgefake.ErrInjected) {
				t.Fatal(err)
			}
			f.Calls()
			apply(t, f)
			if got := f.Files(repo, "dev")["base-repo.yaml"]; got != baseRepo(head) {
				t.Errorf("call %d: %s", n, got)
			}
			if s := f.AllStatuses(repo, head); len(s) != 1 {
				t.Errorf("call %d, late %t: statuses %v", n, late, s)
			}
		}
		if !hit {
			return
		}
	}
}

// TestReadErrorPromotesNothing lets each read fail: what cannot be read is not
// known to have changed.
func TestReadErrorPromotesNothing(t *testing.T) {
	f, _ := deployed(t, "")
	apply(t, f)
	f.Push(repo, "main", map[string]string{"templates/t.yaml": "kind: Template\n# new\n"})
	before := f.Files(repo, "dev")
	for n := 1; n <= 3; n++ { // the branch, the newest commit, the pinned one
		f.FailOn(func(c forgefake.Call) bool { return c.Method == "Read" }, n, forgefake.Before)
		r, err := promote.Apply(context.Background(), f, request())
		if !errors.Is(err, forgefake.ErrInjected) || r.Promoted {
			t.Errorf("read %d: %+v, %v", n, r, err)
		}
		if w := f.Writes(); len(w) > 0 {
			t.Errorf("read %d: writes %v", n, w)
		}
		if diff := cmp.Diff(before, f.Files(repo, "dev")); diff != "" {
			t.Errorf("read %d (-before +after):\n%s", n, diff)
		}
	}
}
