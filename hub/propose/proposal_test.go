package propose_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func (h *hub) propose(key string, edits []object, headers ...string) reply {
	h.Helper()
	if key != "" {
		headers = append(headers, "Idempotency-Key", key)
	}
	return h.do(http.MethodPost, "/proposals", object{"environment": "dev", "edits": edits, "title": "Not at the edge"}, headers...)
}

func (h *hub) pulls() []githubfake.Pull {
	return slices.DeleteFunc(h.forge.Pulls(control), func(p githubfake.Pull) bool { return p.State != "open" })
}

func TestProposal(t *testing.T) {
	h := newHub(t)
	dev := h.forge.Branch(control, "dev")
	before := h.forge.Files(control, "dev")
	first := h.propose("key one", removeLabel, "If-Match", `"`+dev+`"`)
	p := read[propose.Proposal](h, http.StatusCreated, first)
	if first.Header.Get("Location") != "/api/v1/proposals/"+p.ID || p.State != "open" || p.Author != "owner" || p.Base != "dev" || p.Branch != "kalypso/_proposal/"+p.ID || !p.FourEyes {
		t.Errorf("%+v", p)
	}
	again := h.propose("key one", removeLabel)
	if again.StatusCode != http.StatusCreated || string(again.body) != string(first.body) {
		t.Errorf("the same key: %s: %s", again.Status, again.body)
	}
	same := read[propose.Proposal](h, http.StatusOK, h.propose("key two", removeLabel))
	if same.URL != p.URL || same.ID != p.ID {
		t.Errorf("the same edits: %+v", same)
	}
	pulls := h.pulls()
	if len(pulls) != 1 || pulls[0].Base != "dev" || pulls[0].Head != p.Branch || !strings.Contains(pulls[0].Body, "Proposed-by: `owner`") || h.forge.Branch(control, "dev") != dev {
		t.Errorf("%+v", pulls)
	}
	want := strings.Replace(before["cluster-types.yaml"], "    edge: \"true\" # for now\n", "", 1)
	if got := h.forge.Files(control, p.Branch); got["cluster-types.yaml"] != want || len(got) != len(before) {
		t.Errorf("%s", got["cluster-types.yaml"])
	}
	if a := h.propose("key one", []object{{"operation": "setLabel", "kind": "ClusterType", "name": "small", "key": "a", "value": "b"}}); a.StatusCode != 422 || a.location() != "header.Idempotency-Key" {
		t.Errorf("the key with another body: %s: %s", a.Status, a.body)
	}
	if a := h.propose("", removeLabel); a.StatusCode != http.StatusPreconditionRequired || a.problem().Type != "/problems/key-missing" {
		t.Errorf("without a key: %s: %s", a.Status, a.body)
	}
	viewer := h.token("viewer", api.Viewer, store.Scope{})
	if a := h.propose("key", removeLabel, "Authorization", "Bearer "+viewer); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: %s: %s", a.Status, a.body)
	}
	if got := h.auditOf("/api/v1/proposals"); len(got) != 6 || !strings.HasPrefix(got[0], "refused ") || got[5] != "done proposal "+p.ID+" for dev: "+p.URL {
		t.Errorf("%q", got)
	}
	if err := testutil.GatherAndCompare(h.registry, strings.NewReader(`# HELP kalypso_hub_proposals_total Requests for pull requests with edits: opened, repeated (it was there), closed, stale (the branch has moved), refused, failed.
# TYPE kalypso_hub_proposals_total counter
kalypso_hub_proposals_total{result="opened"} 1
kalypso_hub_proposals_total{result="refused"} 1
kalypso_hub_proposals_total{result="repeated"} 1
`), "kalypso_hub_proposals_total"); err != nil {
		t.Error(err)
	}

	list := read[api.List[propose.Proposal]](h, http.StatusOK, h.do(http.MethodGet, "/proposals?env=dev&state=open", nil))
	if len(list.Items) != 1 || list.Items[0].URL != p.URL || list.Items[0].Author != "owner" || list.Items[0].Environment != "dev" {
		t.Errorf("%+v", list)
	}
	if one := read[propose.Proposal](h, http.StatusOK, h.do(http.MethodGet, "/proposals/"+p.ID, nil)); one.Number != p.Number || one.Title != "Not at the edge" || one.CreatedAt.IsZero() {
		t.Errorf("%+v", one)
	}
	other := h.token("other", api.Proposer, store.Scope{})
	if a := h.do(http.MethodDelete, "/proposals/"+p.ID, nil, "Authorization", "Bearer "+other); a.StatusCode != http.StatusForbidden {
		t.Errorf("closed by somebody else: %s", a.Status)
	}
	if a := h.do(http.MethodDelete, "/proposals/"+p.ID, nil); a.StatusCode != http.StatusNoContent || len(h.pulls()) != 0 || h.forge.Branch(control, p.Branch) != "" {
		t.Errorf("closed: %s: %+v", a.Status, h.pulls())
	}
	if next := read[propose.Proposal](h, http.StatusCreated, h.propose("key three", removeLabel)); next.ID != p.ID || next.Number == p.Number || next.State != "open" {
		t.Errorf("after it was closed: %+v", next)
	}
	if a := h.do(http.MethodGet, "/proposals/"+strings.Repeat("0", 20), nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("one that there is not: %s", a.Status)
	}
}

