package ci

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

// steps is what the steps of workflows need: the variables of their runner, and
// what they talk to, which tests replace.
type steps struct {
	*cmdutil.App
	env     func(string) string
	forge   func(ci.Environment) (ci.Forge, error)
	observe func(ci.Environment) (fleet.Observer, error)
	now     func() time.Time
}

func NewCommand(a *cmdutil.App) *cobra.Command {
	return (&steps{
		App: a, env: os.Getenv, forge: ci.OpenForge, now: time.Now,
		observe: func(e ci.Environment) (fleet.Observer, error) { return e.Observer() },
	}).command()
}

func (a *steps) command() *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "ci",
		Short: "The steps of CI/CD workflows, on GitHub's runners and Gitea's",
		Long: `The steps that the workflows of applications and platforms consist of. They need
nothing else on the runner: no Docker, no Helm, no git, no gh, no az.

What a step does for which repository, commit and run it learns from the
variables that the runners of GitHub and Gitea set alike:

    GITHUB_SERVER_URL, GITHUB_API_URL     the forge
    GITHUB_REPOSITORY, GITHUB_SHA         the repository and the commit
    GITHUB_RUN_NUMBER, GITHUB_RUN_ID      the run, with GITHUB_WORKFLOW and
    GITHUB_RUN_ATTEMPT                    which of its tries it is
    GITHUB_OUTPUT                         the file for the step's outputs

and what is not the runner's business from these, where it is needed:

    KALYPSO_CI_TOKEN         a token of a user or a bot. Without it GITHUB_TOKEN
                             is used, which is good for the workflow's own
                             repository, and starts no other workflow
    KALYPSO_FORGE            gitea or github, where the variables leave a doubt
    KALYPSO_REGISTRY         the host of the image registry: ghcr.io on GitHub, or
                             else the forge
    KALYPSO_CI_PROGRAMS      a folder with programs for images, see build-image
    AZURE_SUBSCRIPTION_ID    the subscription of the clusters that Azure manages, or
                             several with commas between; KALYPSO_ARM_SUBSCRIPTION
                             goes first
    AZURE_CLOUD_NAME         AzurePublic, AzureGovernment or AzureChina
    AZURE_TENANT_ID, ...     the login; azure/login makes one, see
                             ` + "`kalypso ci wait-for-deployment --help`" + `
    KALYPSO_ARM_ENDPOINT     what speaks like Azure Resource Manager, in its place,
    KALYPSO_ARM_TOKEN        and a bearer token for it, which Azure never gets
    KALYPSO_CI_KUBECONFIG    a kubeconfig with a context for each cluster that is
                             to be asked itself, beside Azure or instead of it
    KALYPSO_CI_FLEET         the URL of further clusters, which answers as package
    KALYPSO_CI_FLEET_TOKEN   scheduler/fleet/endpoint says, and a bearer token for it

Secrets come from variables only. What a step makes goes to stdout and to its
outputs, what it says goes to stderr. A step that is run again changes nothing
that is as it should be.`,
	},
		newBuildImage(a), newRender(a), newDescriptor(a), newCreatePR(a),
		newSetStatus(a), newWaitForDeployment(a), newDeployedVersion(a), newStartWorkflow(a),
		newPromote(a), newPromotedCommit(a),
	)
}

// step is one run of a verb.
type step struct {
	*steps
	ci.Environment
	outputs ci.Outputs
	args    []string
	given   func(flag string) bool
}

// leaf makes a verb's command, which fills in s and calls run.
func (a *steps) leaf(c *cobra.Command, s *step, run func(context.Context) error) *cobra.Command {
	if c.Args == nil {
		c.Args = cmdutil.ExactArgs()
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		*s = step{a, ci.ReadEnvironment(a.env), ci.Outputs{File: a.env("GITHUB_OUTPUT")}, args, c.Flags().Changed}
		return stepError(run(c.Context()))
	}
	return c
}

// output is one output of a step.
type output struct{ name, value string }

// set writes outputs.
func (s *step) set(all ...output) error {
	for _, o := range all {
		if err := s.outputs.Set(o.name, o.value); err != nil {
			return err
		}
	}
	return nil
}

// stepError gives an error of a step the type that makes its exit code and the
// hint that is shown below it.
func stepError(err error) error {
	if err == nil {
		return nil
	}
	known := &source.Error{Hint: ci.Hint(err)}
	var timeout *retry.TimeoutError
	switch {
	case errors.As(err, &timeout):
		known.Err = &sandbox.TimeoutError{What: timeout.What, After: timeout.After, Reason: timeout.Reason.Error()}
	case errors.Is(err, ci.ErrDenied):
		known.Err = source.ErrCredentials
	}
	return cmdutil.Classify(err, known)
}
