package controller

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

const goodConfig = `# scheduler of the sandbox
forge:
  type: gitea
  url: http://127.0.0.1:3000
  tokenFile: token
controlPlane:
  repo: http://127.0.0.1:3000/acme/control-plane.git
promoteTo: dev
webhookSecretFile: /run/secret
poll: 10s
`

func TestLoadConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	if err := os.WriteFile(file, []byte(goodConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Forge:             ForgeConfig{Type: "gitea", URL: "http://127.0.0.1:3000", TokenFile: filepath.Join(filepath.Dir(file), "token")},
		ControlPlane:      ControlPlaneConfig{Repo: "http://127.0.0.1:3000/acme/control-plane.git"},
		PromoteTo:         "dev",
		WebhookSecretFile: "/run/secret",
		Poll:              10 * time.Second,
		File:              file,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseConfigJSON(t *testing.T) {
	json := "{\n\t\"forge\": {\"type\": \"gitea\", \"url\": \"http://x\", \"tokenEnv\": \"T\"},\n\t\"controlPlane\": {\n\t\t\"repo\": \"http://x/a/b\"\n\t},\n\t\"webhookSecret\": \"s\"\n}\n"
	c, err := ParseConfig("c.json", []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if c.ControlPlane.Repo != "http://x/a/b" || c.Forge.TokenEnv != "T" {
		t.Errorf("%+v", c)
	}
}

func TestParseConfigErrors(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"unknown field":    {"  url:", "  ulr:", `c.yaml:4: unknown field "ulr"`},
		"wrong type":       {"poll: 10s", "poll: soon", "c.yaml:10: cannot unmarshal"},
		"not YAML":         {"promoteTo: dev", "promoteTo: [", "c.yaml:8: did not find expected"},
		"unknown forge":    {"gitea\n", "gitlab\n", `c.yaml:3: forge.type "gitlab" is not known`},
		"no control plane": {"  repo: http", "  path: http", "c.yaml:6: controlPlane.repo is missing"},
		"two tokens":       {"tokenFile: token", "tokenFile: token\n  tokenEnv: T", "c.yaml:5: forge needs either tokenFile or tokenEnv"},
		"a token":          {"tokenFile: token", "token: s3cr3t", `c.yaml:5: unknown field "token": a token is not in this file`},
		"a password":       {"//127", "//a:s3cr3t@127", "c.yaml:4: forge.url holds credentials"},
		"no URL":           {"http://127.0.0.1:3000\n", "127.0.0.1:3000\n", "c.yaml:4: forge.url is no http or https URL"},
		"an App":           {"tokenFile: token", "app: {id: 1}", "c.yaml:5: forge.app is for GitHub"},
		"half a key":       {"  tokenFile", "  signing: {keyFile: key}\n  tokenFile", "c.yaml:5: forge.signing needs keyFile and email"},
		"an API":           {"  tokenFile", "  api: http://x\n  tokenFile", "c.yaml:5: forge.api is for GitHub"},
		"none of several":  {"controlPlane:\n  repo: http://127.0.0.1:3000/acme/control-plane.git\npromoteTo: dev", "controlPlanes:\n- path: x", "c.yaml:7: repo of a control plane is missing"},
		"one and several":  {"promoteTo: dev", "controlPlanes: [{repo: http://x/a/b}]", "c.yaml:6: controlPlane and controlPlanes are given"},
		"whose promoteTo":  {"controlPlane:\n  repo:", "controlPlanes:\n- repo:", "c.yaml:8: each of several control planes has its own promoteTo"},
		"twice the same": {"controlPlane:\n  repo: http://127.0.0.1:3000/acme/control-plane.git\npromoteTo: dev", "controlPlanes:\n- repo: http://x/a/b.git\n- {repo: http://x/a/b, branch: main}",
			"c.yaml:8: this control plane is given twice"},
		"no secret":          {"webhookSecretFile: /run/secret\n", "", "c.yaml:2: either webhookSecret or webhookSecretFile"},
		"poll is too short":  {"10s", "1ms", "c.yaml:10: poll 1ms is too short"},
		"lease is too short": {"poll: 10s", "leaderElection:\n  length: 1s", "c.yaml:11: leaderElection.length 1s is too short: 15s is the least"},
		"listen":             {"poll: 10s", "listen: here", `c.yaml:10: listen "here" is not of the form host:port`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(goodConfig, test.old, test.new, 1)
			_, err := ParseConfig("c.yaml", []byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
	testErrorsOnGitHub(t)
	if _, err := ParseConfig("c.yaml", nil); err == nil || !strings.HasPrefix(err.Error(), "c.yaml:1: ") {
		t.Errorf("empty file: %v", err)
	}
}

const gitHubConfig = `forge:
  type: github
  api: https://api.example.com
  app: {id: 7, installation: 8, keyFile: app.pem}
controlPlanes:
- repo: https://github.com/acme/one
  promoteTo: dev
- repo: https://github.com/acme/two
  path: platform
webhookSecret: s
`

func testErrorsOnGitHub(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"two accounts":  {"  app", "  tokenEnv: T\n  app", "c.yaml:1: forge needs one of tokenFile, tokenEnv and app"},
		"none":          {"  app: {id: 7, installation: 8, keyFile: app.pem}\n", "", "c.yaml:1: forge needs one of tokenFile, tokenEnv and app"},
		"half an App":   {"keyFile: app.pem", "", "c.yaml:4: forge.app needs id, installation and keyFile"},
		"a bad API URL": {"https://api", "ftp://api", "c.yaml:3: forge.api is no http or https URL"},
	} {
		text := strings.Replace(gitHubConfig, test.old, test.new, 1)
		if _, err := ParseConfig("c.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// TestGitHubConfig makes what a configuration describes.
func TestGitHubConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte(gitHubConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Forge.App.KeyFile != filepath.Join(dir, "app.pem") {
		t.Errorf("key in %s", c.Forge.App.KeyFile)
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := c.server(nil, log); err == nil || !strings.Contains(err.Error(), "private key of App 7: open "+dir) {
		t.Errorf("without the key: %v", err)
	}
	c.Forge.App, c.Forge.TokenEnv = nil, "FORGE_TOKEN"
	t.Setenv("FORGE_TOKEN", "  ")
	if _, err := c.server(nil, log); err == nil || !strings.Contains(err.Error(), "FORGE_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	t.Setenv("FORGE_TOKEN", "t")
	d, err := c.server(nil, log)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range d.controllers {
		names = append(names, w.name+" > "+w.options.PromoteTo)
	}
	if diff := cmp.Diff([]string{"acme/one@main > dev", "acme/two@main:platform > "}, names); diff != "" {
		t.Errorf("control planes (-want +got):\n%s", diff)
	}
	if _, ok := d.controllers[0].options.Forge.(*github.Forge); !ok || d.controllers[0].options.Forge != d.controllers[1].options.Forge {
		t.Errorf("forge %T", d.controllers[0].options.Forge)
	}
}

func TestOnceNeedsNoSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(goodConfig, "webhookSecretFile: /run/secret\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOnceConfig(file); err != nil {
		t.Error(err)
	}
	if _, err := LoadConfig(file); err == nil {
		t.Error("it can be served without a secret")
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Setenv("FORGE_TOKEN", "t")
	c := Config{
		Forge:         ForgeConfig{Type: "gitea", URL: "http://127.0.0.1:1", TokenEnv: "FORGE_TOKEN"},
		ControlPlane:  ControlPlaneConfig{Repo: "http://127.0.0.1:1/acme/control-plane.git"},
		Listen:        "127.0.0.1:0",
		WebhookSecret: secretly,
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := Serve(ctx, c, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

// A GitHub Enterprise is not known by its name.
func TestForgePages(t *testing.T) {
	for _, c := range []struct {
		forge          ForgeConfig
		address, files string
	}{
		{ForgeConfig{Type: Gitea, URL: "https://git.example.com"}, "https://git.example.com", "src/branch"},
		{ForgeConfig{Type: GitHub}, github.PublicURL, "blob"},
		{ForgeConfig{Type: GitHub, URL: "https://git.example.com"}, "https://git.example.com", "blob"},
	} {
		if c.forge.Address() != c.address || c.forge.Files() != c.files {
			t.Errorf("%+v: %s, %s", c.forge, c.forge.Address(), c.forge.Files())
		}
	}
}
