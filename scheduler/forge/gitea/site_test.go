package gitea

import (
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
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

func TestFileURL(t *testing.T) {
	const repo = "http://localhost:3000/acme/platform.git"
	for _, test := range []struct {
		base string
		at   model.Position
		want string
	}{
		{"http://127.0.0.1:3000", model.Position{Repo: repo, Branch: "dev", File: "a/b.yaml", Line: 3}, "http://127.0.0.1:3000/acme/platform/src/branch/dev/a/b.yaml#L3"},
		{"http://127.0.0.1:3000", model.Position{Repo: repo, Branch: "team/dev", File: "b.yaml"}, "http://127.0.0.1:3000/acme/platform/src/branch/team/dev/b.yaml"},
		{"http://u:p@localhost:3000/", model.Position{Repo: repo, Branch: "dev", File: "100%/a b?#(c).yaml", Line: 1}, "http://localhost:3000/acme/platform/src/branch/dev/100%25/a%20b%3F%23%28c%29.yaml#L1"},
		{"https://example.com/git", model.Position{Repo: "https://example.com/git/acme/web", Branch: "dev", File: "a", Line: 1}, "https://example.com/git/acme/web/src/branch/dev/a#L1"},
		{"http://127.0.0.1:3000", model.Position{Repo: "https://github.com/acme/web", Branch: "dev", File: "a", Line: 1}, ""},
		{"http://127.0.0.1:3000", model.Position{Repo: repo, Branch: "dev"}, ""},
		{"http://127.0.0.1:3000", model.Position{Repo: repo, File: "a"}, ""},
		{"http://127.0.0.1:3000", model.Position{}, ""},
	} {
		f, err := New(Options{URL: test.base, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.FileURL(test.at); got != test.want || ok != (test.want != "") {
			t.Errorf("forge %s, %+v: %q, %t, want %q", test.base, test.at, got, ok, test.want)
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
