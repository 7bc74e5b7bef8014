package collect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
)

// open opens a pull request of a branch with some files, made from commits of the control
// plane.
func (p *platform) open(repo, branch, title string, files map[string]string, sources ...string) *gitea.PullRequest {
	p.t.Helper()
	head := p.repos[repo].Push(branch, files)
	p.forge.Lock()
	defer p.forge.Unlock()
	pr := p.repos[repo].Open(title, "dev", branch, head)
	pr.Created = new(time.Now().UTC())
	pr.Poster = &gitea.User{UserName: giteafake.User}
	if len(sources) > 0 {
		pr.Body = "text\n\n<!-- kalypso:plan sha256=1 environment=dev source=" + url.QueryEscape(strings.Join(sources, ",")) + " -->\n"
	}
	return pr
}

// merge merges a pull request, and returns the branch's new head.
func (p *platform) merge(repo string, pr *gitea.PullRequest) string {
	p.t.Helper()
	p.forge.Lock()
	defer p.forge.Unlock()
	p.repos[repo].Merge(pr)
	pr.Merged = new(time.Now().UTC())
	p.heads[repo+"@dev"] = pr.Head.Sha
	return pr.Head.Sha
}

// awaitChange waits until the change of a title is as it should be.
func awaitChange(t *testing.T, s *store.Store, title, what string, is func(store.Change) bool) (found store.Change) {
	t.Helper()
	await(t, title+" is "+what, func() error {
		list, err := s.Changes(t.Context(), store.Scope{}, store.ChangeFilter{}, store.Page{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list.Items, func(c store.Change) bool { return c.Title == title })
		if i < 0 || !is(list.Items[i]) {
			return fmt.Errorf("%+v", list.Items)
		}
		found = list.Items[i]
		return nil
	})
	return found
}

func inState(state string, reached, total int) func(store.Change) bool {
	return func(c store.Change) bool { return c.State == state && c.Reached == reached && c.Total == total }
}

// checkStages holds the stages to their order; all up to the last that there is must be there.
func checkStages(t *testing.T, c store.Change, missing int) {
	t.Helper()
	var last time.Time
	for _, at := range []time.Time{c.Pushed, c.Planned, c.Opened, c.Merged, c.FirstApplied, c.Applied} {
		if at.IsZero() {
			missing--
			continue
		}
		if at.Before(last) || time.Until(at) > 0 {
			t.Errorf("%+v", c.Stages)
		}
		last = at
	}
	if missing != 0 {
		t.Errorf("%d stages more are missing than should be: %+v", -missing, c.Stages)
	}
}

// TestPlatformChange follows a push to the control plane until all clusters have what was
// planned of it.
func TestPlatformChange(t *testing.T) {
	p := newPlatform(t)
	control := p.forge.URL + "/acme/control@"
	before := p.open("gitops", "kalypso/dev", "the first", map[string]string{"large/shop-test/namespace.yaml": "kind: Namespace\n"}, control+p.heads["control@dev"], control+p.heads["control@main"])
	p.merge("gitops", before)
	p.setFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	pushed := p.repos["control"].Push("main", map[string]string{"note.txt": "a push"})
	pr := p.open("gitops", "kalypso/dev", "the second", map[string]string{
		"small/shop-test/namespace.yaml": "kind: Namespace\n", "small/other/namespace.yaml": "kind: Namespace\n",
	}, control+p.heads["control@dev"], control+pushed)
	p.forge.Lock()
	p.repos["gitops"].Statuses[pr.Head.Sha] = []*gitea.Status{{ID: 1, Context: "lint", State: gitea.StatusSuccess}, {ID: 2, Context: "policy", State: gitea.StatusPending}}
	p.forge.Unlock()
	c, s, stop := p.run(nil)

	opened := awaitChange(t, s, "the second", "open", inState(store.ChangeOpen, 0, 0))
	if opened.Kind != "platform" || opened.Size == nil || *opened.Size != (store.Size{Added: 1, Changed: 1}) || opened.SHA != pr.Head.Sha || opened.Author != giteafake.User || opened.Reason != "waits for check policy" {
		t.Errorf("%+v", opened)
	}
	// what was there before is not what it was made of
	if len(opened.Sources) != 1 || opened.Sources[0].SHA != pushed || opened.Sources[0].Author != "ann" || opened.Sources[0].Subject != "change" || opened.Sources[0].At.IsZero() ||
		opened.Sources[0].URL != p.forge.URL+"/acme/control/commit/"+pushed {
		t.Errorf("%+v", opened.Sources)
	}
	checkStages(t, opened, 3)
	await(t, "the pull request says what it changes", func() error {
		list, err := s.PullRequests(t.Context(), store.Scope{}, []string{"dev"}, []string{"open"}, store.Page{})
		if err == nil && (len(list.Items) != 1 || list.Items[0].Checks != "pending" || list.Items[0].Clusters != 1 || list.Items[0].Size == nil || list.Items[0].Size.Added != 1) {
			err = fmt.Errorf("%+v", list.Items)
		}
		return err
	})
	if first := awaitChange(t, s, "the first", "applied", inState(store.ChangeApplied, 1, 1)); len(first.Sources) != 2 {
		t.Errorf("%+v", first)
	}

	// the merge goes to the one cluster of the type that it changes something on, whose clock is behind
	p.merge("gitops", pr)
	p.webhook(c, "pull_request", "acme/gitops", webhookSecret)
	p.webhook(c, "push", "acme/gitops", webhookSecret)
	rolling := awaitChange(t, s, "the second", "rolling", inState(store.ChangeRolling, 0, 1))
	if rolling.MergedBy != giteafake.Merger || !strings.Contains(rolling.Reason, "edge-1: it is on ") {
		t.Errorf("%+v", rolling)
	}
	late := p.cluster("small", "edge-1")
	for i := range late.Subscriptions {
		late.Subscriptions[i].At = time.Now().Add(-time.Hour).UTC()
	}
	failing := p.cluster("small", "edge-1")
	failing.Subscriptions[0].Applied, failing.Subscriptions[0].State, failing.Subscriptions[0].Reason = before.Head.Sha, fleet.NonCompliant, "no such template"
	p.setFleet(failing, p.cluster("large", "edge-2"))
	if c := awaitChange(t, s, "the second", "failing", inState(store.ChangeFailing, 0, 1)); c.Failing != 1 || !strings.Contains(c.Reason, "no such template") {
		t.Errorf("%+v", c)
	}
	p.setFleet(late, p.cluster("large", "edge-2"))
	applied := awaitChange(t, s, "the second", "applied", inState(store.ChangeApplied, 1, 1))
	checkStages(t, applied, 0)
	list, err := s.ChangeClusters(t.Context(), store.Scope{}, applied.ID, nil, store.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ClusterType != "small" || list.Items[0].Subscription != "flux-system/dev" || list.Items[0].Fetched.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}

	// a hub that is started again knows it, and asks for no commit again
	stop()
	asked := make(chan string, 100)
	p.forge.Fail(giteafake.Fault{Times: -1, On: func(r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("tree:0")) {
			asked <- r.URL.Path
		}
		return false
	}})
	p.setFleet(p.cluster("small", "edge-1"), fleet.UnknownCluster("edge-2", errors.New("connection refused")))
	began := time.Now()
	_, s, stop = p.run(nil)
	for _, name := range []string{"pull requests", "changes"} {
		await(t, name+" are looked at", func() error {
			all, err := s.Sources(t.Context())
			i := slices.IndexFunc(all, func(s store.Source) bool { return s.Name == name && s.LastOK.After(began) })
			if err == nil && i < 0 {
				err = fmt.Errorf("%+v", all)
			}
			return err
		})
	}
	if again := awaitChange(t, s, "the second", "applied", inState(store.ChangeApplied, 1, 1)); again.ID != applied.ID || !again.Applied.Equal(applied.Applied) || len(again.Sources) != 1 || again.Sources[0].Author != "ann" {
		t.Errorf("%+v", again)
	}
	stop()
	close(asked)
	for path := range asked {
		t.Errorf("a commit of %s is asked for again", path)
	}
}

