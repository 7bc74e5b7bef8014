package api_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/auth"
)

const clientSecret = "the hub's secret"

// provider runs the OpenID provider, for a hub at a URL.
func provider(t *testing.T, hub string) (issuer string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "oidcserver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../internal/testkit/oidcserver", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.CommandContext(t.Context(), file, "-client", "hub", "-secret", clientSecret, "-redirect", hub+"/signin/oidc/callback")
	c.Stderr = t.Output()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// withWays gives a hub ways to sign in, for which it has to know its own address.
func (h *hub) withWays(rules auth.Rules, ways ...auth.Way) {
	h.Helper()
	h.server.Config.Handler = h.handler(func(o *api.Options) {
		o.Registry = prometheus.NewRegistry()
		o.SignIn = auth.New(h.server.URL, rules, 0, ways...)
	})
}

// browser is one with cookies. It shows pages.
type browser struct {
	*hub
	client *http.Client
}

func (h *hub) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	return &browser{h, &http.Client{Jar: jar}}
}

// open follows redirects, and returns the page and where it is.
func (b *browser) open(address string, form url.Values) (*http.Response, string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), deadline)
	defer cancel()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := b.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res, string(page)
}

// signIn signs in at the provider as a user, and ends on the page that the hub sends it to.
func (b *browser) signIn(user, to string) (*http.Response, string) {
	b.Helper()
	res, page := b.open(b.server.URL+"/signin/oidc?to="+url.QueryEscape(to), nil)
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Request.URL.Path, "/login/") {
		b.Fatalf("%s %s: %s", res.Request.URL, res.Status, page)
	}
	id := res.Request.URL.Query().Get("authRequestID")
	return b.open(res.Request.URL.Scheme+"://"+res.Request.URL.Host+"/login/username", url.Values{"id": {id}, "username": {user}, "password": {"verysecure"}})
}

// session makes requests those of the browser.
func (b *browser) session(r *http.Request) {
	nobody(r)
	for _, c := range b.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
}

var oidcRules = auth.Rules{
	{Group: "platform", Role: auth.Operator},
	{Group: "kaizen-app", Role: auth.Proposer, Workspaces: []string{"team-a"}, Environments: []string{"dev"}},
}

