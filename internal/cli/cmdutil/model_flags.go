package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/spf13/cobra"
)

// ModelHelp says, in the help of every command with ModelFlags, where things
// are read from.
const ModelHelp = `
The platform model is read from the control plane that --control-plane names,
a folder or a git URL; without it, from that of the running sandbox.

In a folder that is a git repository the branch that is checked out is what the
working tree holds, changes that are not committed included; other branches are
read from git. A feature branch is no environment's branch: -e dev --branch HEAD
shows what is checked out as if it were dev. What the model names by URL is read
from the folder where the URL is one of its remotes, else from the server. The
folders of --base and --workload are taken as they are, whatever is checked out.

Servers get credentials from the environment: KALYPSO_GIT_TOKEN (and
KALYPSO_GIT_USER) goes to the servers that flags and the folder's remotes name
and to the sandbox's forge, which gets the sandbox's own token otherwise,
GITHUB_TOKEN to github.com alone. Whatever else the model names is read without.
A server that wants others makes the exit code 4.

Only some servers are asked, so that nobody who registers a workload has this
machine look around in its network: those that flags name, those of the folder's
remotes, and where it has none, that of its Environment objects. --allow-host
names others. A repository elsewhere is a problem, and its workload is left out.` + "\nAll exit codes: `kalypso help exit-codes`"

// ModelFlags are the flags of all commands that read a platform model.
type ModelFlags struct {
	ControlPlane string
	branch       string
	Base         string
	workloads    []string
	gitOps       string
	Environment  string
	allowedHosts []string
}

// Register adds the flags to a command. Without --environment it is about
// otherwise.
func (f *ModelFlags) Register(a *App, cmd *cobra.Command, otherwise string) {
	flags := cmd.Flags()
	flags.StringVar(&f.ControlPlane, "control-plane", "", "`DIR_OR_URL` of the control plane (default the running sandbox's)")
	flags.StringVar(&f.branch, "branch", "", "`BRANCH` of the control plane with the Environment objects (default its default branch)")
	flags.StringVar(&f.Base, "base", "", "read `DIR_OR_URL` in place of the repository of the BaseRepo named main")
	flags.StringArrayVar(&f.workloads, "workload", nil, "read `NAME=DIR_OR_URL` in place of the repository of a workload's registration; may be repeated")
	flags.StringVar(&f.gitOps, "gitops", "", "read `DIR_OR_URL` in place of the GitOps repository")
	flags.StringArrayVar(&f.allowedHosts, "allow-host", nil, "read repositories on `HOST` too, or HOST:PORT, where the model names them; may be repeated")
	flags.StringVarP(&f.Environment, "environment", "e", "", "the `ENVIRONMENT` to look at (default "+otherwise+")")
	CompleteFlag(cmd, "environment", f.environmentNames(a))
}

// Open opens what the flags name, or the running sandbox without --control-plane.
func (f *ModelFlags) Open(ctx context.Context, a *App) (*source.Platform, error) {
	workloads, err := f.overrides()
	if err != nil {
		return nil, err
	}
	o := source.Options{
		ControlPlane: f.ControlPlane,
		Branch:       f.branch,
		Base:         f.Base,
		Workloads:    workloads,
		GitOps:       f.gitOps,
		AllowedHosts: f.allowedHosts,
		Note:         func(note string) { a.Messagef("note: %s", note) },
	}
	c := &gitCredentials{env: os.Getenv, sandbox: a.sandboxCredentials()}
	if o.ControlPlane == "" {
		if o.ControlPlane, o.Addresses, err = a.sandboxControlPlane(ctx, c.sandbox); err != nil {
			return nil, err
		}
	}
	c.trust(o.ControlPlane, o.Base, o.GitOps)
	c.trust(slices.Collect(maps.Values(workloads))...)
	o.Credentials = c.get
	w, err := source.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	c.trust(w.Remotes()...)
	return w, nil
}

// overrides reads the --workload flags.
func (f *ModelFlags) overrides() (map[string]string, error) {
	workloads := map[string]string{}
	for _, w := range f.workloads {
		name, location, ok := strings.Cut(w, "=")
		if !ok || name == "" || location == "" {
			return nil, usage.Errorf("--workload %s: write NAME=DIR_OR_URL, with the name of a WorkloadRegistration", w)
		}
		if other, twice := workloads[name]; twice && other != location { // completion parses flags twice
			return nil, usage.Errorf("--workload names %s twice", name)
		}
		workloads[name] = location
	}
	return workloads, nil
}

// Several returns the environment that --environment names, or all. None at
// all is an error: it would look like an environment without problems.
func (f *ModelFlags) Several(ctx context.Context, w *source.Platform) ([]string, error) {
	if f.Environment != "" {
		return []string{f.Environment}, nil
	}
	all, err := w.Environments(ctx)
	if err != nil {
		return nil, err
	}
	if len(all.Objects) > 0 {
		return all.Names(), nil
	}
	for _, d := range all.Diagnostics {
		if d.Severity == model.Error {
			return nil, &source.Error{Message: fmt.Sprintf("%s has no Environment objects, as far as it can be read: %s: %s", w, d.Position, d.Message), Hint: d.Hint}
		}
	}
	return nil, usage.Errorf("%s has no Environment objects: "+
		"name the branch that has them with --branch, or with --environment the environment that it is", w)
}

