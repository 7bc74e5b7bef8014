package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/hub/api"
)

// TestBadInput is about requests that are wrong: each gets one problem, with where it is and
// what was meant.
func TestBadInput(t *testing.T) {
	h := newHub(t, func(o *api.Options) { o.Sandbox, o.Workshop = machine{}, lessons{} })
	next := get[api.List[api.Placement]](h, "/api/v1/placements?limit=1&state=ok").Next
	for name, c := range map[string]struct {
		method, path, body   string // GET when empty
		change               func(*http.Request)
		status               int
		slug, location, hint string
	}{
		"malformed JSON":                     {method: "POST", path: "/tokens", body: `{"name": `, status: 400, slug: "malformed-request", location: "body"},
		"no body":                            {method: "POST", path: "/tokens", status: 400, slug: "malformed-request"},
		"unknown field":                      {method: "POST", path: "/tokens", body: `{"name": "ci", "role": "viewer", "expirs": "x"}`, status: 422, slug: "invalid-request", location: "body.expirs", hint: "expires"},
		"missing field":                      {method: "POST", path: "/tokens", body: `{"name": "ci"}`, status: 422, slug: "invalid-request", location: "body"},
		"role that is none":                  {method: "POST", path: "/tokens", body: `{"name": "ci", "role": "viewr"}`, status: 422, slug: "invalid-request", location: "body.role", hint: "viewer"},
		"time that is none":                  {method: "POST", path: "/tokens", body: `{"name": "ci", "role": "viewer", "expires": "tomorrow"}`, status: 422, slug: "invalid-request", location: "body.expires"},
		"a past end":                         {method: "POST", path: "/tokens", body: `{"name": "ci", "role": "viewer", "expires": "2020-01-01T00:00:00Z"}`, status: 422, slug: "invalid-request", location: "body.expires"},
		"body of 1 MiB":                      {method: "POST", path: "/tokens", body: `{"name": "` + strings.Repeat("x", 1<<20) + `"}`, status: 413, slug: "body-too-large"},
		"wrong content type":                 {method: "POST", path: "/tokens", body: `name: ci`, change: header("Content-Type", "application/yaml"), status: 415, slug: "unsupported-content-type", location: "body"},
		"unknown query parameter":            {path: "/placements?targt=web-east", status: 422, slug: "invalid-request", location: "query.targt", hint: "target"},
		"limit 0":                            {path: "/placements?limit=0", status: 422, slug: "invalid-request", location: "query.limit"},
		"limit 501":                          {path: "/clusters?limit=501", status: 422, slug: "invalid-request", location: "query.limit"},
		"limit that is no number":            {path: "/audit?limit=many", status: 422, slug: "invalid-request", location: "query.limit"},
		"sort that is not allowed":           {path: "/placements?sort=sinc", status: 422, slug: "invalid-request", location: "query.sort", hint: "since"},
		"state that is none":                 {path: "/placements?state=ok&state=failling", status: 422, slug: "invalid-request", location: "query.state[1]", hint: "failing"},
		"topic that is none":                 {path: "/events?topics=placements", status: 422, slug: "invalid-request", location: "query.topics[0]", hint: "placement"},
		"label selector that is none":        {path: "/placements?label=" + "%28region", status: 422, slug: "invalid-request", location: "query.label"},
		"one value given twice":              {path: "/placements?limit=1&limit=2", status: 422, slug: "invalid-request", location: "query.limit"},
		"format that is none":                {path: "/placements?format=xml", status: 422, slug: "invalid-request", location: "query.format"},
		"kind that is none":                  {path: "/environments/dev/policie", status: 422, slug: "invalid-request", location: "path.kind", hint: "policies"},
		"missing parameter":                  {path: "/explain?env=dev", status: 422, slug: "invalid-request", location: "query.target"},
		"cursor that was changed":            {path: "/placements?state=ok&after=" + next + "x", status: 400, slug: "invalid-cursor", location: "query.after"},
		"cursor of other filters":            {path: "/placements?state=failing&after=" + next, status: 400, slug: "invalid-cursor", location: "query.after"},
		"cursor of another list":             {path: "/clusters?after=" + next, status: 400, slug: "invalid-cursor", location: "query.after"},
		"unknown environment":                {path: "/environments/stge", status: 404, slug: "not-found", location: "path.env", hint: "stage"},
		"unknown environment of a matrix":    {path: "/environments/stge/matrix", status: 404, slug: "not-found", location: "path.env", hint: "stage"},
		"unknown environment of objects":     {path: "/environments/stge/policies", status: 404, slug: "not-found", location: "path.env", hint: "stage"},
		"unknown environment of a filter":    {path: "/placements?env=dev&env=stge", status: 404, slug: "not-found", location: "query.env", hint: "stage"},
		"unknown environment of events":      {path: "/events?env=stge", status: 404, slug: "not-found", location: "query.env", hint: "stage"},
		"unknown environment to explain":     {path: "/explain?env=stge&target=web-east", status: 404, slug: "not-found", location: "query.env", hint: "stage"},
		"unknown environment of a placement": {path: "/placements/devv/drone/web-east", status: 404, slug: "not-found", location: "path.environment", hint: "dev"},
		"unknown cluster of a placement":     {path: "/placements/dev/dron/web-east/events", status: 404, slug: "not-found", location: "path.cluster", hint: "drone"},
		"unknown target of a placement":      {path: "/placements/dev/drone/web-eas", status: 404, slug: "not-found", location: "path.target", hint: "web-east"},
		"unknown target to explain":          {path: "/explain?env=dev&target=web-eas", status: 404, slug: "not-found", hint: "web-east"},
		"a moment to come":                   {path: "/placements?at=2999-01-01T00:00:00Z", status: 422, slug: "invalid-request", location: "query.at"},
		"a moment that is none":              {path: "/placements?at=yesterday", status: 422, slug: "invalid-request", location: "query.at"},
		"a moment to compare with, to come":  {path: "/compare?left=dev&right=dev&leftAt=2999-01-01T00:00:00Z", status: 422, slug: "invalid-request", location: "query.leftAt"},
		"one side to compare":                {path: "/compare?left=dev", status: 422, slug: "invalid-request", location: "query.right"},
		"group that is none":                 {path: "/compare?left=dev&right=stage&group=differ", status: 422, slug: "invalid-request", location: "query.group", hint: "differs"},
		"unknown environment to compare":     {path: "/compare?left=dev&right=stge", status: 404, slug: "not-found", location: "query.right", hint: "stage"},
		"cursor of another comparison":       {path: "/compare?left=dev&right=stage&after=" + next, status: 400, slug: "invalid-cursor", location: "query.after"},
		"unknown cluster":                    {path: "/clusters/smal", status: 404, slug: "not-found", location: "path.name", hint: "small"},
		"unknown workload":                   {path: "/workloads/wep", status: 404, slug: "not-found", location: "path.name", hint: "web"},
		"change that is none":                {path: "/changes/99", status: 404, slug: "not-found", location: "path.id"},
		"clusters of a change that is none":  {path: "/changes/99/clusters", status: 404, slug: "not-found", location: "path.id"},
		"change that is no number":           {path: "/changes/last", status: 422, slug: "invalid-request", location: "path.id"},
		"state of a change that is none":     {path: "/changes?state=rollin", status: 422, slug: "invalid-request", location: "query.state[0]", hint: "rolling"},
		"kind of a change that is none":      {path: "/changes?kind=app", status: 422, slug: "invalid-request", location: "query.kind[0]"},
		"unknown environment of changes":     {path: "/changes?env=stge", status: 404, slug: "not-found", location: "query.env", hint: "stage"},
		"unknown environment of outliers":    {path: "/outliers?env=stge", status: 404, slug: "not-found", location: "query.env", hint: "stage"},
		"wait of more than a minute":         {path: "/deployment-state?repo=https%3A%2F%2Fforge%2Fgitops&branch=dev&commit=1234567&wait=61s", status: 422, slug: "invalid-request", location: "query.wait"},
		"wait that is no duration":           {path: "/deployment-state?repo=https%3A%2F%2Fforge%2Fgitops&branch=dev&commit=1234567&wait=30", status: 422, slug: "invalid-request", location: "query.wait"},
		"wait of less than nothing":          {path: "/deployment-state?repo=https%3A%2F%2Fforge%2Fgitops&branch=dev&commit=1234567&wait=-1s", status: 422, slug: "invalid-request", location: "query.wait"},
		"commit that is none":                {path: "/deployment-state?repo=r&branch=dev&commit=main", status: 422, slug: "invalid-request", location: "query.commit"},
		"deployment without a branch":        {path: "/deployment-state?repo=r&commit=1234567", status: 422, slug: "invalid-request", location: "query.branch"},
		"branch that nobody follows":         {path: "/deployment-state?repo=https%3A%2F%2Fforge%2Fgitops&branch=deev&commit=1234567", status: 404, slug: "not-found", location: "query.branch"},
		"unknown component":                  {method: "POST", path: "/sandbox/components/gita/restart", status: 404, slug: "not-found", location: "path.name", hint: "gitea"},
		"unknown token":                      {method: "DELETE", path: "/tokens/nobody", status: 404, slug: "not-found"},
		"a name that is taken":               {method: "POST", path: "/tokens", body: `{"name": "owner", "role": "viewer"}`, status: 409, slug: "conflict"},
		"no such path":                       {path: "/placement", status: 404, slug: "not-found", hint: "openapi.json"},
		"no such method":                     {method: "PUT", path: "/placements", status: 405, slug: "method-not-allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.T = t
			method, change := c.method, c.change
			if method == "" {
				method = http.MethodGet
			}
			if change == nil {
				change = func(*http.Request) {}
			}
			a := h.do(method, "/api/v1"+c.path, c.body, change)
			p := a.problem()
			if a.StatusCode != c.status || p.Status != c.status || p.Type != "/problems/"+c.slug {
				t.Fatalf("%s: %s", a.Status, a.body)
			}
			if p.Title == "" || p.Detail == "" || p.Instance == "" || p.Instance != a.Header.Get("X-Request-Id") {
				t.Errorf("it lacks something: %s", a.body)
			}
			if !strings.Contains(p.Hint, c.hint) {
				t.Errorf("hint %q, want %s", p.Hint, c.hint)
			}
			if c.location != "" && (len(p.Errors) != 1 || p.Errors[0].Location != c.location) {
				t.Errorf("errors %+v, want one at %s", p.Errors, c.location)
			}
			if len(a.body) > 4096 {
				t.Errorf("the problem repeats the request: %d bytes", len(a.body))
			}
			if page := h.do(http.MethodGet, p.Type, "", nobody); page.StatusCode != http.StatusOK || !strings.Contains(string(page.body), "<h1>") {
				t.Errorf("its type leads to %s", page.Status)
			}
		})
	}
	if allowed := h.do(http.MethodPut, "/api/v1/tokens", "").Header.Values("Allow"); strings.Join(allowed, ",") != "GET,POST" {
		t.Errorf("allowed: %v", allowed)
	}
}

