package initialize

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/fixtures/githuborg"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/pflag"
)

// Options say what is to be made, where, and as whom. Credentials are named,
// never given.
type Options struct {
	*cmdutil.App
	forge, org, workshop    string
	oneWorkshop             bool // --workshop was given
	url, api, registry      string
	visibility              string
	tokenEnv, tokenFile     string
	app                     github.App
	secretEnv, secretFile   []string
	webhook                 string
	webhookEnv, webhookFile string
	config                  string
	dryRun, cleanup, yes    bool
}

func (f *Options) register(set *pflag.FlagSet) {
	set.StringVar(&f.forge, "forge", "github", "the kind of forge")
	set.StringVar(&f.org, "org", "", "the organisation")
	set.StringVar(&f.workshop, "workshop", sandbox.DefaultWorkshop, "the workshop whose repositories are wanted: "+cmdutil.WorkshopHelp())
	set.StringVar(&f.visibility, "visibility", string(github.Private), "who may see the repositories: private, internal or public")
	set.StringVar(&f.url, "url", "", "address of a GitHub Enterprise (default "+github.PublicURL+")")
	set.StringVar(&f.api, "api", "", "address of its REST API, where it does not follow from the other")
	set.StringVar(&f.registry, "registry", "", "host of its image registry, where it does not follow either")
	set.StringVar(&f.tokenEnv, "token-env", "", "the variable with the token (default GITHUB_TOKEN)")
	set.StringVar(&f.tokenFile, "token-file", "", "the file with the token")
	set.Int64Var(&f.app.ID, "app-id", 0, "a GitHub App, in place of a token")
	set.Int64Var(&f.app.Installation, "app-installation", 0, "its installation: the number at the end of its URL")
	set.StringVar(&f.app.KeyFile, "app-key-file", "", "the file with its private key")
	set.StringArrayVar(&f.secretEnv, "secret-env", nil, "NAME=VARIABLE: a secret of the workflows, and the variable that has it here; may be repeated")
	set.StringArrayVar(&f.secretFile, "secret-file", nil, "NAME=FILE: the same by a file; may be repeated")
	set.StringVar(&f.webhook, "webhook", "", "make webhooks to this address of a scheduler, such as https://kalypso.example.com/webhook")
	set.StringVar(&f.webhookEnv, "webhook-secret-env", "", "the variable with the webhooks' secret")
	set.StringVar(&f.webhookFile, "webhook-secret-file", "", "the file with the webhooks' secret")
	set.StringVar(&f.config, "config", "", "write the scheduler's configuration to this file")
	set.BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and do nothing")
	set.BoolVar(&f.cleanup, "cleanup", false, "delete what init has made for --workshop, or for all when it is not given")
	set.BoolVar(&f.yes, "yes", false, "do not ask before deleting")
}

// check finds mistakes that need nothing but the flags.
func (f *Options) check(set *pflag.FlagSet) error {
	if f.cleanup {
		for _, name := range []string{"visibility", "registry", "secret-env", "secret-file", "webhook", "webhook-secret-env", "webhook-secret-file", "config"} {
			if set.Changed(name) {
				return usageError("--cleanup only deletes: leave --" + name + " out")
			}
		}
	}
	app := f.app != github.App{}
	switch {
	case f.forge == "gitea":
		return usageError("--forge gitea is not there yet: init knows github. On a Gitea of its own, `kalypso up` makes the repositories.")
	case f.forge != "github":
		return usageError(fmt.Sprintf("--forge %q is not known: init knows github", f.forge))
	case f.org == "":
		return usageError("which organisation? Give --org ORG")
	case !slices.Contains([]github.Visibility{github.Private, github.Internal, github.Public}, github.Visibility(f.visibility)):
		return usageError(fmt.Sprintf("--visibility %q is not known: choose private, internal or public", f.visibility))
	case f.yes && !f.cleanup:
		return usageError("--yes is for --cleanup: nothing else asks")
	case f.tokenEnv != "" && f.tokenFile != "", app && (f.tokenEnv != "" || f.tokenFile != ""):
		return usageError("give one of --token-env, --token-file and a GitHub App")
	case app && (f.app.ID <= 0 || f.app.Installation <= 0 || f.app.KeyFile == ""):
		return usageError("a GitHub App needs --app-id, --app-installation and --app-key-file")
	case f.webhook == "" && (f.webhookEnv != "" || f.webhookFile != ""):
		return usageError("a webhook's secret is given and no address: add --webhook URL")
	case f.webhook != "" && (f.webhookEnv == "") == (f.webhookFile == ""):
		return usageError("webhooks are signed: give one of --webhook-secret-env and --webhook-secret-file (openssl rand -hex 32 makes one)")
	}
	if u, err := url.Parse(f.webhook); f.webhook != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https") {
		return usageError("--webhook wants an http or https URL, without credentials")
	}
	return nil
}