func TestProposalOfABaseThatHasMoved(t *testing.T) {
	h := newHub(t)
	old := h.plan(removeLabel).Head
	h.forge.Push(control, "dev", map[string]string{"policies/more.yaml": strings.NewReplacer("name: edge", "name: more", `edge: "true"`, "size: large").Replace(h.forge.Files(control, "dev")["policies/edge.yaml"])})
	head := h.forge.Push(control, "dev", map[string]string{"notes.txt": "twice"})
	a := h.propose("a", removeLabel, "If-Match", `"`+old+`"`)
	p := a.problem()
	if a.StatusCode != http.StatusPreconditionFailed || p.Plan == nil || p.Plan.Head != head || p.Plan.Base != old || !p.Plan.Stale || p.Plan.Moved != 2 || names(p.Plan.Assignments.Lost) != "small/shop-near" || p.Plan.Assignments.Same != 4 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	if len(h.pulls()) != 0 {
		t.Errorf("%+v", h.pulls())
	}
	for _, force := range []reply{
		h.do(http.MethodPost, "/proposals?force=true", object{"environment": "dev", "edits": removeLabel, "title": "a"}, "Idempotency-Key", "b", "If-Match", old),
		h.do(http.MethodPost, "/proposals", object{"environment": "dev", "edits": removeLabel, "title": "a", "force": true}, "Idempotency-Key", "b", "If-Match", old),
	} {
		if force.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("forced: %s: %s", force.Status, force.body)
		}
	}
	made := read[propose.Proposal](h, http.StatusCreated, h.propose("a", removeLabel, "If-Match", `"`+p.Plan.Head+`"`))
	if files := h.forge.Files(control, made.Branch); files["notes.txt"] != "twice" || files["policies/more.yaml"] == "" {
		t.Errorf("it is not made on the head: %v", files)
	}
	// the same edits, when it has moved again, are the same pull request on the new head
	h.forge.Push(control, "dev", map[string]string{"notes.txt": "again"})
	same := read[propose.Proposal](h, http.StatusOK, h.propose("c", removeLabel))
	if files := h.forge.Files(control, same.Branch); same.Number != made.Number || files["notes.txt"] != "again" || len(h.pulls()) != 1 {
		t.Errorf("%+v: %v", same, files)
	}
}

func TestProposalThatWasCutOff(t *testing.T) {
	h := newHub(t)
	end := h.forge.Fail(githubfake.Fault{On: githubfake.Kinds("POST /repos/{owner}/{repo}/pulls"), Times: -1, Answer: githubfake.Status(http.StatusForbidden, "no")})
	if a := h.propose("a", removeLabel); a.StatusCode != http.StatusForbidden || len(h.pulls()) != 0 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	end()
	p := read[propose.Proposal](h, http.StatusCreated, h.propose("a", removeLabel))
	if got := h.pulls(); len(got) != 1 || got[0].Head != p.Branch || len(h.forge.Log(control, p.Branch, "%H")) != len(h.forge.Log(control, "dev", "%H"))+1 {
		t.Errorf("%+v", got)
	}
}

func TestProposalsAtOnce(t *testing.T) {
	h := newHub(t)
	var all sync.WaitGroup
	codes := make([]int, 6)
	for i := range codes {
		all.Go(func() { codes[i] = h.propose(string(rune('a'+i)), removeLabel).StatusCode })
	}
	all.Wait()
	slices.Sort(codes)
	if !slices.Equal(codes, []int{200, 200, 200, 200, 200, 201}) || len(h.pulls()) != 1 {
		t.Errorf("%v, %+v", codes, h.pulls())
	}
}

