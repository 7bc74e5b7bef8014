package setup

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Config is what the configuration of a scheduler says. It names where the
// credentials are, and has none.
type Config struct {
	URL, API     string // of a GitHub that is not github.com
	TokenEnv     string
	TokenFile    string
	App          *App
	ControlPlane string // clone URL
	// Secret is the file with the webhooks' secret. SecretEnv is the variable
	// that has it here, when no file does.
	Secret, SecretEnv string
	FirstEnvironment  string
}

// App is a GitHub App, by its private key's file.
type App struct {
	ID           int64  `yaml:"id"`
	Installation int64  `yaml:"installation"`
	KeyFile      string `yaml:"keyFile"`
}

// SecretFile is where a scheduler's configuration says that the secret of the
// webhooks is, when there is no such file yet: beside the configuration.
const SecretFile = "webhook-secret"

// YAML returns the configuration as `kalypso scheduler` reads it. It is the same
// text for the same configuration.
func (c Config) YAML() ([]byte, error) {
	type forge struct {
		Type      string `yaml:"type"`
		URL       string `yaml:"url,omitempty"`
		API       string `yaml:"api,omitempty"`
		TokenEnv  string `yaml:"tokenEnv,omitempty"`
		TokenFile string `yaml:"tokenFile,omitempty"`
		App       *App   `yaml:"app,omitempty"`
	}
	type controlPlane struct {
		Repo   string `yaml:"repo"`
		Branch string `yaml:"branch"`
	}
	document := struct {
		Forge        forge        `yaml:"forge"`
		ControlPlane controlPlane `yaml:"controlPlane"`
		Secret       string       `yaml:"webhookSecretFile"`
	}{
		forge{"github", c.URL, c.API, c.TokenEnv, c.TokenFile, c.App},
		controlPlane{c.ControlPlane, "main"},
		c.Secret,
	}
	if document.Secret == "" {
		document.Secret = SecretFile
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What `kalypso scheduler run --config FILE` and `kalypso scheduler once --config\n# FILE` follow. Files are relative to this one.\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	if c.SecretEnv != "" && c.Secret == "" {
		fmt.Fprintf(&b, "# the file has to hold what %s held when the webhooks were made\n", c.SecretEnv)
	}
	fmt.Fprintf(&b, "# The control plane's own workflows promote. Where they cannot run:\n# promoteTo: %s\n", c.FirstEnvironment)
	return b.Bytes(), nil
}

// File returns where the key's file is named, nil without an App.
func (a *App) File() *string {
	if a == nil {
		return nil
	}
	return &a.KeyFile
}
