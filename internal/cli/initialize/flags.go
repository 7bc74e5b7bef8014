package initialize

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/setup"
	"github.com/spf13/pflag"
)

// flags say what is to be made, where, and as whom. Credentials are named,
// never given.
type flags struct {
	forge, org, workshop    string
	url, api, registry      string
	visibility              string
	tokenEnv, tokenFile     string
	app                     setup.App
	secretEnv, secretFile   []string
	webhook                 string
	webhookEnv, webhookFile string
	config                  string
	dryRun, cleanup, yes    bool
}

func (f *flags) register(set *pflag.FlagSet) {
	set.StringVar(&f.forge, "forge", "github", "the kind of forge")
	set.StringVar(&f.org, "org", "", "the organisation")
	set.StringVar(&f.workshop, "workshop", sandbox.DefaultWorkshop, "the tutorial whose repositories are wanted: "+strings.Join(fixtures.Workshops(), " or "))
	set.StringVar(&f.visibility, "visibility", string(github.Private), "who may see the repositories: private, internal or public")
	set.StringVar(&f.url, "url", "", "address of a GitHub Enterprise (default "+github.PublicURL+")")
	set.StringVar(&f.api, "api", "", "address of its REST API, where it cannot be told from the other")
	set.StringVar(&f.registry, "registry", "", "host of its image registry, where it cannot be told either")
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
func (f *flags) check(set *pflag.FlagSet) error {
	if f.cleanup {
		for _, name := range []string{"visibility", "registry", "secret-env", "secret-file", "webhook", "webhook-secret-env", "webhook-secret-file", "config"} {
			if set.Changed(name) {
				return usageError("--cleanup only deletes: leave --" + name + " out")
			}
		}
	}
	app := f.app != setup.App{}
	switch {
	case f.forge == "gitea":
		return usageError("--forge gitea is not there yet: init knows github. On a Gitea of its own, `kalypso up` makes the repositories.")
	case f.forge != "github":
		return usageError(fmt.Sprintf("--forge %q is not known: init knows github", f.forge))
	case f.org == "":
		return usageError("which organisation? Give --org ORG")
	case !slices.Contains(fixtures.Workshops(), f.workshop):
		return usageError(fmt.Sprintf("there is no workshop %q: choose one of %s", f.workshop, strings.Join(fixtures.Workshops(), ", ")))
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
