package hub

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/usage"
)

const minimal = "scheduler: {config: s.yaml}\nstore: {sqlite: hub.db}\nobserve: [{kubeconfig: k}]\n"

func TestMistakesHaveFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		minimal + "lisen: x\n":                       `hub.yaml:4: unknown field "lisen"`,
		minimal + "retention: {events: 3 weeks}\n":   "hub.yaml:4: ",
		minimal + "poll: 10ms\n":                     "hub.yaml:4: poll",
		minimal + "listen: nowhere\n":                "hub.yaml:4: listen",
		minimal + "publicURL: ftp://a\n":             "hub.yaml:4: publicURL",
		minimal + "tls: {certFile: c}\n":             "hub.yaml:4: tls",
		"store: {sqlite: a}\nobserve: [{arc: {}}]\n": "hub.yaml:2: arc.subscriptions",
		"scheduler: {config: s}\nstore: {}\n":        "hub.yaml:2: store",
		"scheduler: {config: s}\nstore: {sqlite: a}\nobserve:\n- {kubeconfig: k, arc: {subscriptions: [s]}}\n":                      "hub.yaml:4: ",
		"scheduler: {config: s}\nstore: {sqlite: a}\nobserve:\n- endpoint: {url: 'http://u:p@h', tokenEnv: T}\n":                    "hub.yaml:4: ",
		minimal + "signIn: {oidc: {issuer: 'https://i'}}\nroles: [{group: a, role: viewer}]\n":                                      "hub.yaml:4: signIn.oidc",
		minimal + "signIn: {oidc: {issuer: 'http://i', clientID: c}}\nroles: [{group: a, role: viewer}]\n":                          "hub.yaml:4: signIn.oidc.issuer",
		minimal + "signIn:\n  oidc: {issuer: 'https://i', clientID: c}\n":                                                           "hub.yaml:4: signIn",
		minimal + "signIn: {forge: {clientID: c, secretEnv: A, secretFile: b}}\nroles: [{group: a, role: viewer}]\n":                "hub.yaml:4: signIn.forge",
		minimal + "roles: [{group: a, role: viewer}]\n":                                                                             "hub.yaml:4: roles",
		minimal + "signIn: {forge: {clientID: c}}\nroles:\n- {group: a, role: owner}\n":                                             `hub.yaml:6: role "owner"`,
		minimal + "signIn: {forge: {clientID: c}}\nroles:\n- {group: a, role: viewer}\n- {role: viewer}\n":                          "hub.yaml:7: ",
		minimal + "signIn: {forge: {clientID: c}}\nroles:\n- {group: a, role: operator, workspaces: [w]}\n":                         "hub.yaml:6: an operator",
		minimal + "signIn: {forge: {clientID: c}}\nroles:\n- {grop: a, role: viewer}\n":                                             `hub.yaml:6: unknown field "grop"`,
		minimal + "signIn: {session: 1s, forge: {clientID: c}}\nroles: [{group: a, role: viewer}]\n":                                "hub.yaml:4: signIn.session",
		minimal + "traces: {clusterSpans: some}\n":                                                                                  "hub.yaml:4: traces.clusterSpans",
		"scheduler: {config: s}\nstore: {sqlite: a}\nobserve:\n- agents: {}\n- agents: {}\n":                                        "hub.yaml:5: agents",
		"scheduler: {config: s}\nstore: {sqlite: a, postgresEnv: P}\nobserve:\n- {kubeconfig: k}\n- {kubeconfig: k, interval: 10s}": "hub.yaml:2: store",
	} {
		if _, err := ParseConfig("hub.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestExposed: what others reach has to be protected, and it is the caller's mistake when it
// is not.
func TestExposed(t *testing.T) {
	for text, want := range map[string]string{
		"listen: 0.0.0.0:8080":                    "tls",
		"listen: ':8080'":                         "tls",
		"listen: 0.0.0.0:8080\nbehindProxy: true": "publicURL",
		"listen: '[::1]:8080'":                    "",
		"listen: localhost:8080":                  "",
		"listen: 0.0.0.0:8080\nbehindProxy: true\npublicURL: https://h":              "",
		"listen: 0.0.0.0:8080\ntls: {certFile: c, keyFile: k}\npublicURL: https://h": "",
	} {
		_, err := ParseConfig("hub.yaml", []byte(minimal+text+"\n"))
		var mistake *usage.Error
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		} else if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "hub.yaml:4: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNobodyCanSignIn: a hub that others reach has a way to sign in, or a token.
func TestNobodyCanSignIn(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	const exposed = minimal + "listen: 0.0.0.0:8080\nbehindProxy: true\npublicURL: https://h\n"
	parse := func(text string) Config {
		t.Helper()
		c, err := ParseConfig("hub.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, token := range []store.Token{{Name: "ended", Role: "viewer", Expires: time.Now().Add(-time.Hour)}, {Name: "agent", Role: "agent", Cluster: "store-17"}} {
		if _, err := s.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	var mistake *usage.Error
	if err := parse(exposed).reachable(t.Context(), s); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "hub.yaml:4: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{minimal, exposed + "signIn: {forge: {clientID: c}}\nroles: [{group: a, role: viewer}]\n", exposed + "signIn: {oidc: {issuer: 'https://i', clientID: c}}\nroles: [{group: a, role: viewer}]\n"} {
		if err := parse(text).reachable(t.Context(), s); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := s.CreateToken(t.Context(), store.Token{Name: "script", Role: "viewer"}); err != nil {
		t.Fatal(err)
	}
	if err := parse(exposed).reachable(t.Context(), s); err != nil {
		t.Errorf("with a token: %v", err)
	}
}

func TestFilesAreRelativeToTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"hub.yaml": minimal + "- endpoint: {url: 'http://h', tokenFile: t}\nretention: {events: 30d}\n",
		"s.yaml":   "forge: {type: gitea, url: 'http://f', tokenEnv: T}\ncontrolPlane: {repo: 'http://f/o/c'}\nwebhookSecret: s\n",
	} {
		text = strings.Replace(text, "observe: [{kubeconfig: k}]\n", "observe:\n- {kubeconfig: k}\n", 1)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := LoadConfig(filepath.Join(dir, "hub.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Store.SQLite != filepath.Join(dir, "hub.db") || c.Observe[0].Kubeconfig != filepath.Join(dir, "k") || c.Observe[1].Endpoint.TokenFile != filepath.Join(dir, "t") {
		t.Errorf("%+v", c)
	}
	if c.Mirrors != filepath.Join(dir, "mirrors") {
		t.Errorf("mirrors in %s", c.Mirrors)
	}
	if c.scheduler.Planes()[0].Repo != "http://f/o/c" || c.Retention.Events != Age(30*24*time.Hour) || c.Retention.Audit != DefaultRetention || c.hosts()[0] != DefaultListen {
		t.Errorf("%+v", c)
	}
	names := map[string]bool{}
	for _, f := range c.fleet(nil, nil) {
		names[f.Name] = true
	}
	if !names["kubernetes"] || !names["endpoint"] {
		t.Errorf("%v", names)
	}
}