// TestTexts is about texts that a cluster has written: they are data, whatever is in them.
func TestTexts(t *testing.T) {
	h := newHub(t)
	long := strings.Repeat("€", 3000)
	h.apply(fleetOf("failing", reason+"\u202eevil\x00"+long))
	p := get[api.Placement](h, "/api/v1/placements/dev/drone/web-east")
	if !strings.HasPrefix(p.Reason, "<script>alert(1)</script> [31mred[0mevil") || len(p.Reason) > 4<<10+3 || !strings.HasSuffix(p.Reason, "…") && !strings.HasSuffix(p.Reason, "€") {
		t.Errorf("reason of %d bytes: %q", len(p.Reason), p.Reason)
	}
	a := h.do(http.MethodGet, "/api/v1/placements/dev/drone/web-east", "")
	if a.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") || a.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("a browser may take it for a page: %v", a.Header)
	}
	for _, path := range []string{"/api/v1/placements", "/api/v1/drift", "/api/v1/placements/dev/drone/web-east/events", "/api/v1/clusters/drone", "/api/v1/placements?format=csv"} {
		if body := string(h.do(http.MethodGet, path, "").body); strings.ContainsAny(body, "\x1b\x00\u202e") || strings.Contains(body, `\u001b`) {
			t.Errorf("%s has control characters", path)
		} else if !strings.Contains(body, "alert(1)") {
			t.Errorf("%s has no reason: %s", path, body)
		}
	}
}

