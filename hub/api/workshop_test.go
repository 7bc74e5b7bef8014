package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
)

// lessons is a workshop of one scenario with two steps; the second is being done.
type lessons struct{ solved *[]string }

func (lessons) known(name string, step int) error {
	if name != "onboard-app" || step > 2 {
		return fmt.Errorf("there is no step %d of %s: %w", step, name, store.ErrNotFound)
	}
	return nil
}

func (lessons) listed() api.WorkshopScenario {
	return api.WorkshopScenario{Name: "onboard-app", Title: "Onboard", Needs: []string{}, Done: []bool{true, false}}
}

func (l lessons) Scenarios(context.Context) ([]api.WorkshopScenario, error) {
	return []api.WorkshopScenario{l.listed()}, nil
}

func (l lessons) Scenario(_ context.Context, name string) (api.WorkshopDetail, error) {
	return api.WorkshopDetail{WorkshopScenario: l.listed(), Intro: []api.WorkshopBlock{}, Steps: []api.WorkshopStep{{Title: "Push", Blocks: []api.WorkshopBlock{}}}}, l.known(name, 1)
}

func (l lessons) Check(_ context.Context, name string, step int) (api.WorkshopCheck, error) {
	return api.WorkshopCheck{State: "waiting", Reason: reason, Unmet: 7, At: time.Now(), Done: []bool{true, false}}, l.known(name, step)
}

func (l lessons) Acknowledge(_ context.Context, name string, step int) error {
	return l.known(name, step)
}

func (l lessons) Hint(_ context.Context, name string, step, number int) ([]api.WorkshopBlock, error) {
	return []api.WorkshopBlock{{Kind: "text", Spans: []api.WorkshopSpan{{Text: fmt.Sprint("hint ", number)}}}}, l.known(name, step)
}

func (l lessons) ToDo(_ context.Context, name string, step int) ([]api.WorkshopBlock, error) {
	return nil, l.known(name, step)
}

func (l lessons) Solve(_ context.Context, name string, step int) error {
	if step == 2 {
		return fmt.Errorf("step 2 goes on: %w", api.ErrBusy)
	}
	if err := l.known(name, step); err != nil {
		return err
	}
	*l.solved = append(*l.solved, fmt.Sprint(name, " ", step))
	return nil
}

func (l lessons) File(_ context.Context, name, file string) (string, error) {
	return "<script>of " + file, l.known(name, 1)
}

func TestWorkshop(t *testing.T) {
	var solved []string
	h := newHub(t, func(o *api.Options) { o.Workshop = lessons{&solved} })
	viewer := as(h.token("viewer", api.Viewer, store.Scope{}))
	if f := get[api.Me](h, "/api/v1/me", viewer).Features; !f.Workshop || f.Sandbox {
		t.Errorf("%+v", f)
	}
	const scenario = "/api/v1/workshop/scenarios/onboard-app"
	if all := get[api.List[api.WorkshopScenario]](h, "/api/v1/workshop/scenarios", viewer); len(all.Items) != 1 || len(all.Items[0].Done) != 2 {
		t.Errorf("%+v", all)
	}
	if d := get[api.WorkshopDetail](h, scenario, viewer); d.Name != "onboard-app" || len(d.Steps) != 1 {
		t.Errorf("%+v", d)
	}
	if c := get[api.WorkshopCheck](h, scenario+"/steps/1/check", viewer); c.State != "waiting" || c.Unmet != 7 || strings.Contains(c.Reason, "\x1b") {
		t.Errorf("%+v", c)
	}
	if b := get[api.WorkshopBlocks](h, scenario+"/steps/1/hint?number=2", viewer); len(b.Blocks) != 1 || b.Blocks[0].Spans[0].Text != "hint 2" {
		t.Errorf("%+v", b)
	}
	if a := h.do(http.MethodGet, scenario+"/steps/1/solve", "", viewer); string(a.body) != `{"blocks":[]}`+"\n" {
		t.Errorf("nothing to do: %s: %s", a.Status, a.body)
	}
	// a file is saved, and never run
	if a := h.do(http.MethodGet, scenario+"/files/dir%2Fpolicy.yaml", "", viewer); string(a.body) != "<script>of dir/policy.yaml" ||
		!strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") || a.Header.Get("Content-Disposition") != `attachment; filename="policy.yaml"` || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %v: %s", a.Status, a.Header, a.body)
	}

	operator := as(h.token("operator", api.Operator, store.Scope{}))
	for _, c := range []struct {
		method, path string
		status       int // of the owner
	}{
		{"POST", "/steps/1/check", 204}, {"POST", "/steps/1/solve", 202}, {"POST", "/steps/2/solve", 409}, {"POST", "/steps/3/solve", 404},
	} {
		if a := h.do(c.method, scenario+c.path, "", operator); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s for an operator: %s", c.path, a.Status)
		}
		if a := h.do(c.method, scenario+c.path, ""); a.StatusCode != c.status {
			t.Errorf("%s: %s: %s", c.path, a.Status, a.body)
		}
	}
	if len(solved) != 1 || solved[0] != "onboard-app 1" {
		t.Errorf("done: %q", solved)
	}
	done := 0
	for _, e := range h.audit(20) {
		if strings.HasSuffix(e.Action, "/solve") && e.Actor == "owner" && e.Outcome == "done" && e.Detail == "scenario onboard-app, step 1" {
			done++
		}
	}
	if done != 1 {
		t.Errorf("the audit has the step %d times: %+v", done, h.audit(20))
	}
	for path, status := range map[string]int{"/steps/0/check": 422, "/steps/x/check": 422, "/steps/9/check": 404, "/steps/1/hint?number=0": 422, "/steps/1/hint?n=1": 422} {
		if a := h.do(http.MethodGet, scenario+path, ""); a.StatusCode != status {
			t.Errorf("%s: %s, not %d: %s", path, a.Status, status, a.body)
		}
	}
	without := newHub(t)
	if a := without.do(http.MethodGet, "/api/v1/workshop/scenarios", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("without a workshop: %s", a.Status)
	}
}

