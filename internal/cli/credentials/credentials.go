package credentials

import (
	"fmt"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.ReadCommand(a, &cobra.Command{
		Use:   "credentials",
		Short: "Users, passwords and tokens of the forge, of Argo CD and of the emulated Azure",
		Args:  cmdutil.ExactArgs(),
	}, func(*cobra.Command, []string) (*sandbox.Credentials, error) {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		return sandbox.GetCredentials(home)
	}, func(c *sandbox.Credentials) error {
		w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "url\t%s\nuser\t%s\npassword\t%s\ntoken\t%s\n", c.URL, c.User, c.Password, c.Token)
		for _, argo := range c.ArgoCD {
			fmt.Fprintf(w, "\t\nArgo CD\t%s\nuser\t%s\npassword\t%s\n", argo.URL, argo.User, argo.Password)
		}
		if az := c.Azure; az != nil {
			fmt.Fprintf(w, "\t\nAzure\t%s\nsubscription\t%s\ntenant\t%s\nresource group\t%s\ntoken\t%s\n", az.Endpoint, az.Subscription, az.Tenant, az.ResourceGroup, az.BearerToken)
		}
		return w.Flush()
	})
}