// TestApplicationChange: clusters that have gone on to a later commit have a change, and one
// that cannot be asked does not until it was seen with it.
func TestApplicationChange(t *testing.T) {
	p := newPlatform(t)
	c, s, _ := p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	small, large := p.cluster("small", "edge-1"), p.cluster("large", "edge-2")
	source := p.repos["shop"].Push("main", map[string]string{"code.txt": "2"})
	pr := p.open("shop-gitops", "kalypso/shop-to-dev", "shop 2.0", map[string]string{
		"descriptors/shop-test.yaml": strings.Replace(strings.Replace(descriptor, "1.0", "2.0", 1), "commit: c", "commit: "+source, 1),
	})
	p.webhook(c, "pull_request", "acme/shop-gitops", webhookSecret)
	if c := awaitChange(t, s, "shop 2.0", "open", inState(store.ChangeOpen, 0, 0)); c.Kind != "application" || c.Size != nil || len(c.Sources) != 1 || c.Sources[0].SHA != source {
		t.Errorf("%+v", c)
	}
	p.merge("shop-gitops", pr)
	large.Forget("connection refused")
	large.Unknown = "connection refused"
	p.setFleet(small, large)
	p.webhook(c, "pull_request", "acme/shop-gitops", webhookSecret)
	p.webhook(c, "push", "acme/shop-gitops", webhookSecret)
	if c := awaitChange(t, s, "shop 2.0", "rolling", inState(store.ChangeRolling, 0, 2)); !strings.Contains(c.Reason, "edge-2: connection refused") {
		t.Errorf("%+v", c)
	}
	// the next commit touches nothing that they run
	p.heads["shop-gitops@dev"] = p.repos["shop-gitops"].Push("dev", map[string]string{"README.md": "read me"})
	p.webhook(c, "push", "acme/shop-gitops", webhookSecret)
	p.setFleet(p.cluster("small", "edge-1"), large)
	awaitChange(t, s, "shop 2.0", "on one", inState(store.ChangeRolling, 1, 2))
	p.setFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	checkStages(t, awaitChange(t, s, "shop 2.0", "applied", inState(store.ChangeApplied, 2, 2)), 1) // nobody has planned it

	// what is closed without a merge goes nowhere
	closed := p.open("shop-gitops", "kalypso/shop-to-dev", "shop 3.0", map[string]string{"test/a.yaml": "{}"})
	p.forge.Lock()
	closed.State = gitea.StateClosed
	p.forge.Unlock()
	p.webhook(c, "pull_request", "acme/shop-gitops", webhookSecret)
	awaitChange(t, s, "shop 3.0", "closed", inState(store.ChangeClosed, 0, 0))
}

