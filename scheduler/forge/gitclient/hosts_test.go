package gitclient_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestHosts asks the servers of a list and no others.
func TestHosts(t *testing.T) {
	for url, allowed := range map[string]bool{
		"https://git.test/acme/app":                true,
		"http://git.test/acme/app":                 true,
		"https://GIT.test./acme/app":               true,
		"https://git.test:8443/acme/app":           false,
		"https://git.test:22/acme/app":             false,
		"https://ports.test:8443/acme/app":         true,
		"https://ports.test/acme/app":              false,
		"https://x.git.test/acme/app":              false,
		"https://git.test@other.test/acme/app":     false,
		"http://127.0.0.1:3000/acme/app":           true,
		"http://localhost:3000/acme/app":           true,
		"http://127.0.0.1:2379/acme/app":           false,
		"http://169.254.169.254/latest/meta-data/": false,
		"http://[fe80::1]/acme/app":                false,
		"http://2130706433:3000/acme/app":          false,
		"http://10.0.0.1/acme/app":                 false,
	} {
		asked := ""
		c := gitclient.New(&http.Client{Transport: answer(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.Host
			return nil, errors.New("down")
		})}, 1)
		var err error
		if c.Hosts, err = gitclient.NewHosts("git.test", "ports.test:8443", "http://127.0.0.1:3000/x"); err != nil {
			t.Fatal(err)
		}
		_, err = c.Head(ctx, gitclient.Remote{URL: url}, "main")
		var refused *model.HostError
		if got := !errors.As(err, &refused); got != allowed || (asked != "") != allowed {
			t.Errorf("%s: %v, asked %q", url, err, asked)
		}
		if !allowed && !strings.Contains(url, refused.Host+"/") {
			t.Errorf("%s: host %q", url, refused.Host)
		}
	}
	for _, name := range []string{"", "git.test/acme", "*.test", "user@git.test", "git.test:x"} {
		if _, err := gitclient.NewHosts(name); err == nil {
			t.Errorf("%q is a host", name)
		}
	}
}

type answer func(*http.Request) (*http.Response, error)

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestRedirectToAnotherHost has a server that may be asked lead to one that must not.
func TestRedirectToAnotherHost(t *testing.T) {
	var reached atomic.Bool
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer inner.Close()
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL+r.URL.String(), http.StatusFound)
	}))
	defer outer.Close()
	c := gitclient.New(&http.Client{}, 1)
	var err error
	if c.Hosts, err = gitclient.NewHosts(outer.URL); err != nil {
		t.Fatal(err)
	}
	_, err = c.Tree(ctx, gitclient.Remote{URL: outer.URL + "/acme/app"}, "main", "")
	var refused *model.HostError
	if !errors.As(err, &refused) || reached.Load() || !strings.HasSuffix(inner.URL, refused.Host) {
		t.Errorf("%v, reached: %t", err, reached.Load())
	}
}