// needControlPlane is the message where neither a flag nor a sandbox names one.
const needControlPlane = "which control plane? Name it with --control-plane DIR_OR_URL, or run `kalypso up` to use the sandbox's"

// sandboxCredentials returns those of the sandbox's forge, nil when there is no
// sandbox. One that cannot be read only matters to those who need it, and
// [App.sandboxControlPlane] says so.
func (a *App) sandboxCredentials() *sandbox.Credentials {
	home, err := a.Home()
	if err != nil {
		return nil
	}
	c, err := sandbox.GetCredentials(home)
	if err != nil {
		return nil
	}
	return c
}

// sandboxControlPlane returns the URL of the running sandbox's control plane, and
// the addresses that its scheduler replaces.
func (a *App) sandboxControlPlane(ctx context.Context, c *sandbox.Credentials) (string, *addresses.Replacer, error) {
	home, err := a.Home()
	if err != nil {
		return "", nil, err
	}
	status, err := sandbox.GetStatus(ctx, home)
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return "", nil, usage.New(needControlPlane)
	}
	if err != nil {
		return "", nil, fmt.Errorf("looking for the sandbox: %w", err)
	}
	if !status.Running || c == nil {
		return "", nil, usage.New("the sandbox is down: " + needControlPlane)
	}
	state, err := home.Load()
	if err != nil {
		return "", nil, err
	}
	return c.OrgURL + "/" + state.Spec().ControlPlane.Repository, addresses.NewReplacer(state.Addresses()), nil
}

// WorkshopHelp says what names a workshop.
func WorkshopHelp() string {
	return strings.Join(workshop.Builtin(), ", ") + ", a folder, a .tar.gz, or a git URL with #BRANCH:FOLDER"
}

// The environment variables with credentials for git servers.
const (
	gitUserVariable     = "KALYPSO_GIT_USER"
	gitTokenVariable    = "KALYPSO_GIT_TOKEN"
	GitHubTokenVariable = "GITHUB_TOKEN"
)

// gitCredentials decides who gets which credentials. A platform model names
// servers, and who can write one could name his own: so a secret goes only to
// servers that the user has named.
type gitCredentials struct {
	env     func(string) string
	sandbox *sandbox.Credentials // nil without a sandbox
	trusted map[string]bool      // origins that get KALYPSO_GIT_TOKEN, as the sandbox's does
}

// GitCredentials returns what gives user and password for git URLs, both "" for none.
// A secret goes to the servers of the locations only.
func (a *App) GitCredentials(locations ...string) func(url string) (user, password string) {
	c := &gitCredentials{env: os.Getenv, sandbox: a.sandboxCredentials()}
	c.trust(locations...)
	return c.get
}

// trust adds the servers of URLs, and of what ssh reaches the https server.
// Folders among them mean nothing.
func (c *gitCredentials) trust(locations ...string) {
	if c.trusted == nil {
		c.trusted = map[string]bool{}
	}
	for _, location := range locations {
		if o := origin(location); o != "" {
			c.trusted[o] = true
		}
	}
}

// get returns user and password for a URL, both "" for none.
func (c *gitCredentials) get(location string) (user, password string) {
	o := origin(location)
	if o == "" {
		return "", ""
	}
	own := c.sandbox != nil && o == origin(c.sandbox.URL)
	if token := c.env(gitTokenVariable); token != "" && (c.trusted[o] || own) {
		if user = c.env(gitUserVariable); user == "" {
			user = tokenUser
		}
		return user, token
	}
	if own {
		// the password may have been changed; there is no token before the first start
		return c.sandbox.User, cmp.Or(c.sandbox.Token, c.sandbox.Password)
	}
	if token := c.env(GitHubTokenVariable); token != "" && o == "https://github.com" {
		return tokenUser, token
	}
	return "", ""
}

// tokenUser is the user of a token, which servers ignore. GitHub
// asks for this one.
const tokenUser = "x-access-token"

// origin is the scheme and host that a secret may go to, "" for none.
func origin(location string) string {
	if !strings.Contains(location, "://") {
		host, _, ok := strings.Cut(location, ":")
		if _, after, found := strings.Cut(host, "@"); found && ok && !strings.ContainsAny(host, `/\`) {
			return "https://" + strings.ToLower(after)
		}
		return ""
	}
	u, err := url.Parse(location)
	if err != nil {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "ssh", "git+ssh":
		return "https://" + strings.ToLower(u.Hostname())
	case "http":
		return "http://" + strings.TrimSuffix(host, ":80")
	case "https":
		return "https://" + strings.TrimSuffix(host, ":443")
	}
	return ""
}