// TestHeldChange: a pull request that removes much waits for a user.
func TestHeldChange(t *testing.T) {
	p := newPlatform(t)
	pr := p.open("gitops", "kalypso/dev", "dev: 1 removed", map[string]string{"README.md": "1"})
	p.forge.Lock()
	pr.Draft, pr.Labels = true, []*gitea.Label{{Name: "mass-delete"}}
	p.forge.Unlock()
	_, s, _ := p.run(nil)
	if c := awaitChange(t, s, "dev: 1 removed", "held", inState(store.ChangeHeld, 0, 0)); !strings.Contains(c.Reason, "mass-delete") || c.Size == nil || *c.Size != (store.Size{}) {
		t.Errorf("%+v", c)
	}
}

// TestControlPlanePullRequests are listed, and are no changes: what the scheduler makes of
// them is.
func TestControlPlanePullRequests(t *testing.T) {
	p := newPlatform(t)
	add := func(base string) {
		p.forge.Lock()
		defer p.forge.Unlock()
		p.repos["control"].Open("to "+base, base, "ann", p.heads["control@dev"]).Created = new(time.Now().UTC())
	}
	add("dev")
	add("main")
	add("other")
	_, s, _ := p.run(nil)
	await(t, "those of the control plane", func() error {
		list, err := s.PullRequests(t.Context(), store.Scope{}, nil, nil, store.Page{})
		var got []string
		for _, pr := range list.Items {
			got = append(got, fmt.Sprintf("%s: %s %s", pr.Environment, pr.Title, pr.Kind))
		}
		slices.Sort(got)
		if want := []string{": to main control-plane", "dev: to dev control-plane"}; err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%q", got)
		}
		return err
	})
	if list, err := s.Changes(t.Context(), store.Scope{}, store.ChangeFilter{Text: "to "}, store.Page{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestDirectChange: a commit that no pull request has brought is a change, one that was pushed
// over is none any more, and its epoch is told.
func TestDirectChange(t *testing.T) {
	p := newPlatform(t)
	c, s, _ := p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	push := func(subject string, from string) {
		t.Helper()
		git := p.repos["shop-gitops"].Git
		sha := git("commit-tree", "-p", from, "-m", subject, git("rev-parse", "dev^{tree}"))
		git("update-ref", "refs/heads/dev", sha)
		p.heads["shop-gitops@dev"] = sha
		p.webhook(c, "push", "acme/shop-gitops", webhookSecret)
	}
	first := p.heads["shop-gitops@dev"]
	push("by hand", first)
	direct := awaitChange(t, s, "by hand", "rolling", inState(store.ChangeRolling, 0, 2))
	if direct.PullRequest != 0 || direct.Author != "ann" || direct.Kind != "application" || direct.SHA != p.heads["shop-gitops@dev"] || direct.Merged.IsZero() || direct.URL != p.forge.URL+"/acme/shop-gitops/commit/"+direct.SHA {
		t.Errorf("%+v", direct)
	}
	push("Merge pull request #12 from acme/old", direct.SHA)
	await(t, "the branch is read", func() error { // before it is pushed over
		all, err := s.Histories(t.Context())
		if err == nil && !slices.ContainsFunc(all, func(h store.History) bool { return h.Head == p.heads["shop-gitops@dev"] }) {
			err = fmt.Errorf("%+v", all)
		}
		return err
	})
	push("with force", first)
	forced := awaitChange(t, s, "with force", "rolling", inState(store.ChangeRolling, 0, 2))
	for id, epoch := range map[int64]int{direct.ID: 1, forced.ID: 2} {
		if d, err := s.Change(t.Context(), store.Scope{}, id); err != nil || d.Epoch != epoch || d.EpochBegan.IsZero() != (epoch == 1) {
			t.Errorf("%+v, %v", d, err)
		}
	}
	p.setFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	awaitChange(t, s, "with force", "applied", inState(store.ChangeApplied, 2, 2))
	list, err := s.Changes(t.Context(), store.Scope{}, store.ChangeFilter{Text: "#12"}, store.Page{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("a commit that names a pull request looks like a push: %+v, %v", list.Items, err)
	}
}

// TestApprovedChange: a review is a stage, until another one takes it back.
func TestApprovedChange(t *testing.T) {
	p := newPlatform(t)
	c, s, _ := p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	pr := p.open("gitops", "ann/fix", "a fix", map[string]string{"small/shop-test/namespace.yaml": "kind: Namespace\n"})
	review := func(state gitea.ReviewStateType) time.Time {
		at := time.Now().UTC().Truncate(time.Second)
		p.forge.Lock()
		p.repos["gitops"].Reviews[pr.Index] = append(p.repos["gitops"].Reviews[pr.Index], &gitea.PullReview{Reviewer: &gitea.User{UserName: "ann"}, State: state, Submitted: at})
		p.forge.Unlock()
		p.webhook(c, "pull_request_approved", "acme/gitops", webhookSecret)
		return at
	}
	approvedBy := func(name string) func(store.Change) bool {
		return func(c store.Change) bool { return c.State == store.ChangeOpen && c.ApprovedBy == name }
	}
	p.webhook(c, "pull_request", "acme/gitops", webhookSecret)
	if one := awaitChange(t, s, "a fix", "open", approvedBy("")); !one.Approved.IsZero() {
		t.Errorf("%+v", one)
	}
	review(gitea.ReviewStateApproved)
	if one := awaitChange(t, s, "a fix", "approved", approvedBy("ann")); one.Approved.IsZero() || one.Approved.Before(one.Opened) {
		t.Errorf("%+v", one)
	}
	review(gitea.ReviewStateRequestChanges)
	if one := awaitChange(t, s, "a fix", "approved no more", approvedBy("")); !one.Approved.IsZero() {
		t.Errorf("%+v", one)
	}
	at := review(gitea.ReviewStateApproved)
	awaitChange(t, s, "a fix", "approved again", approvedBy("ann"))
	p.merge("gitops", pr)
	p.webhook(c, "pull_request", "acme/gitops", webhookSecret)
	p.webhook(c, "push", "acme/gitops", webhookSecret)
	merged := awaitChange(t, s, "a fix", "merged", func(c store.Change) bool { return !c.Merged.IsZero() && c.State == store.ChangeRolling })
	if merged.ApprovedBy != "ann" || merged.Approved.Before(at) || merged.Approved.After(merged.Merged) {
		t.Errorf("%+v, approved at %s", merged, at)
	}
}

// TestRebasedChange: what a merge puts onto the branch one by one is one change, and no push.
func TestRebasedChange(t *testing.T) {
	p := newPlatform(t)
	c, s, _ := p.run(nil)
	awaitPlacements(t, s, map[string]string{"edge-1": "ok 1.0", "edge-2": "ok 1.0"})
	repo := p.repos["shop-gitops"]
	commit := func(parent, subject string) string {
		return repo.Git("commit-tree", "-p", parent, "-m", subject, repo.Git("rev-parse", "dev^{tree}"))
	}
	base := p.heads["shop-gitops@dev"]
	head := base
	subjects := []string{"one", "two", "three"}
	for _, subject := range subjects {
		head = commit(head, subject)
	}
	repo.Git("update-ref", "refs/heads/ann/work", head)
	p.forge.Lock()
	pr := repo.Open("three commits", "dev", "ann/work", head)
	pr.Created, pr.Poster, pr.MergeBase = new(time.Now().UTC()), &gitea.User{UserName: "ann"}, base
	p.forge.Unlock()
	p.webhook(c, "pull_request", "acme/shop-gitops", webhookSecret)
	awaitChange(t, s, "three commits", "open", func(c store.Change) bool { return c.State == store.ChangeOpen })

	// somebody pushes, and the forge puts the three on top of that
	onto := commit(base, "by hand")
	var rebased []string
	for _, subject := range subjects {
		onto = commit(onto, subject)
		rebased = append(rebased, onto)
	}
	p.forge.Lock()
	repo.Git("update-ref", "refs/heads/dev", onto)
	pr.State, pr.HasMerged, pr.MergedCommitID, pr.Merged = gitea.StateClosed, true, &onto, new(time.Now().UTC())
	p.forge.Unlock()
	p.heads["shop-gitops@dev"] = onto
	p.webhook(c, "pull_request", "acme/shop-gitops", webhookSecret)
	p.webhook(c, "push", "acme/shop-gitops", webhookSecret)
	merged := awaitChange(t, s, "three commits", "merged, of three commits", func(c store.Change) bool { return c.SHA == onto && len(c.Sources) >= 3 })
	for i, sha := range rebased {
		if !slices.ContainsFunc(merged.Sources, func(s store.SourceCommit) bool { return s.SHA == sha && s.Subject == subjects[i] && s.URL != "" }) {
			t.Errorf("%s is not among %+v", sha, merged.Sources)
		}
	}
	awaitChange(t, s, "by hand", "a push", func(c store.Change) bool { return c.PullRequest == 0 })
	list, err := s.Changes(t.Context(), store.Scope{}, store.ChangeFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		if slices.Contains(subjects, c.Title) {
			t.Errorf("commit %q of a pull request looks like a push", c.Title)
		}
	}
}

// TestSourcesOfTheCommit: what the marker of a plan has no room for is in its commit.
func TestSourcesOfTheCommit(t *testing.T) {
	p := newPlatform(t)
	control := p.forge.URL + "/acme/control@"
	repo := p.repos["gitops"]
	message := "dev\n\n" + publish.SourceTrailer + ": " + control + p.heads["control@dev"] + "\n" + publish.SourceTrailer + ": " + control + p.heads["control@main"] + "\n"
	head := repo.Git("commit-tree", "-p", p.heads["gitops@dev"], "-m", message, repo.Git("rev-parse", p.heads["gitops@dev"]+"^{tree}"))
	repo.Git("update-ref", "refs/heads/kalypso/dev", head)
	p.forge.Lock()
	pr := repo.Open("very many", "dev", "kalypso/dev", head)
	pr.Created, pr.Poster = new(time.Now().UTC()), &gitea.User{UserName: giteafake.User}
	pr.Body = "text\n\n<!-- kalypso:plan sha256=1 environment=dev source=" + url.QueryEscape(control+p.heads["control@dev"]+",more") + " -->\n"
	p.forge.Unlock()
	_, s, _ := p.run(nil)
	one := awaitChange(t, s, "very many", "open", func(c store.Change) bool { return len(c.Sources) > 0 })
	if len(one.Sources) != 2 {
		t.Errorf("%+v", one.Sources)
	}
}

// TestUnchangedChanges: a round that says of changes what the one before has said writes nothing,
// also one of a hub that is started again and has to compare all of them.
func TestUnchangedChanges(t *testing.T) {
	p := newPlatform(t)
	pr := p.open("gitops", "kalypso/dev", "a plan", map[string]string{"small/shop-test/namespace.yaml": "kind: Namespace\n"}, p.forge.URL+"/acme/control@"+p.heads["control@dev"])
	p.merge("gitops", pr)
	p.open("gitops", "kalypso/dev", "another", map[string]string{"small/other/namespace.yaml": "kind: Namespace\n"}, p.forge.URL+"/acme/control@"+p.heads["control@dev"])
	p.setFleet(p.cluster("small", "edge-1"), p.cluster("large", "edge-2"))
	_, s, stop := p.run(nil)
	awaitChange(t, s, "a plan", "applied", func(c store.Change) bool { return c.State == store.ChangeApplied && c.Size != nil })
	awaitChange(t, s, "another", "open", func(c store.Change) bool { return c.State == store.ChangeOpen && c.Size != nil })
	await(t, "the sizes are with the pull requests", func() error {
		list, err := s.PullRequests(t.Context(), store.Scope{}, nil, []string{"open"}, store.Page{})
		if err == nil && (len(list.Items) != 1 || list.Items[0].Size == nil) {
			err = fmt.Errorf("%+v", list.Items)
		}
		return err
	})
	stop()
	ended, err := store.Open(t.Context(), store.Options{SQLite: p.file})
	if err != nil {
		t.Fatal(err)
	}
	last, err := ended.LastMessage(t.Context())
	if err := errors.Join(err, ended.Close()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, s, stop = p.run(nil)
	await(t, "rounds after the changes were looked at", func() error {
		all, err := s.Sources(t.Context())
		for _, one := range all {
			if err == nil && !one.LastOK.After(began) {
				err = fmt.Errorf("%s has not been looked at", one.Name)
			}
		}
		return err
	})
	rounds := time.Now()
	await(t, "a round after that", func() error {
		all, err := s.Sources(t.Context())
		if err == nil && !slices.ContainsFunc(all, func(one store.Source) bool { return one.Name == "clusters by test" && one.LastOK.After(rounds) }) {
			err = fmt.Errorf("%+v", all)
		}
		return err
	})
	written, err := s.Outbox(t.Context(), last, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range written {
		if m.Topic != "source" {
			t.Errorf("rounds that say the same have written a message of topic %s: %s", m.Topic, m.Payload)
		}
	}
	stop()
}
