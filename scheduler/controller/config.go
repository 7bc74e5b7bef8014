package controller

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/yamlpos"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
)

// DefaultListen is where a scheduler listens when its configuration does not
// say.
const DefaultListen = "127.0.0.1:8765"

// Config is the configuration file of a scheduler, in YAML or JSON.
type Config struct {
	Forge ForgeConfig `yaml:"forge"`
	// ControlPlane is the only one. ControlPlanes are several on the same forge,
	// instead of it.
	ControlPlane  ControlPlaneConfig   `yaml:"controlPlane"`
	ControlPlanes []ControlPlaneConfig `yaml:"controlPlanes"`
	// PromoteTo names the environment that gets the commits of the control
	// plane's default branch. Empty: the control plane's own workflows
	// promote, or nobody. Each of several control planes has its own.
	PromoteTo string `yaml:"promoteTo"`
	// Listen is the address that is served; DefaultListen when empty.
	Listen string `yaml:"listen"`
	// AllowedHosts are the servers whose repositories are read besides the forge's,
	// as in git.example.com or git.example.com:8443.
	AllowedHosts []string `yaml:"allowedHosts"`
	// Addresses are replaced in all files that are read, of a Gitea that has copies of
	// repositories of elsewhere: by what stands in the files.
	Addresses map[string]string `yaml:"addresses"`
	// WebhookSecret signs the forge's webhooks and opens /status. It can be
	// in a file of its own, WebhookSecretFile, instead.
	WebhookSecret     string        `yaml:"webhookSecret"`
	WebhookSecretFile string        `yaml:"webhookSecretFile"`
	Poll              time.Duration `yaml:"poll"` // DefaultPoll when zero
	// Metrics is whether /metrics is served, to everybody who reaches it; it is
	// when nothing is said.
	Metrics *bool `yaml:"metrics"`
	// Observe are the parts of the fleet, which rollouts wait for. Clusters that several
	// know are put together.
	Observe []ObserveConfig `yaml:"observe"`
	// LeaderElection is for several replicas in Kubernetes, of which one works and
	// the others stand by.
	LeaderElection *LeaderElectionConfig `yaml:"leaderElection"`

	// File is where the configuration was read from, which LoadConfig sets. While
	// it is served, no other process can serve it.
	File string `yaml:"-"`
}

// LeaderElectionConfig says how one of several replicas is chosen. All of it may
// be left out.
type LeaderElectionConfig struct {
	// Length is how long a scheduler may be silent before another takes over;
	// DefaultElectionLength when zero.
	Length time.Duration `yaml:"length"`
	// Lease is the name of the Lease in the pod's namespace; DefaultLease when
	// empty. Schedulers for other control planes need another one.
	Lease string `yaml:"lease"`
	// AdvertiseEnv is accepted and has no effect: schedulers pass no webhooks on to
	// each other any more.
	AdvertiseEnv string `yaml:"advertiseEnv"`
}

// The types of forges.
const (
	Gitea  = "gitea"
	GitHub = "github"
)

// ForgeConfig says which forge has the repositories, and with which account to
// use it. The token is in a file or in an environment variable, never here.
type ForgeConfig struct {
	Type      string      `yaml:"type"`           // Gitea or GitHub
	URL       string      `yaml:"url,omitempty"`  // of the pages; GitHub's is https://github.com when empty
	API       string      `yaml:"api,omitempty"`  // of GitHub's REST API, where it does not follow from URL
	User      string      `yaml:"user,omitempty"` // the account; asked for when empty
	TokenFile string      `yaml:"tokenFile,omitempty"`
	TokenEnv  string      `yaml:"tokenEnv,omitempty"`
	App       *github.App `yaml:"app,omitempty"` // instead of a token
	// Signing is the key that commits are signed with; nil for none.
	Signing *SigningConfig `yaml:"signing,omitempty"`
}

// Address is that of the forge's pages.
func (f ForgeConfig) Address() string {
	if f.URL == "" && f.Type == GitHub {
		return github.PublicURL
	}
	return f.URL
}

// Files is what is between a repository and a branch in the path of a file's page, as a
// forge.Site has it.
func (f ForgeConfig) Files() string {
	if f.Type == GitHub {
		return github.Files
	}
	return gitea.Files
}

