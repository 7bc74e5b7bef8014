package actions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Config is what a runner must know. Its file is YAML:
//
//	url: http://localhost:3000
//	name: kalypso
//	dir: /home/me/.kalypso/runner
//	registrationToken: ...        # or registrationTokenFile
//	program: /usr/local/bin/kalypso
//	listen: 127.0.0.1:8790        # /webhook, /status, /healthz
//	webhookSecret: ...
type Config struct {
	// URL is the forge's root.
	URL string `json:"url"`
	// Name is the runner's, in the forge's list of runners.
	Name string `json:"name"`
	// Dir holds the runner's identity, the records of tasks, and the jobs'
	// folders. It must stay from one start to the next.
	Dir string `json:"dir"`
	// Labels are what a job can name in runs-on.
	Labels []string `json:"labels,omitempty"`
	// RegistrationToken is needed once: later the runner has an identity. In
	// code, Runner.Token can supply it instead.
	RegistrationToken     string `json:"registrationToken,omitempty"`
	RegistrationTokenFile string `json:"registrationTokenFile,omitempty"`
	// Program is the kalypso that jobs find first in their PATH, and that
	// keeps them; this program when empty.
	Program string `json:"program,omitempty"`
	// Keeper is the command line that runs Keep, for programs other than
	// kalypso.
	Keeper []string `json:"keeper,omitempty"`
	// Env is added to the environment of every job, and so is SecretEnv, whose
	// values are hidden in logs like the forge's own secrets.
	Env       map[string]string `json:"env,omitempty"`
	SecretEnv map[string]string `json:"secretEnv,omitempty"`
	// Capacity is how many jobs run at once.
	Capacity int `json:"capacity,omitempty"`
	// Poll is the pause between two questions for work; a webhook shortens it.
	Poll Duration `json:"poll,omitempty"`
	// Listen is where webhooks are taken, and questions answered; "" for
	// nowhere.
	Listen        string `json:"listen,omitempty"`
	WebhookSecret string `json:"webhookSecret,omitempty"`
}

// Duration is a time.Duration that is written as text: 2s, 1m30s.
type Duration time.Duration

// UnmarshalText reads the text.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText writes the text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// DefaultLabels make the jobs of common workflows run here: those for GitHub's
// own machines, and those that each self-hosted runner has.
func DefaultLabels() []string { return labels(runnerOS(), runnerArch()) }

// labels has a machine's in two spellings: GitHub does not look at the case,
// Gitea does.
func labels(system, arch string) []string {
	return []string{
		"ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "self-hosted", "host",
		system, strings.ToLower(system), arch, strings.ToLower(arch),
	}
}

const (
	defaultCapacity = 4
	defaultPoll     = 2 * time.Second
)

// LoadConfig reads a configuration file. A path in it is meant from the file's
// folder.
func LoadConfig(file string) (Config, error) {
	var c Config
	b, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if err := yaml.UnmarshalStrict(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	for _, path := range []*string{&c.Dir, &c.RegistrationTokenFile, &c.Program} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(file), *path)
		}
	}
	if c, err = c.complete(); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// complete adds what may be left out.
func (c Config) complete() (Config, error) {
	if c.URL == "" || c.Dir == "" {
		return c, errors.New("url and dir are needed")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, err
	}
	c.Dir = dir
	if c.Program == "" {
		if c.Program, err = os.Executable(); err != nil {
			return c, err
		}
	}
	if len(c.Keeper) == 0 {
		c.Keeper = []string{c.Program, "actions", "keep"}
	}
	if len(c.Labels) == 0 {
		c.Labels = DefaultLabels()
	}
	if c.Name == "" {
		c.Name = "kalypso"
	}
	if c.Capacity <= 0 {
		c.Capacity = defaultCapacity
	}
	if c.Poll <= 0 {
		c.Poll = Duration(defaultPoll)
	}
	if c.Listen != "" && c.WebhookSecret == "" {
		return c, errors.New("webhookSecret is needed where listen is set")
	}
	return c, nil
}
