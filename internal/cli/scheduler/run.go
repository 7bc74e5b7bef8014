// Package scheduler has the commands that run the scheduler by itself.
package scheduler

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Options are those of `kalypso scheduler run`.
type Options struct {
	*cmdutil.App
	Config controller.Config
}

// NewCommand makes `kalypso scheduler`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "scheduler",
		Short: "Run the scheduler by itself",
	}, newRun(a, run), newOnce(a, once))
}

func newRun(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	flags := runFlags{flags: flags{command: "run"}}
	c := &cobra.Command{
		Use:   "run",
		Short: "Follow a control plane and keep its pull requests up to date",
		Long: `Follow a control plane on a git forge: plan every environment whenever something
it depends on is pushed, and keep one pull request per environment up to date.

A configuration file, or flags for what is most common, say which forge, which
control plane repository, and where to listen for the forge's webhooks. On
GitHub:

` + gitHubConfig + `
On Gitea:

` + giteaConfig + `
Several control planes on one forge are a list in place of controlPlane:

` + severalConfig + `
Environments that share a GitOps repository need names of their own.

Files are relative to the configuration's folder. Tokens, keys and the secret
are read when the scheduler starts. The account must see every repository that
the platform models name, and may write contents, pull requests, issues and
commit statuses of the GitOps repositories; of the control plane, too, where
promoteTo is set.

It listens for
  POST /webhook  the forge: content type JSON, the secret, and the events push,
                 branch creation and deletion, pull requests and issues
  GET  /status   as JSON; the secret is wanted as a bearer token
  GET  /metrics  Prometheus
  GET  /healthz  the process lives
  GET  /readyz   every environment has been planned once, and the forge answers;
                 or another replica works
Only /webhook needs to be reached from outside.

Two schedulers for one control plane do each other's work twice. Run one: while
it serves a configuration file, a second process that is to serve the same file
ends with an error. In Kubernetes several replicas can have

` + electionConfig + `
Then one of them works, and another takes over within seconds when it ends, or
when it has not renewed its Lease for the length. The pod's account needs the
rights in deploy/kubernetes.`,
		Example: `  kalypso scheduler run --config scheduler.yaml
  kalypso scheduler run --control-plane https://github.com/acme/control-plane --token-env GITHUB_TOKEN --webhook-secret-file secret`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := flags.config(c.Flags(), os.Getenv)
			if err != nil {
				return err
			}
			return run(c.Context(), &Options{a, config})
		},
	}
	flags.register(c.Flags())
	return c
}

func run(ctx context.Context, o *Options) error {
	return controller.Serve(ctx, o.Config, slog.New(slog.NewTextHandler(o.Err, nil)))
}

// runFlags are those of a scheduler that is served.
type runFlags struct {
	flags
	listen, secretFile string
	poll               time.Duration
	elect              bool
	advertiseEnv       string
}

// servedFlags are those that only a scheduler has that is served.
var servedFlags = []string{"listen", "webhook-secret-file", "poll", "leader-election", "advertise-env"}

func (f *runFlags) register(set *pflag.FlagSet) {
	f.flags.register(set)
	set.StringVar(&f.listen, "listen", controller.DefaultListen, "where to listen")
	set.StringVar(&f.secretFile, "webhook-secret-file", "", "the file with the secret of the webhooks, which also opens /status")
	set.DurationVar(&f.poll, "poll", controller.DefaultPoll, "how often to poll, for changes whose webhook was lost")
	set.BoolVar(&f.elect, "leader-election", false, "in Kubernetes: stand by while another replica works for the control plane")
	set.StringVar(&f.advertiseEnv, "advertise-env", "", "deprecated, without effect: a Service sends webhooks to the replica that works")
}

// config makes the configuration that file, flags and variables describe.
func (f *runFlags) config(set *pflag.FlagSet, get func(string) string) (controller.Config, error) {
	if f.file != "" {
		if err := alone(set, slices.Concat(describedFlags, servedFlags)); err != nil {
			return controller.Config{}, err
		}
		return controller.LoadConfig(f.file)
	}
	c, err := f.described(get)
	if err != nil {
		return controller.Config{}, err
	}
	switch {
	case f.secretFile == "":
		return controller.Config{}, f.usage("--webhook-secret-file FILE is needed: with it webhooks are checked, and /status is open to those who have it")
	case f.advertiseEnv != "" && !f.elect:
		return controller.Config{}, f.usage("--advertise-env is for --leader-election")
	case f.poll < time.Second:
		return controller.Config{}, f.usage("--poll %s is too short: a second is the least", f.poll)
	}
	c.Listen, c.WebhookSecretFile, c.Poll = f.listen, f.secretFile, f.poll
	if f.elect {
		c.LeaderElection = &controller.LeaderElectionConfig{AdvertiseEnv: f.advertiseEnv}
	}
	return c, nil
}

// The configurations of the help, which a test reads as the scheduler does.
const (
	gitHubConfig = `    forge:
      type: github
      # url: https://github.example.com         # of GitHub Enterprise
      # api: https://github.example.com/api/v3  # where it does not follow from url
      app:                        # or tokenFile, or tokenEnv: NAME_OF_A_VARIABLE
        id: 123456
        installation: 7890123     # the number at the end of its URL
        keyFile: app.pem
      # user: github-actions[bot] # the token's account, where it cannot be asked for
    controlPlane:
      repo: https://github.com/acme/control-plane
      branch: main
    promoteTo: dev              # gets main's commits; leave out to promote yourself
    listen: 127.0.0.1:8765
    webhookSecretFile: secret
    poll: 30s                   # finds changes whose webhook was lost
`
	giteaConfig = `    forge:
      type: gitea
      url: https://git.example.com
      tokenFile: token          # or tokenEnv
    controlPlane:
      repo: https://git.example.com/acme/control-plane
    webhookSecretFile: secret
`
	electionConfig = `    leaderElection:             # what is below it can be left out
      length: 20s
      lease: kalypso-scheduler  # schedulers for other control planes need another
`
	severalConfig = `    controlPlanes:
    - repo: https://github.com/acme/retail
      promoteTo: dev
    - repo: https://github.com/acme/factory
      branch: main
      path: platform
`
)
