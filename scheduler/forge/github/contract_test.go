package github_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/forgecontract"
	"github.com/kalypso-dev/kalypso/internal/testkit/forgefake"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

func TestContract(t *testing.T) {
	hold(t, func(t *testing.T) forgecontract.Harness { return newFixture(t) })
}

// TestContractOfTheFake holds the fake of other tests to the same.
func TestContractOfTheFake(t *testing.T) {
	hold(t, func(*testing.T) forgecontract.Harness { return fakeHarness{forgefake.New()} })
}

func hold(t *testing.T, harness func(*testing.T) forgecontract.Harness) {
	for name, part := range forgecontract.Parts() {
		t.Run(name, func(t *testing.T) { part(t, harness(t)) })
	}
}

// fixture is a GitHub with the scheduler's account and a user's.
type fixture struct {
	*githubfake.Server
	bot, ann *githubfake.User
	forge    *github.Forge
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	s := githubfake.Start(t)
	w := &fixture{Server: s, bot: s.User("kalypso-bot"), ann: s.User("ann")}
	w.forge = w.connect(t, github.Options{})
	return w
}

// connect is another forge for the scheduler's account.
func (w *fixture) connect(t testing.TB, o github.Options) *github.Forge {
	t.Helper()
	o.URL, o.Log = w.URL, slog.New(slog.DiscardHandler)
	if o.App == nil && o.Token == "" {
		o.Token = w.bot.Token
	}
	f, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Impatient(nil)
	return f
}

func (w *fixture) Forge() forge.Forge { return w.forge }

func (w *fixture) Repo(name string) string {
	w.Server.Repo("acme/" + name)
	return "acme/" + name
}

func (w *fixture) Merge(repo string, number int) { w.Server.Merge(repo, number) }

func (w *fixture) Review(repo string, number int, verdict forge.Verdict) {
	states := map[forge.Verdict]string{forge.Approves: "APPROVED", forge.RequestsChanges: "CHANGES_REQUESTED", forge.Dismissed: "DISMISSED"}
	w.Server.Review(w.ann, repo, number, states[verdict])
}

func (w *fixture) OpenPull(repo, head, base string) int {
	return w.Server.OpenPull(w.ann, repo, "theirs", head, base)
}

func (w *fixture) OpenIssue(repo, title string) int {
	return w.Server.OpenIssue(w.ann, repo, title, "")
}

func (w *fixture) Comments(repo string, number int) (list []string) {
	for _, c := range w.Server.Comments(repo, number) {
		list = append(list, c[len(w.bot.Login)+2:])
	}
	return list
}

// fakeHarness is the forge in memory.
type fakeHarness struct{ fake *forgefake.Forge }

func (w fakeHarness) Forge() forge.Forge { return w.fake }

// Repo implements forgecontract.Harness: the fake makes a repository by a push, and
// one without branches is none to it.
func (w fakeHarness) Repo(name string) string { return "acme/" + name }

func (w fakeHarness) CloneURL(repo string) string { return forgefake.URL(repo) }

func (w fakeHarness) Push(repo, branch string, files map[string]string) string {
	return w.fake.Push(repo, branch, files)
}

func (w fakeHarness) DeleteBranch(repo, branch string) { w.fake.DeleteByUser(repo, branch) }

func (w fakeHarness) Merge(repo string, number int) { w.fake.Merge(repo, number) }

func (w fakeHarness) Close(repo string, number int) {
	for _, p := range w.fake.AllPullRequests(repo) {
		if p.Number == number {
			w.fake.EditPullRequest(repo, number, func(p *forge.PullRequest) { p.State = forge.Closed })
			return
		}
	}
	w.fake.EditIssue(repo, number, func(i *forge.Issue) { i.State = forge.Closed })
}

func (w fakeHarness) OpenPull(repo, head, base string) int {
	return w.fake.OpenPullRequest(repo, "ann", head, base)
}

func (w fakeHarness) OpenIssue(repo, title string) int {
	return w.fake.OpenIssue(repo, "ann", title, "")
}

func (w fakeHarness) Label(repo string, number int, label string) {
	w.fake.EditPullRequest(repo, number, func(p *forge.PullRequest) {
		p.Labels = append(p.Labels, label)
		slices.Sort(p.Labels)
	})
}

func (w fakeHarness) Unlabel(repo string, number int, label string) {
	w.fake.EditPullRequest(repo, number, func(p *forge.PullRequest) {
		p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool { return l == label })
	})
}

func (w fakeHarness) Comments(repo string, number int) (list []string) {
	for _, c := range w.fake.Comments(repo, number) {
		list = append(list, c.Body)
	}
	return list
}