// TestOIDC signs in at a real OpenID provider.
func TestOIDC(t *testing.T) {
	h := newHub(t)
	issuer := provider(t, h.server.URL)
	h.withWays(oidcRules, (&auth.OIDC{Issuer: issuer, ClientID: "hub", Secret: clientSecret, Scopes: []string{"profile", "email", "offline_access"}, Title: "Example"}).Way())

	ways := get[api.Ways](h, "/api/v1/sign-in", nobody)
	if diff := cmp.Diff(api.Ways{Ways: []api.Way{{Name: "oidc", Title: "Example", Path: "/signin/oidc"}}}, ways); diff != "" {
		t.Error(diff)
	}

	ann := h.browser()
	res, page := ann.signIn("ann", "/drift?env=dev")
	if res.Request.URL.Path != "/drift" || res.Request.URL.RawQuery != "env=dev" || res.Request.URL.Host != strings.TrimPrefix(h.server.URL, "http://") {
		t.Fatalf("%s %s: %s", res.Request.URL, res.Status, page)
	}
	me := get[api.Me](h, "/api/v1/me", ann.session)
	if me.Subject != "ann@example.com" || me.Role != api.Operator || me.CSRF == "" || time.Until(me.Expires) < 11*time.Hour {
		t.Errorf("%+v", me)
	}
	if e := h.audit(1)[0]; e.Actor != "ann@example.com" || e.Via != "oidc" || e.Outcome != "done" || e.Action != "GET /signin/{way}/callback" {
		t.Errorf("audit %+v", e)
	}

	// a role in a scope: what is not in it is not there
	ben := h.browser()
	ben.signIn("ben", "")
	if me := get[api.Me](h, "/api/v1/me", ben.session); me.Role != api.Proposer || cmp.Diff(api.Scope{Workspaces: []string{"team-a"}, Environments: []string{"dev"}}, me.Scope) != "" {
		t.Errorf("%+v", me)
	}
	for path, want := range map[string]int{
		"/placements/dev/drone/web-east": 200, "/placements/dev/drone/jobs-batch": 404, "/placements/stage/drone/web-east": 404, "/audit": 403,
	} {
		a := h.do(http.MethodGet, "/api/v1"+path, "", ben.session)
		if a.StatusCode != want {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
		if e := h.audit(1)[0]; want != 200 && (e.Actor != "ben@example.com" || e.Via != "session" || e.Outcome != "refused" || e.RequestID != a.problem().Instance) {
			t.Errorf("%s: audit %+v", path, e)
		}
	}

	// somebody without a role has no session, and is in the audit; a page says it
	eve := h.browser()
	res, page = eve.signIn("eve", "")
	if res.StatusCode != http.StatusForbidden || !strings.Contains(page, "<h1>No role in this hub</h1>") || !strings.Contains(page, res.Header.Get("X-Request-Id")) {
		t.Errorf("%s: %s", res.Status, page)
	}
	if e := h.audit(1)[0]; e.Actor != "eve" || e.Outcome != "refused" || e.RequestID != res.Header.Get("X-Request-Id") { // whose address is not verified
		t.Errorf("audit %+v", e)
	}
	if a := h.do(http.MethodGet, "/api/v1/me", "", eve.session); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("eve: %s", a.Status)
	}

	// groups that change at the provider change the role as soon as it is asked again
	post := func(path string, form url.Values) {
		t.Helper()
		if res, _ := h.browser().open(issuer+path, form); res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, res.Status)
		}
	}
	due := func() {
		t.Helper()
		if _, err := h.raw().ExecContext(t.Context(), `UPDATE session SET check_at = 1`); err != nil {
			t.Fatal(err)
		}
	}
	post("/test/groups", url.Values{"user": {"ann"}, "group": {"kaizen-app"}})
	if me := get[api.Me](h, "/api/v1/me", ann.session); me.Role != api.Operator {
		t.Errorf("before the provider is asked again: %+v", me)
	}
	due()
	if me := get[api.Me](h, "/api/v1/me", ann.session); me.Role != api.Proposer || me.Scope.Workspaces[0] != "team-a" {
		t.Errorf("after its groups have changed: %+v", me)
	}
	due() // the tokens that came with the last answer are good for another
	if me := get[api.Me](h, "/api/v1/me", ann.session); me.Role != api.Proposer {
		t.Errorf("%+v", me)
	}

	// sign-out
	me = get[api.Me](h, "/api/v1/me", ben.session)
	if a := h.do(http.MethodDelete, "/api/v1/session", "", ben.session, header("X-CSRF", me.CSRF)); a.StatusCode != http.StatusNoContent {
		t.Errorf("sign out: %s", a.Status)
	}
	if a := h.do(http.MethodGet, "/api/v1/me", "", ben.session); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after sign-out: %s", a.Status)
	}

	// a session ends when its provider refuses it, though it would be good for twelve hours
	post("/test/revoke", url.Values{})
	if me := get[api.Me](h, "/api/v1/me", ann.session); me.Role != api.Proposer {
		t.Errorf("before the provider is asked again: %+v", me)
	}
	due()
	for range 2 {
		if a := h.do(http.MethodGet, "/api/v1/me", "", ann.session); a.StatusCode != http.StatusUnauthorized || a.problem().Type != "/problems/not-signed-in" {
			t.Errorf("after the provider has ended the session: %s: %s", a.Status, a.body)
		}
	}
}

