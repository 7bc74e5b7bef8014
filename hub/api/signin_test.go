package api_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
)

// enter spends a ticket, and returns a change that makes requests those of the session.
func (h *hub) enter(ticket string) (a answer, session func(*http.Request)) {
	h.Helper()
	body, err := json.Marshal(map[string]string{"ticket": ticket})
	if err != nil {
		h.Fatal(err)
	}
	a = h.do(http.MethodPost, "/enter", string(body), nobody)
	return a, func(r *http.Request) {
		nobody(r)
		for _, c := range a.Cookies() {
			r.AddCookie(c)
		}
	}
}

func (h *hub) ticket(role api.Role) string {
	h.Helper()
	ticket, err := h.store.CreateTicket(h.Context(), store.Identity{Subject: "user", Role: string(role), Expires: time.Now().Add(12 * time.Hour)}, time.Minute)
	if err != nil {
		h.Fatal(err)
	}
	return ticket
}

func TestSession(t *testing.T) {
	h := newHub(t)
	ticket := h.ticket(api.Operator)
	h.do(http.MethodGet, "/enter?t="+ticket, "", nobody) // a preview of the link
	a, session := h.enter(ticket)
	if a.StatusCode != http.StatusNoContent || len(a.Cookies()) != 1 {
		t.Fatalf("%s %v: %s", a.Status, a.Cookies(), a.body)
	}
	if c := a.Cookies()[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.MaxAge < 3600 || !strings.HasSuffix(c.Name, h.server.URL[strings.LastIndex(h.server.URL, ":")+1:]) {
		t.Errorf("cookie %v", c)
	}
	if again, _ := h.enter(ticket); again.StatusCode != http.StatusUnauthorized || again.problem().Type != "/problems/spent-ticket" || len(again.Cookies()) > 0 {
		t.Errorf("spent twice: %s: %s", again.Status, again.body)
	}
	me := get[api.Me](h, "/api/v1/me", session)
	if me.Subject != "user" || me.Role != api.Operator || me.CSRF == "" || me.Features.Sandbox || me.Links["forge"] == "" {
		t.Errorf("%+v", me)
	}

	// writes need X-CSRF, reads do not
	body := `{"name": "ci", "role": "viewer"}`
	for value, want := range map[string]int{"": http.StatusForbidden, "guess": http.StatusForbidden, me.CSRF: http.StatusCreated} {
		if a := h.do(http.MethodPost, "/api/v1/tokens", body, session, header("X-CSRF", value)); a.StatusCode != want {
			t.Errorf("X-CSRF %q: %s: %s", value, a.Status, a.body)
		}
	}
	if entry := h.audit(1)[0]; entry.Actor != "user" && entry.Via != "session" {
		t.Errorf("audit: %+v", entry)
	}

	left := h.do(http.MethodDelete, "/api/v1/session", "", session, header("X-CSRF", me.CSRF))
	if left.StatusCode != http.StatusNoContent || len(left.Cookies()) != 1 || left.Cookies()[0].MaxAge >= 0 {
		t.Errorf("sign out: %s %v", left.Status, left.Cookies())
	}
	if a := h.do(http.MethodGet, "/api/v1/me", "", session); a.StatusCode != http.StatusUnauthorized || a.problem().Type != "/problems/not-signed-in" {
		t.Errorf("after sign out: %s: %s", a.Status, a.body)
	}
}

func TestCookieUnderTLS(t *testing.T) {
	h := newHub(t, func(o *api.Options) { o.Secure = true })
	a, _ := h.enter(h.ticket(api.Viewer))
	if len(a.Cookies()) != 1 || !a.Cookies()[0].Secure || !strings.HasPrefix(a.Cookies()[0].Name, "__Host-") {
		t.Errorf("cookie %v", a.Cookies())
	}
}

func TestEnterRefuses(t *testing.T) {
	h := newHub(t)
	for body, want := range map[string]int{
		`{"ticket": `: 400, `{"ticket": "x"} more`: 400, `{"tiket": "x"}`: 422, `{"ticket": ""}`: 422, `{"ticket": "x"}`: 401,
		`{"ticket": "` + strings.Repeat("x", 1<<20) + `"}`: 413,
	} {
		a := h.do(http.MethodPost, "/enter", body, nobody)
		if p := a.problem(); a.StatusCode != want || p.Type == "" || p.Instance == "" {
			t.Errorf("%.20s: %s: %s", body, a.Status, a.body)
		}
	}
	if a := h.do(http.MethodPost, "/enter", "ticket=x", nobody, header("Content-Type", "application/x-www-form-urlencoded")); a.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %s", a.Status)
	}
}