// options makes of the flags what githuborg wants, and reads the credentials.
func (f *Options) options(w *workshop.Workshop) (githuborg.Options, error) {
	o := githuborg.Options{Organisation: f.org, Visibility: github.Visibility(f.visibility)}
	var err error
	if o.Forge, err = f.connect(); err != nil {
		return o, err
	}
	o.Location = githuborg.LocationOf(o.Forge, f.org, f.registry)
	if o.Workshop, err = w.Load(o.Location); err != nil {
		return o, err
	}
	if o.Secrets, err = f.secrets(o.Workshop); err != nil {
		return o, err
	}
	if f.webhook != "" {
		o.Webhook = &githuborg.Webhook{URL: f.webhook}
		o.Webhook.Secret, err = kept("the webhooks' secret", f.webhookEnv, f.webhookFile)
	}
	return o, err
}

// connect makes the forge. It makes no request.
func (f *Options) connect() (*github.Forge, error) {
	o := github.Options{URL: strings.TrimRight(f.url, "/"), API: f.api, Log: slog.New(slog.DiscardHandler), Waiting: f.waits}
	if f.app.ID != 0 {
		o.App = &f.app
		return github.New(o)
	}
	if f.tokenEnv == "" && f.tokenFile == "" {
		// the variable is for one server, and must not be sent to another
		own, server := strings.TrimRight(os.Getenv("GITHUB_SERVER_URL"), "/"), o.URL
		if own == "" {
			own = github.PublicURL
		}
		if server == "" {
			server = github.PublicURL
		}
		if server != own {
			return nil, usageError(fmt.Sprintf("%s is for %s: name the token for %s with --token-env or --token-file", cmdutil.GitHubTokenVariable, own, server))
		}
		if strings.TrimSpace(os.Getenv(cmdutil.GitHubTokenVariable)) == "" {
			return nil, usageError("no token: put one into " + cmdutil.GitHubTokenVariable + ", or name it with --token-env or --token-file")
		}
		f.tokenEnv = cmdutil.GitHubTokenVariable
	}
	var err error
	if o.Token, err = kept("the token", f.tokenEnv, f.tokenFile); err != nil {
		return nil, err
	}
	return github.New(o)
}

// secrets reads the values that the flags name.
func (f *Options) secrets(w *workshop.Workshop) (map[string]string, error) {
	all := map[string]string{}
	read := func(flag, given string, value func(source string) (string, error)) error {
		name, source, ok := strings.Cut(given, "=")
		if !ok && flag == "--secret-env" {
			source = name // a variable of the secret's own name
		}
		switch {
		case source == "":
			return usageError(flag + " wants NAME=" + strings.ToUpper(strings.TrimPrefix(flag, "--secret-")) + ": it names where the secret is")
		case !slices.Contains(w.Workflows.Secrets, name):
			return usageError(fmt.Sprintf("%s: the workflows of %s use no secret %q, but %s", flag, w.Name, name, strings.Join(w.Workflows.Secrets, " and ")))
		case all[name] != "":
			return usageError(fmt.Sprintf("the secret %s is given twice", name))
		}
		var err error
		all[name], err = value(source)
		return err
	}
	for _, given := range f.secretEnv {
		if err := read("--secret-env", given, func(v string) (string, error) { return kept("secret", v, "") }); err != nil {
			return nil, err
		}
	}
	for _, given := range f.secretFile {
		if err := read("--secret-file", given, func(v string) (string, error) { return kept("secret", "", v) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// kept reads a credential from the file or variable that keeps it, without the
// space around it.
func kept(what, variable, file string) (string, error) {
	value, from := os.Getenv(variable), "the variable "+variable
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		value, from = string(data), "the file "+file
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", usageError(fmt.Sprintf("%s: %s is empty", what, from))
	}
	return value, nil
}

// waits prints why and until when a request is retried.
func (f *Options) waits(w github.Wait) {
	f.Messagef("    waiting until %s: %s", w.Until.Local().Format(time.TimeOnly), w.Reason)
}