// TestShare: the link lets in everybody who has it, any number of times, to look; nothing else
// lets in anybody.
func TestShare(t *testing.T) {
	var solved []string
	const secret = "a-secret-of-the-link"
	h := newHub(t, func(o *api.Options) {
		o.Workshop, o.Share, o.Links, o.Secure = lessons{&solved}, &api.Share{Token: secret}, nil, true
	})
	owner := as(h.owner)
	if a := h.do(http.MethodGet, "/api/v1/me", "", owner); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("an owner's token: %s", a.Status)
	}
	if a, _ := h.enter(h.ticket(api.Owner)); a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) > 0 {
		t.Errorf("an owner's ticket: %s", a.Status)
	}
	var session func(*http.Request)
	var cookie string
	for range 3 {
		var a answer
		if a, session = h.enter(secret); a.StatusCode != http.StatusNoContent || len(a.Cookies()) != 1 || !a.Cookies()[0].Secure || !a.Cookies()[0].HttpOnly {
			t.Fatalf("%s %v: %s", a.Status, a.Cookies(), a.body)
		}
		cookie = a.Cookies()[0].Value
	}
	me := get[api.Me](h, "/api/v1/me", session)
	if me.Role != api.Viewer || !me.Features.Workshop || me.Features.Sandbox || len(me.Links) > 0 {
		t.Errorf("%+v", me)
	}
	get[api.WorkshopCheck](h, "/api/v1/workshop/scenarios/onboard-app/steps/1/check", session)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "workshop/scenarios/onboard-app/steps/1/solve", ""}, {"POST", "workshop/scenarios/onboard-app/steps/1/check", ""},
		{"GET", "audit", ""}, {"GET", "tokens", ""}, {"POST", "tokens", `{"name": "x", "role": "viewer"}`},
	} {
		if a := h.do(c.method, "/api/v1/"+c.path, c.body, session); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %s", c.method, c.path, a.Status)
		}
	}
	if a := h.do(http.MethodGet, "/api/v1/sandbox", "", session); a.StatusCode != http.StatusNotFound {
		t.Errorf("the sandbox: %s", a.Status)
	}
	if len(solved) > 0 {
		t.Errorf("done: %q", solved)
	}

	// the hub of the sandbox takes nothing of the share's, and another share neither
	for name, other := range map[string]*api.Share{"the hub itself": nil, "a later share": {Token: "another"}} {
		o := newHub(t, func(o *api.Options) { o.Share, o.Secure = other, true })
		theirs := func(r *http.Request) {
			nobody(r)
			r.AddCookie(&http.Cookie{Name: "__Host-kalypso_hub_" + o.server.URL[strings.LastIndex(o.server.URL, ":")+1:], Value: cookie})
		}
		if a := o.do(http.MethodGet, "/api/v1/me", "", theirs); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s lets in a session of the share: %s", name, a.Status)
		}
		if a, _ := o.enter(secret); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s takes the link: %s", name, a.Status)
		}
	}

	// who guesses is slowed down, and who has the link still gets in
	var last answer
	for range 30 {
		last, _ = h.enter("a guess")
	}
	if last.StatusCode != http.StatusTooManyRequests || last.Header.Get("Retry-After") == "" {
		t.Errorf("thirty guesses: %s", last.Status)
	}
	if a, _ := h.enter(secret); a.StatusCode != http.StatusNoContent {
		t.Errorf("the link after others have guessed: %s", a.Status)
	}
	if a := h.do(http.MethodGet, "/api/v1/me", "", nobody); a.StatusCode != http.StatusUnauthorized || !json.Valid(a.body) {
		t.Errorf("nobody: %s", a.Status)
	}
}
