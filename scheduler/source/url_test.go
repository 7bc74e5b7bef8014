package source

import (
	"strings"
	"testing"
)

func TestSameRepository(t *testing.T) {
	known := map[string]string{}
	for _, same := range [][]string{
		{
			"https://github.com/acme/control-plane", "https://github.com/acme/control-plane.git", "https://github.com/acme/control-plane/",
			"HTTPS://GitHub.com/acme/control-plane.git/", "http://github.com:80/acme/control-plane", "https://github.com:443/acme/control-plane",
			"https://user:secret@github.com/acme/control-plane", "git@github.com:acme/control-plane.git", "github.com:acme/control-plane",
			"ssh://git@github.com/acme/control-plane", "ssh://git@github.com:22/acme/control-plane.git", "git+ssh://git@github.com:2222/acme/control-plane",
			"git@github.com:/acme/control-plane", "https://github.com//acme/./control-plane",
		},
		{"https://github.com/Acme/control-plane"},
		{"http://localhost:3000/acme/control-plane", "http://localhost:3000/acme/control-plane.git"},
		{"http://localhost:3001/acme/control-plane"},
		{"https://github.com/acme/control-plane2"},
		{"file:///srv/git/control-plane.git", "file:///srv/git/control-plane/"},
		{"https://srv/git/control-plane"},
		{"https://github.com:8443/acme/control-plane"},
		{"http://github.com:8080/acme/control-plane"},
		{"https://github.com/control-plane"},
		{"https://github.coma/cme/control-plane"},
	} {
		want := Identity(same[0], "")
		if known[want] != "" {
			t.Errorf("%s is the same as %s", same[0], known[want])
		}
		known[want] = same[0]
		for _, url := range same {
			if got := Identity(url, ""); got != want {
				t.Errorf("%s is %s, %s is %s", url, got, same[0], want)
			}
		}
		for _, other := range []string{"https://github.com/acme/other", "../x", "/srv/git/x"} {
			if Identity(other, "/") == want {
				t.Errorf("%s is the same as %s", other, same[0])
			}
		}
	}
	if Identity("../cp", "/srv/git/clone") != Identity("file:///srv/git/cp.git", "") || Identity("/srv/git/cp", "/x") != Identity("file:///srv/git/cp.git", "") {
		t.Error("a path is not the file URL of it")
	}
}

func TestParseAddress(t *testing.T) {
	for s, want := range map[string]address{
		"https://a.b/c/d":      {"https", "a.b", "c/d"},
		"git@a.b:c/d.git":      {"ssh", "a.b", "c/d"},
		"ssh://git@a.b:22/c/d": {"ssh", "a.b", "c/d"},
		"file:///c/d":          {"file", "", "c/d"},
		"a.b:c":                {"ssh", "a.b", "c"},
		"git://a.b/c":          {"git", "a.b", "c"},
	} {
		if got, ok := parseAddress(s); !ok || got != want {
			t.Errorf("%s: %+v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", ".", "..", "/a/b", "a/b", "./a:b", `C:\a`, "C:/a", `a\b:c`, "a/b:c", "://x", "ht tp://x", ":x"} {
		if got, ok := parseAddress(s); ok {
			t.Errorf("%q is taken as %+v", s, got)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"https://u:p@h:443/a/../b.git/", "git@h:a/b", "file:///a", "C:\\x", "a:b@c:d", "://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := parseAddress(s)
		if !ok {
			return
		}
		if strings.HasPrefix(a.path, "/") || strings.Contains("/"+a.path+"/", "/../") {
			t.Errorf("%q leads to %q", s, a.path)
		}
		if a.identity() != Identity(s, "/") {
			t.Errorf("%q has two identities", s)
		}
	})
}