// TestElsewhere is about pages of other origins, and names of other hosts.
func TestElsewhere(t *testing.T) {
	h := newHub(t)
	_, session := h.enter(h.ticket(api.Owner))
	me := get[api.Me](h, "/api/v1/me", session)
	const body = `{"name": "theirs", "role": "viewer"}`
	for name, headers := range map[string]map[string]string{
		"a page on another port, by Sec-Fetch-Site": {"Sec-Fetch-Site": "same-site"},
		"a page on another port, by Origin":         {"Origin": "http://127.0.0.1:1"},
		"a page of elsewhere":                       {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"},
	} {
		a := h.do(http.MethodPost, "/api/v1/tokens", body, session, header("X-CSRF", me.CSRF), func(r *http.Request) {
			for name, value := range headers {
				r.Header.Set(name, value)
			}
		})
		if a.StatusCode != http.StatusForbidden || a.problem().Type != "/problems/cross-origin" {
			t.Errorf("%s: %s: %s", name, a.Status, a.body)
		}
		if entry := h.audit(1)[0]; entry.Outcome != "refused" || entry.RequestID != a.problem().Instance {
			t.Errorf("%s: audit %+v", name, entry)
		}
	}
	tokens := get[api.List[api.Token]](h, "/api/v1/tokens")
	for _, one := range tokens.Items {
		if one.Name == "theirs" {
			t.Error("a token was made")
		}
	}
	for host, want := range map[string]int{"evil.test": 421, "evil.test:80": 421, "127.0.0.1": 200, "127.0.0.1:1234": 200, "127.0.0.1.evil.test": 421} {
		a := h.do(http.MethodGet, "/api/v1/me", "", func(r *http.Request) { r.Host = host })
		if a.StatusCode != want {
			t.Errorf("host %s: %s: %s", host, a.Status, a.body)
		}
		if want == http.StatusMisdirectedRequest && a.problem().Type != "/problems/unknown-host" {
			t.Errorf("host %s: %s", host, a.body)
		}
	}
	if _, err := api.New(api.Options{Store: h.store}); err == nil {
		t.Error("a hub without hosts answers any")
	}
}

// TestScope is about what is of others: it is not there, and that it was asked for is known.
func TestScope(t *testing.T) {
	h := newHub(t)
	viewer := as(h.token("viewer", api.Viewer, store.Scope{Workspaces: []string{"team-a"}, Environments: []string{"dev"}}))
	for _, c := range []struct {
		method, path, body string
		status             int
		hidden             bool // in the audit
	}{
		{"GET", "/placements/dev/drone/web-east", "", 200, false},
		{"GET", "/placements/dev/drone/jobs-batch", "", 404, true},
		{"GET", "/placements/dev/drone/jobs-batch/events", "", 404, true},
		{"GET", "/placements/dev/drone/nothing", "", 404, false},
		{"GET", "/placements/stage/drone/web-east", "", 404, true},
		{"GET", "/environments/stage", "", 404, true},
		{"GET", "/environments/stage/matrix", "", 404, true},
		{"GET", "/placements?env=stage", "", 404, true},
		{"GET", "/workloads/jobs", "", 404, true},
		{"GET", "/workloads/web", "", 200, false},
		{"GET", "/explain?env=dev&target=jobs-batch", "", 404, true},
		{"GET", "/explain?env=dev&target=web-east", "", 200, false},
		{"GET", "/audit", "", 403, true},
		{"GET", "/tokens", "", 403, true},
		{"POST", "/tokens", `{"name": "mine", "role": "owner"}`, 403, true},
		{"DELETE", "/tokens/owner", "", 403, true},
	} {
		before := h.audit(1)
		a := h.do(c.method, "/api/v1"+c.path, c.body, viewer)
		if a.StatusCode != c.status {
			t.Errorf("%s %s: %s: %s", c.method, c.path, a.Status, a.body)
		}
		if strings.Contains(string(a.body), "jobs-batch") && !strings.Contains(c.path, "jobs-batch") || strings.Contains(string(a.body), "team-b") {
			t.Errorf("%s %s has names of others: %s", c.method, c.path, a.body)
		}
		after := h.audit(1)
		if c.hidden {
			if e := after[0]; e.Actor != "viewer" || e.Via != "token" || e.Outcome != "refused" || e.RequestID != a.problem().Instance || !strings.HasPrefix(c.path, strings.TrimPrefix(e.Subject, "/api/v1")) {
				t.Errorf("%s %s: audit %+v", c.method, c.path, e)
			}
		} else if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s %s is in the audit: %s", c.method, c.path, diff)
		}
	}

	// lists have what is in scope alone
	for _, p := range get[api.List[api.Placement]](h, "/api/v1/placements", viewer).Items {
		if p.Workspace != "team-a" || p.Environment != "dev" {
			t.Errorf("%s in %s of %s is listed", p.Target, p.Environment, p.Workspace)
		}
	}
	if list := get[api.List[api.Environment]](h, "/api/v1/environments", viewer); len(list.Items) != 1 || list.Items[0].Counts["ok"] != 3 {
		t.Errorf("environments: %+v", list)
	}
	for kind, want := range map[string]int{"targets": 1, "assignments": 1, "registrations": 1, "policies": 1} {
		a := h.do(http.MethodGet, "/api/v1/environments/dev/"+kind, "", viewer)
		var list api.List[json.RawMessage]
		if err := json.Unmarshal(a.body, &list); err != nil || len(list.Items) != want || strings.Contains(string(a.body), "jobs") {
			t.Errorf("%s: %v: %s", kind, err, a.body)
		}
	}
}

