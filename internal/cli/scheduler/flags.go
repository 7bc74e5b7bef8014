package scheduler

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/spf13/pflag"
)

// flags say what a scheduler is to do, in place of a configuration
// file.
type flags struct {
	command                    string // run or once
	file                       string
	forge, url, api            string
	user, tokenEnv             string
	controlPlane, branch, path string
	promoteTo                  string
	allowedHosts               []string
}

func (f *flags) register(set *pflag.FlagSet) {
	set.StringVar(&f.file, "config", "", "the configuration file, in place of the flags below")
	set.StringVar(&f.controlPlane, "control-plane", "", "URL of the repository with the Environment objects (default the workflow's own)")
	set.StringVar(&f.branch, "branch", "main", "its branch")
	set.StringVar(&f.path, "path", "", "the folder in it")
	set.StringVar(&f.promoteTo, "promote-to", "", "the environment that gets the branch's commits")
	set.StringVar(&f.forge, "forge", "", "gitea or github, where it does not follow from its address")
	set.StringVar(&f.url, "url", "", "address of the forge (default that of --control-plane)")
	set.StringVar(&f.api, "api", "", "address of GitHub's REST API, where it does not follow from the forge's")
	set.StringVar(&f.user, "user", "", "name of the token's account, where it cannot be asked for")
	set.StringArrayVar(&f.allowedHosts, "allow-host", nil, "read workloads on `HOST` too, or HOST:PORT, besides the forge's; may be repeated")
	set.StringVar(&f.tokenEnv, "token-env", "", "the variable with the token")
}

// describedFlags are those that a configuration file has in it.
var describedFlags = []string{"control-plane", "branch", "path", "promote-to", "forge", "url", "api", "user", "token-env", "allow-host"}

// alone returns an error when flags are given besides a file that has it all.
func alone(set *pflag.FlagSet, names []string) error {
	for _, name := range names {
		if set.Changed(name) {
			return usage.Errorf("--config says all of it: leave --%s out", name)
		}
	}
	return nil
}

// once makes the configuration that file, flags and variables describe, for one
// round.
func (f *flags) once(set *pflag.FlagSet, get func(string) string) (controller.Config, error) {
	if f.file == "" {
		return f.described(get)
	}
	if err := alone(set, describedFlags); err != nil {
		return controller.Config{}, err
	}
	return controller.LoadOnceConfig(f.file)
}

func (f *flags) described(get func(string) string) (controller.Config, error) {
	e := ci.ReadEnvironment(get)
	repo := f.controlPlane
	if repo == "" && e.Server != "" && e.Repository != "" {
		repo = e.CloneURL(e.Repository)
	}
	if repo == "" {
		return controller.Config{}, f.usage("which control plane? Give --control-plane URL or --config FILE")
	}
	at, err := url.Parse(repo)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
		return controller.Config{}, f.usage("--control-plane wants an http or https URL, without credentials")
	}
	c := controller.Config{
		Forge:        controller.ForgeConfig{Type: f.forge, URL: f.url, API: f.api, User: f.user},
		ControlPlane: controller.ControlPlaneConfig{Repo: repo, Branch: f.branch, Path: f.path},
		PromoteTo:    f.promoteTo,
		AllowedHosts: f.allowedHosts,
	}
	for _, host := range f.allowedHosts {
		if _, err := gitclient.NewHosts(host); err != nil {
			return controller.Config{}, f.usage("--allow-host: %v", err)
		}
	}
	runner := e.Server != "" && strings.HasPrefix(repo, e.Server+"/")
	if c.Forge.URL == "" {
		c.Forge.URL = at.Scheme + "://" + at.Host
		if runner {
			c.Forge.URL = e.Server
		}
	}
	here := c.Forge.URL == e.Server // the runner's variables are about this forge
	if c.Forge.Type == "" {
		c.Forge.Type = forgeType(e, here, get("KALYPSO_FORGE"), at.Hostname())
	}
	switch {
	case c.Forge.Type != controller.Gitea && c.Forge.Type != controller.GitHub:
		return controller.Config{}, f.usage("what is at %s? Give --forge gitea or --forge github", c.Forge.URL)
	case c.Forge.Type == controller.Gitea && f.api != "":
		return controller.Config{}, f.usage("--api is for GitHub: Gitea's API is below its address")
	case c.Forge.Type == controller.GitHub && f.api == "" && here:
		c.Forge.API = e.API
	}
	c.Forge.TokenEnv, err = f.tokenVariable(e, c.Forge.URL, get)
	return c, err
}

// forgeType follows from the runner's variables, or else from the server's name.
func forgeType(e ci.Environment, here bool, said, host string) string {
	switch {
	case here:
		return e.Forge
	case said != "":
		return said
	case host == "github.com", strings.HasSuffix(host, ".ghe.com"):
		return controller.GitHub
	}
	return ""
}

// tokenVariable is the variable with the token. Those that a runner sets are
// for the runner's own forge, and must not be sent elsewhere.
func (f *flags) tokenVariable(e ci.Environment, server string, get func(string) string) (string, error) {
	if f.tokenEnv != "" {
		return f.tokenEnv, nil
	}
	own := e.Server
	if own == "" {
		own = "https://github.com"
	}
	for _, name := range []string{"KALYPSO_CI_TOKEN", "GITHUB_TOKEN"} {
		switch {
		case strings.TrimSpace(get(name)) == "":
		case strings.TrimRight(server, "/") != own:
			return "", f.usage("%s is for %s: name the variable that has the token for %s with --token-env", name, own, server)
		default:
			return name, nil
		}
	}
	return "", f.usage("no token: put one into GITHUB_TOKEN, or name the variable that has it with --token-env")
}

func (f *flags) usage(format string, args ...any) error {
	return usage.New(fmt.Sprintf(format, args...) + "\nSee `kalypso scheduler " + f.command + " --help`.")
}
