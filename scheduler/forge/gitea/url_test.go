package gitea

import (
	"strings"
	"testing"
)

func TestRepo(t *testing.T) {
	for _, test := range []struct{ base, url, want string }{
		{"http://127.0.0.1:3000", "http://127.0.0.1:3000/acme/web.git", "acme/web"},
		{"http://127.0.0.1:3000/", "http://127.0.0.1:3000/acme/web", "acme/web"},
		{"http://127.0.0.1:3000", "http://localhost:3000/acme/web.git/", "acme/web"},
		{"http://localhost:3000", "http://[::1]:3000/acme/web/", "acme/web"},
		{"http://localhost:3000", "http://user:pass@LOCALHOST:3000/acme/web", "acme/web"},
		{"https://git.example.com", "https://git.example.com:443/acme/web.git", "acme/web"},
		{"https://example.com/git/", "https://example.com/git/acme/web.git", "acme/web"},
		{"https://example.com/git", "https://example.com/acme/web.git", ""},
		{"http://127.0.0.1:3000", "http://127.0.0.1:3001/acme/web.git", ""},
		{"http://127.0.0.1:3000", "https://127.0.0.1:3000/acme/web.git", ""},
		{"https://example.com", "https://example.com.evil.org/acme/web.git", ""},
		{"https://example.com", "https://example.com/acme", ""},
		{"https://example.com", "https://example.com/acme/web/tree/main", ""},
		{"https://example.com", "git@example.com:acme/web.git", ""},
		{"https://example.com", "/acme/web", ""},
		{"https://example.com", "", ""},
	} {
		f, err := New(Options{URL: test.base, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := f.Repo(test.url)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("forge %s: Repo(%q) = %q, %t, want %q", test.base, test.url, got, ok, test.want)
		}
	}
}

// TestTokenStaysHome makes sure that only this server gets the token.
func TestTokenStaysHome(t *testing.T) {
	f, err := New(Options{URL: "https://example.com", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if r := f.remote("https://github.com/acme/web"); r.Auth != nil || r.URL != "https://github.com/acme/web" {
		t.Errorf("another host: %+v", r)
	}
	if r := f.remote("http://example.com/acme/web"); r.Auth != nil {
		t.Errorf("the same host without TLS: %+v", r)
	}
	if r := f.remote("https://example.com/acme/web/"); r.Auth == nil || !strings.HasSuffix(r.URL, "example.com/acme/web.git") {
		t.Errorf("this server: %+v", r)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{{}, {URL: "http://x"}, {URL: "x", Token: "t"}, {URL: "file:///x", Token: "t"}, {Token: "t"}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) has no error", o)
		}
	}
}