func TestTokens(t *testing.T) {
	h := newHub(t)
	operator := as(h.token("operator", api.Operator, store.Scope{}))
	a := h.do(http.MethodPost, "/api/v1/tokens", `{"name": "ci", "role": "viewer", "workspaces": ["team-a"], "expires": "2100-01-01T00:00:00Z"}`, operator)
	var made api.CreatedToken
	if err := json.Unmarshal(a.body, &made); err != nil || a.StatusCode != http.StatusCreated || made.Secret == "" || made.Name != "ci" {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	if entry := h.audit(1)[0]; entry.Actor != "operator" || entry.Outcome != "done" || entry.Action != "POST /api/v1/tokens" || !strings.Contains(entry.Detail, "ci") || strings.Contains(entry.Detail, made.Secret) {
		t.Errorf("audit: %+v", entry)
	}
	me := get[api.Me](h, "/api/v1/me", as(made.Secret))
	if diff := cmp.Diff(api.Scope{Workspaces: []string{"team-a"}, Environments: []string{}}, me.Scope); diff != "" || me.Role != api.Viewer || me.CSRF != "" {
		t.Errorf("%+v %s", me, diff)
	}
	list := h.do(http.MethodGet, "/api/v1/tokens", "", operator)
	if !strings.Contains(string(list.body), `"ci"`) || strings.Contains(string(list.body), made.Secret) {
		t.Errorf("list: %s", list.body)
	}
	if a := h.do(http.MethodPost, "/api/v1/tokens", `{"name": "more", "role": "owner"}`, operator); a.StatusCode != http.StatusForbidden {
		t.Errorf("an operator makes an owner: %s", a.Status)
	}
	if a := h.do(http.MethodDelete, "/api/v1/tokens/ci", "", operator); a.StatusCode != http.StatusNoContent {
		t.Errorf("revoke: %s: %s", a.Status, a.body)
	}
	if a := h.do(http.MethodGet, "/api/v1/me", "", as(made.Secret)); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("revoked: %s", a.Status)
	}
	entries := get[api.List[api.AuditEntry]](h, "/api/v1/audit?limit=2", operator)
	if len(entries.Items) != 2 || entries.Items[0].Actor == "" || entries.Next == "" {
		t.Errorf("audit: %+v", entries)
	}
}

func TestFailedSignIns(t *testing.T) {
	h := newHub(t)
	for i := range 25 {
		a := h.do(http.MethodGet, "/api/v1/me", "", as("kht_"+strconv.Itoa(i)))
		want := http.StatusUnauthorized
		if i >= 20 {
			want = http.StatusTooManyRequests
			if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
				t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
			}
		} else if a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("WWW-Authenticate: %q", a.Header.Get("WWW-Authenticate"))
		}
		if a.StatusCode != want {
			t.Fatalf("sign-in %d: %s: %s", i, a.Status, a.body)
		}
	}
	if entries := h.audit(30); len(entries) != 20 || entries[0].Outcome != "refused" || entries[0].Actor != "127.0.0.1" {
		t.Errorf("%d entries in the audit: %+v", len(entries), entries[0])
	}
	if a := h.do(http.MethodGet, "/api/v1/me", ""); a.StatusCode != http.StatusOK {
		t.Errorf("a valid token of the same address: %s", a.Status)
	}
	if a, _ := h.enter("guess"); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a ticket that is none: %s", a.Status)
	}
	if a := h.do(http.MethodGet, "/api/v1/me", "", nobody); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody: %s", a.Status)
	}
}
