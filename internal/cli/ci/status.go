package ci

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/spf13/cobra"
)

func (a *steps) setStatus() *cobra.Command {
	var r ci.StatusRequest
	var repo string
	c := &cobra.Command{
		Use:   "set-status [PHASE]",
		Short: "Set the status of a commit",
		Long: `Set the status of a commit. With a PHASE, which is one of
` + strings.Join(ci.Phases(), ", ") + `,
it is about an environment: its context is "ENVIRONMENT environment". A commit
that is deployed is a success only where there is no --next environment: before,
it is still on its way.

Without a PHASE the status is what --context, --state and --description say.`,
		Example: `  kalypso ci set-status deploying --environment dev --commit 4f1d...
  kalypso ci set-status deployed --environment dev --next stage --commit 4f1d...
  kalypso ci set-status --context build --state success --description Built`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&repo, "repo", "", "the repository; the workflow's own when not given")
	f.StringVar(&r.Commit, "commit", "", "the full commit ID; GITHUB_SHA when not given")
	f.StringVar(&r.Environment, "environment", "", "the environment of the phase")
	f.StringVar(&r.Next, "next", "", "the environment after it, empty for the last one")
	f.StringVar(&r.State, "state", "", "pending, success or failure")
	f.StringVar(&r.Context, "context", "", "what the status is about")
	f.StringVar(&r.Description, "description", "", "the status in a few words")
	f.StringVar(&r.URL, "url", "", "where to read more; the run when not given")
	return a.leaf(c, func(c *cobra.Command, s *step, args []string) (err error) {
		if len(args) > 0 {
			r.Phase = args[0]
		}
		if r.Repo, err = s.Repo(repo); err != nil {
			return err
		}
		if !c.Flags().Changed("commit") {
			r.Commit = s.Commit
		}
		if r.URL == "" {
			r.URL = s.RunURL()
		}
		if _, err := r.Status(); err != nil {
			return err
		}
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		status, err := ci.SetStatus(c.Context(), forge, r)
		if err != nil {
			return err
		}
		a.Messagef("commit %.8s of %s: %s: %s (%s)", r.Commit, r.Repo, status.Context, status.Description, status.State)
		return nil
	})
}

func (a *steps) waitForDeployment() *cobra.Command {
	var d ci.Deployment
	var repo, cloud, subscriptions string
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
	f.StringVar(&cloud, "cloud", "", "AzurePublic, AzureGovernment, AzureChina, or the https:// URL of a Resource Manager; AZURE_CLOUD_NAME when not given")
	f.StringVar(&subscriptions, "subscription", "", "IDs of the subscriptions that the clusters are in, with commas between; AZURE_SUBSCRIPTION_ID when not given, or else the default one of the Azure CLI")
	f.StringVar(&repo, "repo", "", "the GitOps repository; the workflow's own when not given")
	f.StringVar(&d.Branch, "branch", "", "the branch that the clusters follow")
	f.StringVar(&d.Commit, "commit", "", "the full commit ID")
	f.DurationVar(&d.Limit, "timeout", 15*time.Minute, "how long to wait")
	f.DurationVar(&d.Pace, "poll", 5*time.Second, "how often to ask, when it takes long")
	f.DurationVar(&d.Grace, "grace", 15*time.Second, "how long clusters may fail before that counts; reconcilers try again")
	return a.leaf(c, func(c *cobra.Command, s *step, _ []string) error {
		name, err := s.Repo(repo)
		if err != nil {
			return err
		}
		d.URL = s.CloneURL(name)
		d.Report = func(text string) { a.Messagef("%s", text) }
		forge, err := a.forge(s.Environment)
		if err != nil {
			return err
		}
		if s.Arc.Endpoint != "" && cloud != "" {
			return usage.New("--cloud contradicts KALYPSO_ARM_ENDPOINT, which is set")
		}
		s.Arc.Cloud, s.Arc.Subscription = cmp.Or(cloud, s.Arc.Cloud), cmp.Or(subscriptions, s.Arc.Subscription)
		s.Arc.Report = a.ReportAzureWait
		observer, err := a.observe(s.Environment)
		if err != nil {
			return a.sandboxMeant(s.Arc, err)
		}
		clusters, err := ci.WaitForDeployment(c.Context(), forge, observer, d)
		if err != nil {
			return err
		}
		if clusters == 0 {
			a.Messagef("nothing follows branch %s of %s: there is nothing to wait for", d.Branch, d.URL)
		} else {
			a.Messagef("all %d have commit %.8s and are compliant", clusters, d.Commit)
		}
		return s.set(output{"clusters", fmt.Sprint(clusters)})
	})
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
