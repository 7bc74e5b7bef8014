package initialize

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/setup"
)

// options makes of the flags what setup wants, and reads the credentials.
func (f *flags) options(get func(string) string, waits func(github.Wait)) (setup.Options, error) {
	o := setup.Options{Organisation: f.org, Visibility: github.Visibility(f.visibility)}
	var err error
	if o.Forge, err = f.connect(get, waits); err != nil {
		return o, err
	}
	if o.Workshop, err = setup.Load(o.Forge, f.workshop, f.org, f.registry); err != nil {
		return o, err
	}
	if o.Secrets, err = f.secrets(o.Workshop, get); err != nil {
		return o, err
	}
	if f.webhook != "" {
		o.Webhook = &setup.Webhook{URL: f.webhook}
		o.Webhook.Secret, err = kept("the webhooks' secret", f.webhookEnv, f.webhookFile, get)
	}
	return o, err
}

// connect makes the forge. It makes no request.
func (f *flags) connect(get func(string) string, waits func(github.Wait)) (*github.Forge, error) {
	o := github.Options{URL: strings.TrimRight(f.url, "/"), API: f.api, Log: slog.New(slog.DiscardHandler), Waiting: waits}
	if f.app.ID != 0 {
		o.App = &github.App{ID: f.app.ID, Installation: f.app.Installation, KeyFile: f.app.KeyFile}
		return github.New(o)
	}
	if f.tokenEnv == "" && f.tokenFile == "" {
		// the variable is for one server, and must not be sent to another
		own, server := strings.TrimRight(get("GITHUB_SERVER_URL"), "/"), o.URL
		if own == "" {
			own = github.PublicURL
		}
		if server == "" {
			server = github.PublicURL
		}
		if server != own {
			return nil, usageError(fmt.Sprintf("%s is for %s: name the token for %s with --token-env or --token-file", cmdutil.GitHubTokenVariable, own, server))
		}
		if strings.TrimSpace(get(cmdutil.GitHubTokenVariable)) == "" {
			return nil, usageError("no token: put one into " + cmdutil.GitHubTokenVariable + ", or name it with --token-env or --token-file")
		}
		f.tokenEnv = cmdutil.GitHubTokenVariable
	}
	var err error
	if o.Token, err = kept("the token", f.tokenEnv, f.tokenFile, get); err != nil {
		return nil, err
	}
	return github.New(o)
}

// secrets reads the values that the flags name.
func (f *flags) secrets(w fixtures.Workshop, get func(string) string) (map[string]string, error) {
	all := map[string]string{}
	read := func(flag, given string, value func(place string) (string, error)) error {
		name, place, ok := strings.Cut(given, "=")
		if !ok && flag == "--secret-env" {
			place = name // a variable of the secret's own name
		}
		switch {
		case place == "":
			return usageError(flag + " wants NAME=" + strings.ToUpper(strings.TrimPrefix(flag, "--secret-")) + ": it names where the secret is")
		case !slices.Contains(w.Secrets, name):
			return usageError(fmt.Sprintf("%s: the workflows of %s use no secret %q, but %s", flag, w.Name, name, strings.Join(w.Secrets, " and ")))
		case all[name] != "":
			return usageError(fmt.Sprintf("the secret %s is given twice", name))
		}
		var err error
		all[name], err = value(place)
		return err
	}
	for _, given := range f.secretEnv {
		if err := read("--secret-env", given, func(v string) (string, error) { return kept("secret", v, "", get) }); err != nil {
			return nil, err
		}
	}
	for _, given := range f.secretFile {
		if err := read("--secret-file", given, func(v string) (string, error) { return kept("secret", "", v, get) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// kept reads a credential from the file or variable that keeps it, without the
// space around it.
func kept(what, variable, file string, get func(string) string) (string, error) {
	value, from := get(variable), "the variable "+variable
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

// waits tells why nothing seems to happen.
func waits(a *cmdutil.App, w github.Wait) {
	a.Messagef("    waiting until %s: %s", w.Until.Local().Format(time.TimeOnly), w.Reason)
}
