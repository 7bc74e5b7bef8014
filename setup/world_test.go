package setup_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/setup"
)

// direct brings requests to a server without a network, so that the time of a
// synctest bubble passes while GitHub's pace is kept.
type direct struct{ *githubfake.Server }

func (d direct) RoundTrip(q *http.Request) (answer *http.Response, err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler: // the server has broken the connection
			answer, err = nil, fmt.Errorf("connection reset by peer")
		default:
			panic(v)
		}
	}()
	in := q.Clone(q.Context())
	in.RequestURI, in.RemoteAddr, in.Host = q.URL.RequestURI(), "127.0.0.1:1", q.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, in)
	answer = w.Result()
	answer.Request = q
	return answer, nil
}

// organisation is an empty organisation whose owner makes a small workshop.
type organisation struct {
	*githubfake.Server
	owner *githubfake.User
}

// newOrganisation is called outside of a bubble: its listener would keep the
// bubble's time from passing.
func newOrganisation(t *testing.T) *organisation {
	t.Helper()
	s := githubfake.Start(t)
	s.Org("acme")
	return &organisation{s, s.User("owner", "repo", "workflow", "delete_repo")}
}

func (o *organisation) connect(t *testing.T, token string) *github.Forge {
	t.Helper()
	f, err := github.New(github.Options{
		URL: o.URL, Token: token, HTTP: &http.Client{Transport: direct{o.Server}}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const workflow = ".github/workflows/w.yaml"

// options want a workshop with one repository of each kind.
func (o *organisation) options(t *testing.T) setup.Options {
	t.Helper()
	files := func(name, text string) map[string][]byte {
		return map[string][]byte{"README.md": []byte("# start\n"), name: []byte(text)}
	}
	const base = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata:\n  name: main\nspec:\n  repo: r\n  branch: main\n"
	return setup.Options{
		Forge: o.connect(t, o.owner.Token), Organisation: "acme", Visibility: github.Private,
		Workshop: fixtures.Workshop{
			Name: "hello-world", Environments: []string{"dev", "stage"}, Secrets: []string{"DOOR"}, NextVariable: "NEXT",
			Repositories: []fixtures.Repository{
				{Name: "control", Description: "Platform", Branches: []fixtures.Branch{
					{Name: "main", Files: files(workflow, "x: ${{ vars.NEXT }}\n")},
					{Name: "dev", Pinned: true, Files: files("base-repo.yaml", base)},
				}},
				{Name: "gitops", Description: "Manifests", Records: "control", Branches: []fixtures.Branch{
					{Name: "main", Files: files("a", "a")}, {Name: "dev", Files: files(workflow, "x: ${{ secrets.DOOR }}\n")},
				}},
				{Name: "app", Description: "Source", Branches: []fixtures.Branch{
					{Name: "main", Files: files("a", "a")}, {Name: "more", OnTop: "main", Files: files("b", "b")},
				}, PullRequests: []fixtures.PullRequest{{Head: "more", Base: "main", Title: "Add more", Body: "It is more.\n"}}},
			},
		},
		Secrets: map[string]string{"DOOR": "open sesame"},
		Webhook: &setup.Webhook{URL: "https://scheduler.example.com/webhook", Secret: "signed"},
	}
}

// initialise looks and does, as a person who calls init.
func (o *organisation) initialise(t *testing.T) error {
	t.Helper()
	p, err := setup.Look(t.Context(), o.options(t))
	if err != nil {
		return err
	}
	return p.Do(t.Context(), func(setup.Step) {})
}

// state is all that an organisation holds, in words.
func (o *organisation) state() string {
	var b strings.Builder
	for _, repo := range o.Repos() {
		text, visibility := o.Description(repo)
		fmt.Fprintf(&b, "%s: %s, %s, topics %v, default %s\n", repo, text, visibility, o.Topics(repo), o.DefaultBranch(repo))
		for _, branch := range []string{"main", "dev", "more"} {
			if files := o.Files(repo, branch); files != nil {
				fmt.Fprintf(&b, "  %s %s %v\n", branch, o.Branch(repo, branch), slices.Sorted(maps.Keys(files)))
			}
		}
		fmt.Fprintf(&b, "  environments %v, next %s, secret %s\n", o.Environments(repo), o.Variable(repo, "dev", "NEXT"), o.Secret(repo, "", "DOOR"))
		for _, h := range o.Hooks(repo) {
			h.ID = 0
			fmt.Fprintf(&b, "  hook %+v\n", h)
		}
		for _, p := range o.Pulls(repo) {
			fmt.Fprintf(&b, "  pull request %q from %s to %s, %s\n", p.Title, p.Head, p.Base, p.State)
		}
	}
	return b.String()
}

// written are the kinds of the requests that may have changed something.
func (o *organisation) written() (kinds []string) {
	for _, c := range o.Calls() {
		if c.Write() {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}