func TestProbes(t *testing.T) {
	h := newHub(t)
	elsewhere := func(r *http.Request) { r.Host = "10.1.2.3" }
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := h.do(http.MethodGet, path, "", nobody, elsewhere); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	if a := h.do(http.MethodGet, "/readyz", "", nobody); a.StatusCode != http.StatusServiceUnavailable || len(a.body) == 0 {
		t.Errorf("a hub without a store is ready: %s: %s", a.Status, a.body)
	}
	if a := h.do(http.MethodGet, "/healthz", "", nobody); a.StatusCode != http.StatusOK {
		t.Errorf("a hub without a store does not live: %s", a.Status)
	}
	// the reason is for the log, not for who asks
	a := h.do(http.MethodGet, "/api/v1/placements", "")
	if p := a.problem(); p.Type != "/problems/internal" || strings.Contains(string(a.body), "sql") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

func TestPages(t *testing.T) {
	h := newHub(t)
	if a := h.do(http.MethodGet, "/", "", nobody); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "/api/v1") {
		t.Errorf("without pages: %s: %s", a.Status, a.body)
	}
	pages := httptest.NewServer(h.handler(func(o *api.Options) {
		o.Web = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { _, _ = rw.Write([]byte("page of " + r.URL.Path)) })
		o.Registry = nil
	}))
	defer pages.Close()
	h.server = pages
	for _, path := range []string{"/", "/enter", "/clusters/drone"} {
		if a := h.do(http.MethodGet, path, "", nobody); string(a.body) != "page of "+path || a.Header.Get("Content-Security-Policy") != "" {
			t.Errorf("%s: %s %v", path, a.body, a.Header)
		}
	}
}
