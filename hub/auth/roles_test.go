package auth

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"github.com/kalypso-dev/kalypso/hub/store"
)

func TestGrant(t *testing.T) {
	rules := Rules{
		{Group: "platform", Role: Operator},
		{Group: "kaizen", Role: Proposer, Workspaces: []string{"kaizen-team"}, Environments: []string{"dev", "stage"}},
		{Group: "hello", Role: Proposer, Workspaces: []string{"hello-team"}, Environments: []string{"stage", "dev"}},
		{Group: "hello", Role: Proposer, Workspaces: []string{"other-team"}, Environments: []string{"prod"}},
		{Group: "everybody", Role: Viewer, Environments: []string{"dev"}},
		{Group: "auditors", Role: Viewer},
		{User: "ann@example.com", Role: Viewer, Workspaces: []string{"kaizen-team"}},
	}
	for name, c := range map[string]struct {
		login  string
		groups []string
		role   Role
		scope  store.Scope
	}{
		"the first that is for somebody counts":                {"ben", []string{"everybody", "platform"}, Operator, store.Scope{}},
		"workspaces of one role in the same environments":      {"ben", []string{"hello", "kaizen"}, Proposer, store.Scope{Workspaces: []string{"hello-team", "kaizen-team"}, Environments: []string{"dev", "stage"}}},
		"another role adds nothing":                            {"ben", []string{"kaizen", "everybody"}, Proposer, store.Scope{Workspaces: []string{"kaizen-team"}, Environments: []string{"dev", "stage"}}},
		"what differs in both would be more than either":       {"ben", []string{"hello"}, Proposer, store.Scope{Workspaces: []string{"hello-team"}, Environments: []string{"stage", "dev"}}},
		"an empty list is all":                                 {"ben", []string{"everybody", "auditors"}, Viewer, store.Scope{}},
		"a user":                                               {"ann@example.com", nil, Viewer, store.Scope{Workspaces: []string{"kaizen-team"}}},
		"a group that has the name of a user is not that user": {"ben", []string{"ann@example.com"}, "", store.Scope{}},
		"nobody": {"", nil, "", store.Scope{}},
	} {
		role, scope, ok := rules.Grant(c.login, c.groups)
		if role != c.role || ok != (c.role != "") || cmp.Diff(c.scope, scope) != "" {
			t.Errorf("%s: %s %+v %v", name, role, scope, ok)
		}
	}
}

func TestIncludes(t *testing.T) {
	for _, c := range []struct {
		have, need Role
		want       bool
	}{
		{Operator, Viewer, true}, {Viewer, Proposer, false}, {Owner, Agent, false}, {Agent, Agent, true}, {Agent, Viewer, false}, {"", Viewer, false}, {"root", Viewer, false}, {Viewer, "", false},
	} {
		if got := c.have.Includes(c.need); got != c.want {
			t.Errorf("%q includes %q: %v", c.have, c.need, got)
		}
	}
}

func TestClusterTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, two, three := strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("3", 40)
	write("# agents\n\nstore-17 " + one + "\nstore-18\t" + two + "\n")
	tokens, err := ReadClusterTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{one: "store-17", two: "store-18", three: "", "": "", "store-17": ""} {
		if got, ok := tokens.Cluster(secret); got != want || ok != (want != "") {
			t.Errorf("%.5s: %q, %v", secret, got, ok)
		}
	}
	write("store-17 " + three + "\nstore-17 " + one + "\n") // while one is replaced
	if name, ok := tokens.Cluster(three); !ok || name != "store-17" || cmp.Diff([]string{"store-17"}, tokens.Clusters()) != "" {
		t.Errorf("%q, %v, %v", name, ok, tokens.Clusters())
	}
	if _, ok := tokens.Cluster(two); ok {
		t.Error("a token that was taken out is good")
	}
	write("a file that is being written")
	if _, ok := tokens.Cluster(three); !ok {
		t.Error("a broken file ends all tokens")
	}
	for text, want := range map[string]string{
		"store-17\n":                                    ":1: ",
		"# a\nstore-17 short\n":                         ":2: ",
		"a " + one + "\nb " + one + "\n":                ":2: ",
		"store-17 " + one + " and more\n":               ":1: ",
		"ok " + one + "\n" + strings.Repeat("x", 1<<20): "token too long",
	} {
		write(text)
		if _, err := ReadClusterTokens(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), one) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, ok := (*ClusterTokens)(nil).Cluster(one); ok {
		t.Error("a token of no file")
	}
}

// TestReadFlow: a cookie that somebody else has written leads to no other site.
func TestReadFlow(t *testing.T) {
	text, err := json.Marshal(flow{Way: "oidc", State: "s", Back: "https://evil.test/", Expires: time.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := readFlow(base64.RawURLEncoding.EncodeToString(text)); err != nil || f.Back != "/" {
		t.Errorf("%+v, %v", f, err)
	}
}

// The tokens of a session open with its secret alone.
func TestSeal(t *testing.T) {
	token := &oauth2.Token{AccessToken: "access", RefreshToken: "refresh", Expiry: time.Now().Add(time.Hour).Round(0)}
	one, err := seal("session one", token)
	if err != nil {
		t.Fatal(err)
	}
	again, err := seal("session one", token)
	if err != nil || again == one || strings.Contains(one, "access") {
		t.Errorf("sealed as %s and %s, %v", one, again, err)
	}
	opened, err := open("session one", one)
	if err != nil || opened.AccessToken != token.AccessToken || opened.RefreshToken != token.RefreshToken || !opened.Expiry.Equal(token.Expiry) {
		t.Errorf("%+v, %v", opened, err)
	}
	for _, c := range []struct{ session, sealed string }{{"session two", one}, {"session one", one[:len(one)-4]}, {"session one", ""}, {"session one", "%"}} {
		if _, err := open(c.session, c.sealed); err == nil {
			t.Errorf("%+v was opened", c)
		}
	}
}

func TestLocalPath(t *testing.T) {
	for back, want := range map[string]string{
		"/drift?env=dev": "/drift?env=dev", "": "/", "drift": "/", "//evil.test": "/", "https://evil.test/": "/", "/\\evil.test": "/", "/a\r\nb": "/", "javascript:alert(1)": "/",
	} {
		if got := localPath(back); got != want {
			t.Errorf("%q: %q", back, got)
		}
	}
}

func TestLimiter(t *testing.T) {
	l := NewLimiter()
	for range FailuresPerMinute {
		if l.Blocked("a") != 0 || l.Wait("a") != 0 {
			t.Fatal("within the limit")
		}
	}
	for _, wait := range []time.Duration{l.Blocked("a"), l.Wait("a"), l.Blocked("a")} {
		if wait <= 0 || wait > time.Minute {
			t.Errorf("waits %s", wait)
		}
	}
	if l.Blocked("b") != 0 || !l.Allow("b") {
		t.Error("another address waits")
	}
}