// TestOIDCRefuses is about sign-ins that are none.
func TestOIDCRefuses(t *testing.T) {
	h := newHub(t)
	issuer := provider(t, h.server.URL)
	h.withWays(oidcRules, (&auth.OIDC{Issuer: issuer, ClientID: "hub", Secret: clientSecret}).Way())
	if res, page := h.browser().open(h.server.URL+"/signin/saml", nil); res.StatusCode != http.StatusNotFound || !strings.Contains(page, "<h1>") {
		t.Errorf("a way that there is not: %s: %s", res.Status, page)
	}

	begin := func() (*browser, string) { // and the state
		b := h.browser()
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res, _ := b.open(h.server.URL+"/signin/oidc", nil)
		at, err := url.Parse(res.Header.Get("Location"))
		if err != nil || at.Query().Get("code_challenge_method") != "S256" || at.Query().Get("code_challenge") == "" || at.Query().Get("nonce") == "" || at.Query().Get("state") == "" {
			t.Fatalf("%s: %s", res.Status, res.Header.Get("Location"))
		}
		for _, c := range res.Cookies() {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("cookie %v", c)
			}
		}
		return b, at.Query().Get("state")
	}
	for name, c := range map[string]struct {
		query   func(state string) string
		another bool // browser
		says    string
	}{
		"no state":                               {func(string) string { return "code=x" }, false, "browser"},
		"another state":                          {func(string) string { return "code=x&state=y" }, false, "browser"},
		"the state of another browser":           {func(state string) string { return "code=x&state=" + state }, true, "browser"},
		"a code that the provider does not know": {func(state string) string { return "code=x&state=" + state }, false, "refused by"},
		"no code":                                {func(state string) string { return "state=" + state }, false, "no code"},
		"what the provider says": {func(state string) string {
			return "error=access_denied&error_description=%3Cb%3Enot+you&state=" + state
		}, false, "&lt;b&gt;not you"},
	} {
		b, state := begin()
		if c.another {
			b, _ = begin()
		}
		res, page := b.open(h.server.URL+"/signin/oidc/callback?"+c.query(state), nil)
		if res.StatusCode != http.StatusUnauthorized || !strings.Contains(page, "<h1>The sign-in has failed</h1>") || !strings.Contains(page, c.says) {
			t.Errorf("%s: %s: %s", name, res.Status, page)
		}
		if e := h.audit(1)[0]; e.Via != "oidc" || e.Outcome != "refused" || e.Actor != "127.0.0.1" || e.RequestID != res.Header.Get("X-Request-Id") {
			t.Errorf("%s: audit %+v", name, e)
		}
		// the state is good for one try
		if res, page := b.open(h.server.URL+"/signin/oidc/callback?code=y&state="+state, nil); !c.another && (res.StatusCode != http.StatusUnauthorized || !strings.Contains(page, "browser")) {
			t.Errorf("%s, again: %s: %s", name, res.Status, page)
		}
	}
	// 11 have failed
	for i := range 12 {
		b, state := begin()
		res, _ := b.open(h.server.URL+"/signin/oidc/callback?code=x&state="+state, nil)
		if want := map[bool]int{true: http.StatusUnauthorized, false: http.StatusTooManyRequests}[i < 8]; res.StatusCode != want && i != 8 {
			t.Errorf("sign-in %d: %s", i, res.Status)
		} else if want == http.StatusTooManyRequests && i > 8 && res.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

// TestProviderDown: a provider that does not answer, or is not one, is a page that says so.
func TestProviderDown(t *testing.T) {
	h := newHub(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer": "https://evil.test"}`))
	}))
	t.Cleanup(other.Close)
	down := httptest.NewServer(nil)
	down.Close()
	for _, issuer := range []string{down.URL, other.URL} {
		h.withWays(oidcRules, (&auth.OIDC{Issuer: issuer, ClientID: "hub"}).Way())
		res, page := h.browser().open(h.server.URL+"/signin/oidc", nil)
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(page, "<h1>The sign-in provider does not answer</h1>") || !strings.Contains(page, issuer) {
			t.Errorf("%s: %s", res.Status, page)
		}
		a := h.do(http.MethodGet, "/signin/oidc", "", nobody)
		if p := a.problem(); a.StatusCode != http.StatusBadGateway || p.Type != "/problems/provider-unavailable" || p.Instance == "" {
			t.Errorf("%s: %s", a.Status, a.body)
		}
	}
}

// forgeFake is a Gitea that signs users in: the endpoints of its OAuth2 applications, and of its API
// what says who that is.
func forgeFake(t *testing.T) *httptest.Server {
	challenges := map[string]string{} // by code
	var mu sync.Mutex
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /login/oauth/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("client_id") != "app" || q.Get("code_challenge_method") != "S256" || !strings.Contains(q.Get("scope"), "read:organization") {
			http.Error(w, "a request that is none", http.StatusBadRequest)
			return
		}
		mu.Lock()
		challenges["code-ann"] = q.Get("code_challenge")
		mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code-ann&state="+q.Get("state"), http.StatusFound)
	})
	mux.HandleFunc("POST /login/oauth/access_token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		mu.Lock()
		defer mu.Unlock()
		if challenge := challenges[r.Form.Get("code")]; challenge == "" || challengeOf(r.Form.Get("code_verifier")) != challenge || r.Form.Get("client_secret") != clientSecret {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": "unauthorized_client", "error_description": "PKCE"}`))
			return
		}
		delete(challenges, r.Form.Get("code"))
		answer(w, map[string]any{"access_token": "token-of-ann", "token_type": "bearer", "expires_in": 3600, "refresh_token": "refresh-of-ann"})
	})
	api := func(path string, v any) {
		mux.HandleFunc("GET /api/v1"+path, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.Header.Get("Authorization"), " token-of-ann") {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			answer(w, v)
		})
	}
	api("/user", map[string]any{"id": 1, "login": "ann", "username": "ann"})
	api("/user/orgs", []map[string]any{{"id": 1, "username": "acme", "name": "acme"}})
	api("/user/teams", []map[string]any{{"id": 1, "name": "platform", "organization": map[string]any{"id": 1, "username": "acme", "name": "acme"}}})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestForgeSignIn signs in by the forge: teams are groups, and what is done there is done as that