// SigningConfig says how commits are signed, and who is their author and committer.
// A forge shows them as verified when it knows the key and the address as an
// account's.
type SigningConfig struct {
	KeyFile string `yaml:"keyFile"` // a private key of SSH, or an armored one of OpenPGP; without a passphrase
	Name    string `yaml:"name"`    // the scheduler's when empty
	Email   string `yaml:"email"`

	key *signing.Key // LoadConfig reads it
}

// ControlPlaneConfig says where the Environment objects are.
type ControlPlaneConfig struct {
	Repo      string `yaml:"repo"`                // clone URL
	Branch    string `yaml:"branch"`              // main when empty
	Path      string `yaml:"path,omitempty"`      // the root when empty
	PromoteTo string `yaml:"promoteTo,omitempty"` // as in Config
}

// LoadConfig reads the configuration file for Serve. Files that it names are
// relative to its own folder.
func LoadConfig(file string) (Config, error) { return load(file, ParseConfig) }

// LoadOnceConfig reads one for RunOnce, to which no webhooks come: their secret
// may be missing.
func LoadOnceConfig(file string) (Config, error) {
	return load(file, func(file string, data []byte) (Config, error) { return parse(file, data, false) })
}

func load(file string, parse func(string, []byte) (Config, error)) (Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("scheduler configuration: %w", err)
	}
	c, err := parse(file, data)
	if err != nil {
		return Config{}, err
	}
	c.File = file
	names := []*string{&c.Forge.TokenFile, &c.WebhookSecretFile}
	if c.Forge.App != nil {
		names = append(names, &c.Forge.App.KeyFile)
	}
	if c.Forge.Signing != nil {
		names = append(names, &c.Forge.Signing.KeyFile)
	}
	for i := range c.Observe {
		names = append(names, &c.Observe[i].Kubeconfig)
		if e := c.Observe[i].Endpoint; e != nil {
			names = append(names, &e.TokenFile)
		}
	}
	for _, name := range names {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(filepath.Dir(file), *name)
		}
	}
	if s := c.Forge.Signing; s != nil {
		if s.key, err = signing.Load(s.KeyFile, s.Name, s.Email); err != nil {
			var document yaml.Node
			_ = yaml.Unmarshal(data, &document) // it has been read once
			return Config{}, fmt.Errorf("%s:%d: forge.signing.keyFile: %w", file, yamlpos.LineOf(&document, []string{"forge", "signing", "keyFile"}), err)
		}
	}
	return c, nil
}

// ParseConfig parses the configuration file for Serve. Errors begin with file and
// line; an unknown field is one.
func ParseConfig(file string, data []byte) (Config, error) {
	return parse(file, data, true)
}

func parse(file string, data []byte, served bool) (c Config, err error) {
	document, err := yamlpos.DecodeConfig(file, data, &c)
	if err != nil {
		return Config{}, err
	}
	if len(document.Content) > 0 && c.LeaderElection == nil && yamlpos.Has(document.Content[0], "leaderElection") {
		c.LeaderElection = &LeaderElectionConfig{} // with nothing in it
	}
	if err := c.validate(file, document, served); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Planes are the control planes, each with what it promotes to.
func (c Config) Planes() []ControlPlaneConfig {
	if len(c.ControlPlanes) > 0 {
		return c.ControlPlanes
	}
	one := c.ControlPlane
	one.PromoteTo = cmp.Or(one.PromoteTo, c.PromoteTo)
	return []ControlPlaneConfig{one}
}

func (c Config) listen() string { return cmp.Or(c.Listen, DefaultListen) }

// Secret returns the secret of the webhooks, which also opens the status.
func (c Config) Secret() (string, error) {
	if c.WebhookSecret != "" {
		return c.WebhookSecret, nil
	}
	return secret("webhook secret", c.WebhookSecretFile, "")
}

// secret returns what a file or a variable holds, without space around it.
func secret(what, file, variable string) (string, error) {
	value := os.Getenv(variable)
	from := "environment variable " + variable
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		value, from = string(data), file
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", fmt.Errorf("%s: %s is empty", what, from)
	}
	return value, nil
}
