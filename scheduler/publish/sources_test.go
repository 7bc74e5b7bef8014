package publish_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// TestSources: a pull request and its commit name the commits that were planned, those of
// the control plane first. One that plans the same writes nothing, and the source stays.
func TestSources(t *testing.T) {
	w := newFixture(t, nil)
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	apply := func(app string, version string, want publish.Action) {
		t.Helper()
		o := options()
		o.ControlPlane = "http://forge.test/acme/platform.git"
		o.Sources = []model.Reference{
			{Repo: "http://ann:secret@forge.test/acme/app", Branch: "main", Commit: id(app)},
			{Repo: "http://forge.test/acme/gone", Branch: "main"},
			{Repo: o.ControlPlane, Branch: "dev", Commit: id("1")},
			{Repo: o.ControlPlane, Branch: "main", Path: "a", Commit: id("2")},
			{Repo: o.ControlPlane, Branch: "main", Path: "b", Commit: id("2")},
		}
		r, err := publish.Apply(context.Background(), w.forge, w.plan(pairFiles("drone", "web-dev", version)), o)
		if err != nil || r.Action != want {
			t.Fatalf("%+v, %v, want %s", r, err, want)
		}
	}
	check := func(app string) {
		t.Helper()
		sources := []string{"http://forge.test/acme/platform@" + id("1"), "http://forge.test/acme/platform@" + id("2"), "http://forge.test/acme/app@" + id(app)}
		var trailers strings.Builder
		for _, s := range sources {
			fmt.Fprintf(&trailers, "%s: %s\n", publish.SourceTrailer, s)
		}
		if got := w.forge.Message(repo, "kalypso/dev"); !strings.HasSuffix(got, "\n\n"+trailers.String()) {
			t.Errorf("commit message %q", got)
		}
		field := " source=" + url.QueryEscape(strings.Join(sources, ",")) + " "
		body := w.forge.AllPullRequests(repo)[0].Body
		if !strings.Contains(body, field) {
			t.Errorf("no %q in\n%s", field, body)
		}
		var read []string
		all, whole := publish.Sources(body)
		for _, s := range all {
			read = append(read, s.Repo+"@"+s.Commit)
		}
		if !whole {
			t.Errorf("not all of them are in\n%s", body)
		}
		if !slices.Equal(read, sources) {
			t.Errorf("read %v, want %v", read, sources)
		}
	}
	apply("3", "1", publish.Opened)
	check("3")
	w.forge.Calls()
	apply("4", "1", publish.Unchanged)
	if writes := w.forge.Writes(); len(writes) > 0 {
		t.Errorf("the same plan of another commit writes %v", writes)
	}
	check("3")
	apply("5", "2", publish.Updated)
	check("5")
}

// TestSourcesOfVeryMany: a text has its limit, and the commit has them all.
func TestSourcesOfVeryMany(t *testing.T) {
	w := newFixture(t, nil)
	o := options()
	for i := range 900 {
		o.Sources = append(o.Sources, model.Reference{Repo: fmt.Sprintf("http://forge.test/acme/app-%03d", i), Commit: strings.Repeat("1", 40)})
	}
	if _, err := publish.Apply(context.Background(), w.forge, w.plan(many(400, "1")), o); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.forge.Message(repo, "kalypso/dev"), publish.SourceTrailer+": "); n != 900 {
		t.Errorf("%d trailers", n)
	}
	if all := publish.CommitSources(w.forge.Message(repo, "kalypso/dev")); len(all) != 900 || all[899] != (model.Reference{Repo: "http://forge.test/acme/app-899", Commit: strings.Repeat("1", 40)}) {
		t.Errorf("%d sources of the commit", len(all))
	}
	if all, whole := publish.Sources(w.forge.AllPullRequests(repo)[0].Body); whole || len(all) == 0 {
		t.Errorf("the marker has %d sources, whole %t", len(all), whole)
	}
	if body := w.forge.AllPullRequests(repo)[0].Body; !strings.Contains(body, "app-000") || strings.Contains(body, "app-100") {
		t.Error("the marker holds none, or very many")
	}
}
