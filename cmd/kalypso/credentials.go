package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func newCredentials(a *app) *cobra.Command {
	return reads(a, &cobra.Command{
		Use:   "credentials",
		Short: "Users, passwords and tokens of the forge, of Argo CD and of the emulated Azure",
		Args:  onlyArgs(),
	}, func(*cobra.Command, []string) (*sandbox.Credentials, error) {
		home, err := a.home()
		if err != nil {
			return nil, err
		}
		return sandbox.GetCredentials(home)
	}, func(c *sandbox.Credentials) error {
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
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
