package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

// statusOptions are those of `kalypso ci set-status`.
type statusOptions struct {
	step
	request ci.StatusRequest
	repo    string
}

func newSetStatus(a *steps) *cobra.Command {
	o := &statusOptions{}
	c := &cobra.Command{
		Use:   "set-status [PHASE]",
		Short: "Set the status of a commit",
		Long: `Set the status of a commit. With a PHASE, which is one of
` + strings.Join(ci.Phases(), ", ") + `,
it is about an environment: its context is "ENVIRONMENT environment". A commit
that is deployed is a success only where there is no --next environment: before,
it is still on its way. Then it is a success in the environments before, too.

Without a PHASE the status is what --context, --state and --description say.`,
		Example: `  kalypso ci set-status deploying --environment dev --commit 4f1d...
  kalypso ci set-status deployed --environment dev --next stage --commit 4f1d...
  kalypso ci set-status --context build --state success --description Built`,
		Args: cmdutil.RangeArgs(0, 1),
	}
	f := c.Flags()
	f.StringVar(&o.repo, "repo", "", "the repository; the workflow's own when not given")
	f.StringVar(&o.request.Commit, "commit", "", "the full commit ID; GITHUB_SHA when not given")
	f.StringVar(&o.request.Environment, "environment", "", "the environment of the phase")
	f.StringVar(&o.request.Next, "next", "", "the environment after it, empty for the last one")
	f.StringVar(&o.request.State, "state", "", "pending, success or failure")
	f.StringVar(&o.request.Context, "context", "", "what the status is about")
	f.StringVar(&o.request.Description, "description", "", "the status in a few words")
	f.StringVar(&o.request.URL, "url", "", "where to read more; the run when not given")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runSetStatus(ctx, o) })
}

func runSetStatus(ctx context.Context, o *statusOptions) (err error) {
	if len(o.args) > 0 {
		o.request.Phase = o.args[0]
	}
	if o.request.Repo, err = o.Repo(o.repo); err != nil {
		return err
	}
	if !o.given("commit") {
		o.request.Commit = o.Commit
	}
	if o.request.URL == "" {
		o.request.URL = o.RunURL()
	}
	if _, err := o.request.Status(); err != nil {
		return err
	}
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	status, err := ci.SetStatus(ctx, forge, o.request)
	if err != nil {
		return err
	}
	o.Messagef("commit %.8s of %s: %s: %s (%s)", o.request.Commit, o.request.Repo, status.Context, status.Description, status.State)
	return nil
}

// waitOptions are those of `kalypso ci wait-for-deployment`.
type waitOptions struct {
	step
	deployment                 ci.Deployment
	repo, cloud, subscriptions string
}

func newWaitForDeployment(a *steps) *cobra.Command {
	o := &waitOptions{}
	c := &cobra.Command{
		Use:   "wait-for-deployment",
		Short: "Wait until all clusters have a commit of a GitOps branch and are well with it",
		Long: `Wait until every GitOps configuration that follows a branch has fetched a commit,
applied it, and is compliant. What counts is the commit that a cluster has, never
its health alone: a cluster that is still on the commit before is healthy, too.

Fails when a cluster has the commit and has not been compliant with it for the
time of --grace. Exits with 7 when the time is over, and says what was missing.

Azure is asked with the login that there is: of azure/login or ` + "`az login`" + `, of
a managed or workload identity, or of AZURE_TENANT_ID, AZURE_CLIENT_ID and
AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH or AZURE_FEDERATED_TOKEN_FILE.
AZURE_TOKEN_CREDENTIALS chooses one. It needs the role Reader on each
subscription. A login that is refused ends the wait with 4, and what passes by
itself does not: it is waited for.

Output: clusters, the number of configurations that have it.`,
		Example: `  kalypso ci wait-for-deployment --repo kalypso-gitops --branch dev --commit 4f1d...
  kalypso ci wait-for-deployment --cloud AzureGovernment --subscription 6f1e...,c2a9... --branch dev --commit 4f1d...`,
	}
	f := c.Flags()
	f.StringVar(&o.cloud, "cloud", "", "AzurePublic, AzureGovernment, AzureChina, or the https:// URL of a Resource Manager; AZURE_CLOUD_NAME when not given")
	f.StringVar(&o.subscriptions, "subscription", "", "IDs of the subscriptions that the clusters are in, with commas between; AZURE_SUBSCRIPTION_ID when not given, or else the default one of the Azure CLI")
	f.StringVar(&o.repo, "repo", "", "the GitOps repository; the workflow's own when not given")
	f.StringVar(&o.deployment.Branch, "branch", "", "the branch that the clusters follow")
	f.StringVar(&o.deployment.Commit, "commit", "", "the full commit ID")
	f.DurationVar(&o.deployment.Limit, "timeout", 15*time.Minute, "how long to wait")
	f.DurationVar(&o.deployment.Pace, "poll", 5*time.Second, "how often to ask, when it takes long")
	f.DurationVar(&o.deployment.Grace, "grace", 15*time.Second, "how long clusters may fail before that counts; reconcilers try again")
	return a.leaf(c, &o.step, func(ctx context.Context) error { return runWaitForDeployment(ctx, o) })
}

func runWaitForDeployment(ctx context.Context, o *waitOptions) error {
	name, err := o.Repo(o.repo)
	if err != nil {
		return err
	}
	o.deployment.URL = o.CloneURL(name)
	o.deployment.Report = func(text string) { o.Messagef("%s", text) }
	forge, err := o.forge(o.Environment)
	if err != nil {
		return err
	}
	if o.Arc.Endpoint != "" && o.cloud != "" {
		return usage.New("--cloud contradicts KALYPSO_ARM_ENDPOINT, which is set")
	}
	o.Arc.Cloud, o.Arc.Subscription = cmp.Or(o.cloud, o.Arc.Cloud), cmp.Or(o.subscriptions, o.Arc.Subscription)
	o.Arc.Report = o.ReportAzureWait
	observer, err := o.observe(o.Environment)
	if err != nil {
		return o.sandboxMeant(o.Arc, err)
	}
	clusters, err := ci.WaitForDeployment(ctx, forge, driver.NewObserver(forge, observer), o.deployment)
	if err != nil {
		return err
	}
	if clusters == 0 {
		o.Messagef("nothing follows branch %s of %s: there is nothing to wait for", o.deployment.Branch, o.deployment.URL)
	} else {
		o.Messagef("all %d have commit %.8s and are compliant", clusters, o.deployment.Commit)
	}
	return o.set(output{"clusters", fmt.Sprint(clusters)})
}

// sandboxMeant adds, in a user's shell, where the settings of the sandbox are.
// On a forge's runner there is no sandbox.
func (a *steps) sandboxMeant(s arc.Settings, err error) error {
	var missing *usage.Error
	complete := s.Endpoint != "" && s.Token != "" && s.Subscription != ""
	if !errors.As(err, &missing) || a.env("GITHUB_ACTIONS") != "" || s.Cloud != "" || complete {
		return err
	}
	return &source.Error{Message: err.Error(), Err: err,
		Hint: "for the sandbox's clusters set KALYPSO_ARM_ENDPOINT, KALYPSO_ARM_SUBSCRIPTION and KALYPSO_ARM_TOKEN to what `kalypso credentials` shows of Azure"}
}
