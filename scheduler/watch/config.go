package watch

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// DefaultListen is where a scheduler listens when its configuration does not
// say.
const DefaultListen = "127.0.0.1:8765"

// Config is the configuration file of a scheduler, in YAML or JSON.
type Config struct {
	Forge        ForgeConfig        `yaml:"forge"`
	ControlPlane ControlPlaneConfig `yaml:"controlPlane"`
	// PromoteTo names the environment that gets the commits of the control
	// plane's default branch. Empty: the control plane's own workflows
	// promote, or nobody.
	PromoteTo string `yaml:"promoteTo"`
	// Listen is the address of /webhook and /status; DefaultListen when empty.
	Listen string `yaml:"listen"`
	// WebhookSecret signs the forge's webhooks and opens /status. It can be
	// in a file of its own, WebhookSecretFile, instead.
	WebhookSecret     string        `yaml:"webhookSecret"`
	WebhookSecretFile string        `yaml:"webhookSecretFile"`
	Poll              time.Duration `yaml:"poll"` // DefaultPoll when zero
}

// ForgeConfig says which forge holds the repositories, and as whom to talk to
// it. The token is in a file or in an environment variable.
type ForgeConfig struct {
	Type      string `yaml:"type"` // gitea
	URL       string `yaml:"url"`
	User      string `yaml:"user"` // the token's account; asked for when empty
	TokenFile string `yaml:"tokenFile"`
	TokenEnv  string `yaml:"tokenEnv"`
}

// ControlPlaneConfig says where the Environment objects are.
type ControlPlaneConfig struct {
	Repo   string `yaml:"repo"`   // clone URL
	Branch string `yaml:"branch"` // main when empty
	Path   string `yaml:"path"`   // the root when empty
}

// LoadConfig reads a configuration file. Files that it names are relative to
// its own folder.
func LoadConfig(file string) (Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("scheduler configuration: %w", err)
	}
	c, err := ParseConfig(file, data)
	if err != nil {
		return Config{}, err
	}
	for _, name := range []*string{&c.Forge.TokenFile, &c.WebhookSecretFile} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(filepath.Dir(file), *name)
		}
	}
	return c, nil
}

// ParseConfig parses a configuration. Errors begin with file and line; an
// unknown field is one.
func ParseConfig(file string, data []byte) (Config, error) {
	var c Config
	var document yaml.Node
	data = spaced(data)
	if err := yaml.Unmarshal(data, &document); err != nil {
		return Config{}, positioned(file, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && len(document.Content) > 0 {
		return Config{}, positioned(file, err)
	}
	if err := c.validate(file, &document); err != nil {
		return Config{}, err
	}
	return c, nil
}

// spaced turns the tabs that JSON may be indented with into spaces, which YAML
// insists on.
func spaced(data []byte) []byte {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return data
	}
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines {
		text := bytes.TrimLeft(line, " \t")
		indent := bytes.ReplaceAll(line[:len(line)-len(text)], []byte("\t"), []byte(" "))
		lines[i] = append(indent, text...)
	}
	return bytes.Join(lines, []byte("\n"))
}

var (
	yamlLine     = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
)

// positioned words an error of the YAML package as file:line: message.
func positioned(file string, err error) error {
	lines := []string{err.Error()}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		lines = typed.Errors
	}
	var all []error
	for _, line := range lines {
		m := yamlLine.FindStringSubmatch(line)
		if m == nil {
			all = append(all, fmt.Errorf("%s: %s", file, strings.TrimPrefix(line, "yaml: ")))
			continue
		}
		message := m[2]
		if f := unknownField.FindStringSubmatch(message); f != nil {
			message = fmt.Sprintf("unknown field %q", f[1])
		}
		all = append(all, fmt.Errorf("%s:%s: %s", file, m[1], message))
	}
	return errors.Join(all...)
}

// validate checks what a configuration says, and points to where it says it.
func (c Config) validate(file string, document *yaml.Node) error {
	var all []error
	wrong := func(message string, path ...string) {
		all = append(all, fmt.Errorf("%s:%d: %s", file, lineOf(document, path), message))
	}
	if c.Forge.Type != "gitea" {
		wrong(fmt.Sprintf("forge.type %q is not known: gitea is", c.Forge.Type), "forge", "type")
	}
	if c.Forge.URL == "" {
		wrong("forge.url is missing", "forge", "url")
	}
	if (c.Forge.TokenFile == "") == (c.Forge.TokenEnv == "") {
		wrong("forge needs either tokenFile or tokenEnv", "forge", "tokenFile")
	}
	if c.ControlPlane.Repo == "" {
		wrong("controlPlane.repo is missing", "controlPlane", "repo")
	}
	if (c.WebhookSecret == "") == (c.WebhookSecretFile == "") {
		wrong("either webhookSecret or webhookSecretFile is needed", "webhookSecret")
	}
	if c.Poll < 0 || c.Poll > 0 && c.Poll < time.Second {
		wrong(fmt.Sprintf("poll %s is too short: a second is the least", c.Poll), "poll")
	}
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		wrong(fmt.Sprintf("listen %q is not of the form host:port", c.Listen), "listen")
	}
	return errors.Join(all...)
}

func (c Config) listen() string {
	if c.Listen == "" {
		return DefaultListen
	}
	return c.Listen
}

// lineOf is the line of a field, or of the closest mapping that should hold it.
func lineOf(document *yaml.Node, path []string) int {
	if len(document.Content) == 0 {
		return 1
	}
	node, line := document.Content[0], 1
	for _, name := range path {
		found := false
		for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
			if node.Content[i].Value == name {
				line, node, found = node.Content[i].Line, node.Content[i+1], true
				break
			}
		}
		if !found {
			return line
		}
	}
	return line
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
