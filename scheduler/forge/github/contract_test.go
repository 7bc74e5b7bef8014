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
	hold(t, func(t *testing.T) forgecontract.World { return newWorld(t) })
}

// TestContractOfTheFake holds the fake of other tests to the same.
func TestContractOfTheFake(t *testing.T) {
	hold(t, func(*testing.T) forgecontract.World { return fakeWorld{forgefake.New()} })
}

func hold(t *testing.T, world func(*testing.T) forgecontract.World) {
	for name, part := range forgecontract.Parts() {
		t.Run(name, func(t *testing.T) { part(t, world(t)) })
	}
}

// world is a GitHub with the scheduler's account and a person's.
type world struct {
	*githubfake.Server
	bot, ann *githubfake.User
	forge    *github.Forge
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := githubfake.Start(t)
	w := &world{Server: s, bot: s.User("kalypso-bot"), ann: s.User("ann")}
	w.forge = w.connect(t, github.Options{})
	return w
}

// connect is another forge for the scheduler's account.
func (w *world) connect(t testing.TB, o github.Options) *github.Forge {
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

func (w *world) Forge() forge.Forge { return w.forge }

func (w *world) Repo(name string) string {
	w.Server.Repo("acme/" + name)
	return "acme/" + name
}

func (w *world) Merge(repo string, number int) { w.Server.Merge(repo, number) }

func (w *world) OpenPull(repo, head, base string) int {
	return w.Server.OpenPull(w.ann, repo, "theirs", head, base)
}

func (w *world) OpenIssue(repo, title string) int { return w.Server.OpenIssue(w.ann, repo, title, "") }

func (w *world) Comments(repo string, number int) (list []string) {
	for _, c := range w.Server.Comments(repo, number) {
		list = append(list, c[len(w.bot.Login)+2:])
	}
	return list
}

// fakeWorld is the forge in memory.
type fakeWorld struct{ fake *forgefake.Forge }

func (w fakeWorld) Forge() forge.Forge { return w.fake }

// Repo implements forgecontract.World: the fake makes a repository by a push, and
// one without branches is none to it.
func (w fakeWorld) Repo(name string) string { return "acme/" + name }

func (w fakeWorld) CloneURL(repo string) string { return forgefake.URL(repo) }

func (w fakeWorld) Push(repo, branch string, files map[string]string) string {
	return w.fake.Push(repo, branch, files)
}

func (w fakeWorld) DeleteBranch(repo, branch string) { w.fake.DeleteByPerson(repo, branch) }

func (w fakeWorld) Merge(repo string, number int) { w.fake.Merge(repo, number) }

func (w fakeWorld) Close(repo string, number int) {
	for _, p := range w.fake.AllPullRequests(repo) {
		if p.Number == number {
			w.fake.EditPullRequest(repo, number, func(p *forge.PullRequest) { p.State = forge.Closed })
			return
		}
	}
	w.fake.EditIssue(repo, number, func(i *forge.Issue) { i.State = forge.Closed })
}

func (w fakeWorld) OpenPull(repo, head, base string) int {
	return w.fake.OpenPullRequest(repo, "ann", head, base)
}

func (w fakeWorld) OpenIssue(repo, title string) int {
	return w.fake.OpenIssue(repo, "ann", title, "")
}

func (w fakeWorld) Label(repo string, number int, label string) {
	w.fake.EditPullRequest(repo, number, func(p *forge.PullRequest) {
		p.Labels = append(p.Labels, label)
		slices.Sort(p.Labels)
	})
}

func (w fakeWorld) Unlabel(repo string, number int, label string) {
	w.fake.EditPullRequest(repo, number, func(p *forge.PullRequest) {
		p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool { return l == label })
	})
}

func (w fakeWorld) Comments(repo string, number int) (list []string) {
	for _, c := range w.fake.Comments(repo, number) {
		list = append(list, c.Body)
	}
	return list
}
