package cmdutil

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox"
)

func TestWhoGetsCredentials(t *testing.T) {
	env := map[string]string{gitTokenVariable: "token", GitHubTokenVariable: "github"}
	c := &gitCredentials{
		env:     func(name string) string { return env[name] },
		sandbox: &sandbox.Credentials{URL: "http://localhost:3000", User: "platform", Password: "hush", Token: "own"},
	}
	c.trust("https://git.test/acme/cp", "git@ssh.test:acme/cp", "ssh://git@other.test:2222/acme/cp", "http://plain.test:8080/cp", "/a/folder", "folder", "C:\\x", "file:///x")
	for location, want := range map[string]string{
		"https://git.test/acme/cp":        "x-access-token:token",
		"https://Git.test:443/other":      "x-access-token:token",
		"https://ssh.test/acme/cp":        "x-access-token:token",
		"https://other.test/acme/cp":      "x-access-token:token",
		"http://plain.test:8080/any":      "x-access-token:token",
		"http://git.test/acme/cp":         ":",
		"https://plain.test:8080/any":     ":",
		"https://git.test:8443/acme":      ":",
		"https://git.test.evil.test/x":    ":",
		"https://evil.test/git.test":      ":",
		"https://evil.test":               ":",
		"https://github.com/acme/x":       "x-access-token:github",
		"http://github.com/acme/x":        ":",
		"https://github.com.evil.test/x":  ":",
		"https://api.github.com/x":        ":",
		"https://github.com@evil.test/x":  ":",
		"http://localhost:3000/kalypso/x": "x-access-token:token", // what the user says counts
		"http://localhost:3001/kalypso/x": ":",
		"https://localhost:3000/x":        ":",
		"http://127.0.0.1:3000/x":         ":",
		"/folder":                         ":",
		"file:///x":                       ":",
		"://":                             ":",
		"":                                ":",
	} {
		if user, password := c.get(location); user+":"+password != want {
			t.Errorf("%s gets %s:%s, want %s", location, user, password, want)
		}
	}
	env[gitUserVariable] = "me"
	if user, password := c.get("https://git.test/x"); user != "me" || password != "token" {
		t.Errorf("%s:%s", user, password)
	}
	c.trust("https://github.com/acme/cp")
	if user, password := c.get("https://github.com/x"); user != "me" || password != "token" {
		t.Errorf("a token for what was named does not come first: %s:%s", user, password)
	}
	env[gitTokenVariable] = ""
	if user, password := c.get("https://git.test/x"); user+password != "" {
		t.Errorf("a user alone is sent: %s:%s", user, password)
	}
	if user, password := c.get("http://localhost:3000/kalypso/x"); user != "platform" || password != "own" {
		t.Errorf("the sandbox's forge gets %s:%s", user, password)
	}
}

// TestCredentialsOfASandboxThatIsDown wants its forge's credentials to be used
// without it.
func TestCredentialsOfASandboxThatIsDown(t *testing.T) {
	home := t.TempDir()
	t.Setenv("KALYPSO_HOME", home)
	state := `{"workshop": "basic-inference", "ports": {"gitea": 2}, "admin": {"user": "platform", "password": "hush"}}`
	if err := os.WriteFile(filepath.Join(home, "sandbox.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &gitCredentials{env: os.Getenv, sandbox: new(App).sandboxCredentials()}
	if user, password := c.get("http://localhost:2/kalypso/x"); user != "platform" || password != "hush" {
		t.Errorf("user %q, password %q", user, password)
	}
}
