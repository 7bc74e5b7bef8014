package web

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var site = fstest.MapFS{
	".keep":               {},
	indexFile:             {Data: []byte(`<meta name="style-nonce" nonce="{{nonce}}"><script type="module" src="/assets/main-1.js"></script>`)},
	routesFile:            {Data: []byte(`["/enter", "/", "/drift", "/clusters", "/clusters/:name"]`)},
	"assets/main-1.js":    {Data: []byte("export {}")},
	"assets/main-1.css":   {Data: []byte("a{}")},
	"assets/icon-1.svg":   {Data: []byte("<svg/>")},
	"assets/folder/x.txt": {Data: []byte("x")},
}

func ask(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

var nonceOf = regexp.MustCompile(`style-src 'self' 'nonce-([A-Za-z0-9+/=_-]{20,})'`)

// Every page has a nonce of its own, the one that the policy names.
func TestPages(t *testing.T) {
	h := handlerOf(site)
	known := map[string]bool{}
	for _, path := range []string{"/", "/enter", "/drift", "/drift/", "/Drift", "/clusters/a.b", "/clusters/a%2Fb"} {
		w := ask(h, http.MethodGet, path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("ETag") != "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		m := nonceOf.FindStringSubmatch(w.Header().Get("Content-Security-Policy"))
		if m == nil {
			t.Fatalf("%s: the policy is %q", path, w.Header().Get("Content-Security-Policy"))
		}
		if known[m[1]] {
			t.Errorf("%s: the nonce was used before", path)
		}
		known[m[1]] = true
		if body := w.Body.String(); !strings.Contains(body, `nonce="`+m[1]+`"`) || strings.Contains(body, placeholder) {
			t.Errorf("%s: the page is %s", path, body)
		}
	}
}

func TestFiles(t *testing.T) {
	h := handlerOf(site)
	for path, contentType := range map[string]string{
		"/assets/main-1.js":  "text/javascript; charset=utf-8",
		"/assets/main-1.css": "text/css; charset=utf-8",
		"/assets/icon-1.svg": "image/svg+xml",
	} {
		w := ask(h, http.MethodGet, path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != contentType || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	for _, path := range []string{"/assets/main-2.js", "/assets/", "/assets/folder", "/assets/../index.html", "/favicon.ico", "/index.html", "/routes.json", "/.keep"} {
		if w := ask(h, http.MethodGet, path); w.Code != http.StatusNotFound || strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}

// What is no page is not answered as one: a scraper of metrics, or a test, must not take it for
// what it asks for.
func TestNoSuchPage(t *testing.T) {
	for _, path := range []string{"/metrics", "/drift/x", "/clusters/a/b", "/clusters//", "/:name", "/no/such/page", "/hooks/forge"} {
		w := ask(handlerOf(site), http.MethodGet, path)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(w.Body.String(), "script") {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}

func TestEveryAnswerIsProtected(t *testing.T) {
	h := handlerOf(site)
	for _, path := range []string{"/", "/assets/main-1.js", "/favicon.ico"} {
		w := ask(h, http.MethodGet, path)
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, w.Header())
		}
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(w.Header().Get("Content-Security-Policy"), part) {
				t.Errorf("%s: the policy lacks %s", path, part)
			}
		}
	}
	if w := ask(h, http.MethodPost, "/"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
}

// A program that was built without npm says where the API is.
func TestWithoutPages(t *testing.T) {
	for path, code := range map[string]int{"/": http.StatusOK, "/drift": http.StatusNotFound} {
		w := ask(handlerOf(fstest.MapFS{".keep": {}}), http.MethodGet, path)
		if w.Code != code || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || !strings.Contains(w.Body.String(), "/api/v1") {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}

// What is in the program answers, with pages or without.
func TestHandler(t *testing.T) {
	if w := ask(Handler(), http.MethodGet, "/"); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