// user.
func TestForgeSignIn(t *testing.T) {
	h := newHub(t)
	forge := forgeFake(t)
	rules := auth.Rules{{Group: "acme/platform", Role: auth.Operator}}
	var seen []string
	h.server.Config.Handler = h.handler(func(o *api.Options) {
		o.Registry = prometheus.NewRegistry()
		o.SignIn = auth.New(h.server.URL, rules, 0, (&auth.Forge{URL: forge.URL, ClientID: "app", Secret: clientSecret}).Way())
		o.Model = asking{platform{}, func(ctx context.Context) {
			token, login, ok := auth.UserForge(ctx)
			if ok {
				seen = append(seen, login+" "+token)
			} else {
				seen = append(seen, "nobody")
			}
		}}
	})
	ann := h.browser()
	if res, page := ann.open(h.server.URL+"/signin/gitea?to=/fleet", nil); res.Request.URL.Path != "/fleet" {
		t.Fatalf("%s %s: %s", res.Request.URL, res.Status, page)
	}
	me := get[api.Me](h, "/api/v1/me", ann.session)
	if me.Subject != "ann" || me.Role != api.Operator {
		t.Errorf("%+v", me)
	}
	h.do(http.MethodGet, "/api/v1/environments/dev/targets", "", ann.session)
	h.do(http.MethodGet, "/api/v1/environments/dev/targets", "")
	if diff := cmp.Diff([]string{"ann token-of-ann", "nobody"}, seen); diff != "" {
		t.Error(diff)
	}
	// the database does not have the token
	var sealed string
	if err := h.raw().QueryRowContext(t.Context(), `SELECT sealed FROM session`).Scan(&sealed); err != nil || sealed == "" || strings.Contains(sealed, "token-of-ann") {
		t.Errorf("%s, %v", sealed, err)
	}
	// a way that the configuration has no more lets nobody in
	h.withWays(rules, (&auth.OIDC{Issuer: forge.URL, ClientID: "hub"}).Way())
	if a := h.do(http.MethodGet, "/api/v1/me", "", ann.session); a.StatusCode != http.StatusForbidden || a.problem().Type != "/problems/no-role" {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// asking is a model that looks at who asks it.
type asking struct {
	platform
	look func(context.Context)
}

func (a asking) Objects(ctx context.Context, environment, kind string) ([]any, error) {
	a.look(ctx)
	return a.platform.Objects(ctx, environment, kind)
}

// TestBehindProxy: the limit is that of who has sent a request to the proxy.
func TestBehindProxy(t *testing.T) {
	h := newHub(t, func(o *api.Options) { o.BehindProxy = true })
	ask := func(from string) int {
		return h.do(http.MethodGet, "/api/v1/me", "", as("kht_guess"), header("X-Forwarded-For", from)).StatusCode
	}
	for range 20 {
		if code := ask("198.51.100.1, 203.0.113.7"); code != http.StatusUnauthorized {
			t.Fatalf("status %d", code)
		}
	}
	for from, want := range map[string]int{"203.0.113.7": 429, "192.0.2.1, 203.0.113.7": 429, "203.0.113.7, 198.51.100.1": 401, "nonsense": 401} {
		if code := ask(from); code != want {
			t.Errorf("%s: status %d", from, code)
		}
	}
	if e := h.audit(1)[0]; e.Actor == "" {
		t.Errorf("audit %+v", e)
	}
	direct := newHub(t)
	for i := range 21 {
		a := direct.do(http.MethodGet, "/api/v1/me", "", as("kht_guess"), header("X-Forwarded-For", "203.0.113."+string(rune('0'+i%10))))
		if want := map[bool]int{true: 401, false: 429}[i < 20]; a.StatusCode != want {
			t.Errorf("without a proxy, %d: %s", i, a.Status)
		}
	}
}

// challengeOf is what PKCE makes of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// raw is the database of the hub.
func (h *hub) raw() *sql.DB {
	h.Helper()
	db, err := sql.Open("sqlite", "file:"+h.database+"?_busy_timeout=30000")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = db.Close() })
	return db
}
