package scheduler

import (
	"log/slog"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "scheduler",
		Short: "Run the scheduler by itself",
		Args:  cmdutil.SubcommandArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSchedulerRun(a), newSchedulerOnce(a))
	return c
}

func newSchedulerRun(a *cmdutil.App) *cobra.Command {
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
			return controller.Serve(c.Context(), config, slog.New(slog.NewTextHandler(a.Err, nil)))
		},
	}
	flags.register(c.Flags())
	return c
}

// The configurations of the help, which a test reads as the scheduler does.
const (
	gitHubConfig = `    forge:
      type: github
      # url: https://github.example.com         # of GitHub Enterprise
      # api: https://github.example.com/api/v3  # where it cannot be told from url
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
    poll: 30s                   # finds what a lost webhook would have told
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
