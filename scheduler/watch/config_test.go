package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		"unknown field":     {"  url:", "  ulr:", `c.yaml:4: unknown field "ulr"`},
		"wrong type":        {"poll: 10s", "poll: soon", "c.yaml:10: cannot unmarshal"},
		"not YAML":          {"promoteTo: dev", "promoteTo: [", "c.yaml:7: did not find expected"},
		"unknown forge":     {"gitea\n", "gitlab\n", `c.yaml:3: forge.type "gitlab" is not known`},
		"no control plane":  {"  repo: http", "  path: http", "c.yaml:6: controlPlane.repo is missing"},
		"two tokens":        {"tokenFile: token", "tokenFile: token\n  tokenEnv: T", "c.yaml:5: forge needs either tokenFile or tokenEnv"},
		"no secret":         {"webhookSecretFile: /run/secret\n", "", "c.yaml:1: either webhookSecret or webhookSecretFile"},
		"poll is too short": {"10s", "1ms", "c.yaml:10: poll 1ms is too short"},
		"listen":            {"poll: 10s", "listen: here", `c.yaml:10: listen "here" is not of the form host:port`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(goodConfig, test.old, test.new, 1)
			_, err := ParseConfig("c.yaml", []byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
	if _, err := ParseConfig("c.yaml", nil); err == nil || !strings.HasPrefix(err.Error(), "c.yaml:1: ") {
		t.Errorf("empty file: %v", err)
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