func TestMassRemovalIsConfirmed(t *testing.T) {
	h := newHub(t)
	files := map[string]string{}
	for i := range 12 {
		name := "many-" + string(rune('a'+i))
		files["many/"+name+".yaml"] = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: " + name + ", labels: {edge: \"true\"}}\nspec: {reconciler: flux, namespaceService: default}\n"
	}
	h.forge.Push(control, "dev", files)
	h.seen()
	merged := map[string]string{}
	for _, c := range h.commandPlan().Changes {
		merged[c.Path] = *c.Content
	}
	h.forge.Push(gitOps, "dev", merged)
	h.seen()
	edits := []object{{"operation": "deleteObject", "kind": "SchedulingPolicy", "name": "tests"}}
	p := h.plan(edits)
	if p.MassRemoval == nil || p.MassRemoval.Count < 13 || p.MassRemoval.Of <= p.MassRemoval.Count {
		t.Fatalf("%+v, %s", p.MassRemoval, p.Summary)
	}
	if a := h.propose("a", edits); a.StatusCode != http.StatusUnprocessableEntity || a.location() != "body.confirm" {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if a := h.do(http.MethodPost, "/proposals", object{"environment": "dev", "edits": edits, "title": "a", "confirm": "dev"}, "Idempotency-Key", "b"); a.StatusCode != http.StatusCreated {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

func TestFourEyes(t *testing.T) {
	h := newHub(t)
	p := read[propose.Proposal](h, http.StatusCreated, h.propose("a", removeLabel))
	f := h.collector.Forge()
	expect := func(what string, want forge.StatusState) {
		t.Helper()
		list, err := f.PullRequests(t.Context(), control, p.Branch, "dev")
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		if err := propose.Watch(t.Context(), f, h.collector.Key(), control, list[0]); err != nil {
			t.Fatal(err)
		}
		all, err := f.Statuses(t.Context(), control, list[0].HeadCommit)
		i := slices.IndexFunc(all, func(s forge.Status) bool { return s.Context == propose.FourEyes })
		if err != nil || i < 0 || all[i].State != want {
			t.Errorf("%s: %+v, %v", what, all, err)
		}
		if one := read[propose.Proposal](h, http.StatusOK, h.do(http.MethodGet, "/proposals/"+p.ID, nil)); one.FourEyes != (want == forge.Pending) {
			t.Errorf("%s: %+v", what, one)
		}
	}
	ann := h.forge.User("ann")
	expect("nobody has approved", forge.Pending)
	h.forge.Review(h.bot, control, p.Number, "APPROVED")
	expect("who has opened it has approved", forge.Pending)
	h.forge.Review(h.forge.User("Owner"), control, p.Number, "APPROVED")
	expect("who has proposed it has approved", forge.Pending)
	h.forge.Review(ann, control, p.Number, "CHANGES_REQUESTED")
	expect("somebody else has not approved", forge.Pending)
	h.forge.Review(ann, control, p.Number, "APPROVED")
	expect("somebody else has approved", forge.Success)
	h.forge.Push(control, p.Branch, map[string]string{"more.txt": "more"})
	expect("there is another commit", forge.Pending)
}

// TestProposalOfAnEditedText: who may edit the text of a pull request makes it nobody else's by that.
func TestProposalOfAnEditedText(t *testing.T) {
	h := newHub(t)
	ben := []string{"Authorization", "Bearer " + h.token("ben", api.Proposer, store.Scope{})}
	f := h.collector.Forge()
	for name, edited := range map[string]func(string) string{
		"another author": func(s string) string { return strings.ReplaceAll(s, "author=ben", "author=somebody") },
		"its own":        func(s string) string { return strings.ReplaceAll(s, "author=ben", "author=ben&own=true") },
		"no signature":   func(s string) string { return regexp.MustCompile(`&mac=\w+`).ReplaceAllString(s, "") },
		"a second":       func(s string) string { return s + "<!-- kalypso:proposal author=ann&environment=dev -->\n" },
	} {
		p := read[propose.Proposal](h, http.StatusCreated, h.propose(name, removeLabel, ben...))
		list, err := f.PullRequests(t.Context(), control, p.Branch, "dev")
		if err != nil || len(list) == 0 {
			t.Fatalf("%v, %v", list, err)
		}
		pr := list[slices.IndexFunc(list, func(pr forge.PullRequest) bool { return pr.State == forge.Open })]
		text := edited(pr.Body)
		if text == pr.Body {
			t.Fatalf("%s: nothing to edit in %s", name, text)
		}
		pr.Body = text
		if _, err := f.SavePullRequest(t.Context(), control, pr); err != nil {
			t.Fatal(err)
		}
		h.forge.Review(h.forge.User("ben"), control, pr.Number, "APPROVED")
		watch := func() propose.Proposal {
			t.Helper()
			pr, err := f.PullRequests(t.Context(), control, p.Branch, "dev")
			if err == nil {
				err = propose.Watch(t.Context(), f, h.collector.Key(), control, pr[slices.IndexFunc(pr, func(pr forge.PullRequest) bool { return pr.State == forge.Open })])
			}
			if err != nil {
				t.Fatal(err)
			}
			return read[propose.Proposal](h, http.StatusOK, h.do(http.MethodGet, "/proposals/"+p.ID, nil))
		}
		if one := watch(); !one.FourEyes || one.Author != "" {
			t.Errorf("%s: %+v", name, one)
		}
		if a := h.do(http.MethodDelete, "/proposals/"+p.ID, nil, ben...); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s: closed by somebody: %s", name, a.Status)
		}
		// who proposes it again has looked at it: then two have
		next := read[propose.Proposal](h, http.StatusOK, h.propose(name+" again", removeLabel))
		if one := watch(); next.Number != p.Number || one.FourEyes || one.Author != "owner" {
			t.Errorf("%s: proposed again: %+v, %+v", name, next, one)
		}
		if a := h.do(http.MethodDelete, "/proposals/"+p.ID, nil); a.StatusCode != http.StatusNoContent {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
}

// TestProposalIsClosedByItsAuthor, who need not be an operator.
func TestProposalIsClosedByItsAuthor(t *testing.T) {
	h := newHub(t)
	var tokens [2][]string
	for i, name := range []string{"ben", "eve"} {
		tokens[i] = []string{"Authorization", "Bearer " + h.token(name, api.Proposer, store.Scope{})}
	}
	p := read[propose.Proposal](h, http.StatusCreated, h.propose("a", removeLabel, tokens[0]...))
	if a := h.do(http.MethodDelete, "/proposals/"+p.ID, nil, tokens[1]...); a.StatusCode != http.StatusForbidden || len(h.pulls()) != 1 {
		t.Errorf("by another: %s", a.Status)
	}
	if a := h.do(http.MethodDelete, "/proposals/"+p.ID, nil, tokens[0]...); a.StatusCode != http.StatusNoContent || len(h.pulls()) != 0 {
		t.Errorf("by its author: %s: %s", a.Status, a.body)
	}
}

// TestProposalOfAnEditedTextAgain: nor by proposing the same as a user of the forge, who would set the
// status with an account of their own.
func TestProposalOfAnEditedTextAgain(t *testing.T) {
	h, token := newHubOfTheForge(t, "ben")
	p := read[propose.Proposal](h, http.StatusCreated, h.propose("a", removeLabel, "Authorization", "Bearer "+h.token("ben", api.Proposer, store.Scope{})))
	f := h.collector.Forge()
	list, err := f.PullRequests(t.Context(), control, p.Branch, "dev")
	if err != nil || len(list) != 1 || p.Author != "ben" {
		t.Fatalf("%+v, %v, %v", p, list, err)
	}
	list[0].Body = strings.ReplaceAll(list[0].Body, "author=ben", "author=ann")
	if _, err := f.SavePullRequest(t.Context(), control, list[0]); err != nil {
		t.Fatal(err)
	}
	ben := h.forge.User("ben")
	h.forge.Review(ben, control, p.Number, "APPROVED")
	*token = ben.Token
	again := read[propose.Proposal](h, http.StatusOK, h.propose("b", removeLabel))
	*token = ""
	if list, err = f.PullRequests(t.Context(), control, p.Branch, "dev"); err == nil {
		err = propose.Watch(t.Context(), f, h.collector.Key(), control, list[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	if one := read[propose.Proposal](h, http.StatusOK, h.do(http.MethodGet, "/proposals/"+p.ID, nil)); again.Number != p.Number || !one.FourEyes || one.Author != "" {
		t.Errorf("%+v, %+v", again, one)
	}
}

// newHubOfTheForge is a hub to which a user of the forge has signed in as soon as there is a token.
func newHubOfTheForge(t *testing.T, login string) (*hub, *string) {
	t.Helper()
	token := new(string)
	return newHub(t, func(o *api.Options) {
		o.Proposals.UserForge = func(context.Context) (string, string, bool) { return *token, login, *token != "" }
		config := controller.Config{Forge: controller.ForgeConfig{Type: controller.GitHub}}
		o.Proposals.Connect = func(token, login string) (controller.Repositories, error) {
			config.Forge.URL, _, _ = strings.Cut(o.Proposals.Repositories()[0], "/"+control)
			return config.ConnectAs(token, login, nil)
		}
	}), token
}

func TestProposalOfAUserOfTheForge(t *testing.T) {
	h, token := newHubOfTheForge(t, "ann")
	*token = h.forge.User("ann").Token
	p := read[propose.Proposal](h, http.StatusCreated, h.propose("a", removeLabel))
	if got := h.pulls(); len(got) != 1 || got[0].Author != "ann" || strings.Contains(got[0].Body, "Proposed-by") || p.FourEyes || p.Author != "ann" {
		t.Errorf("%+v, %+v", got, p)
	}
}
