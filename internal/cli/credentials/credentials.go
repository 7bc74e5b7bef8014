// Package credentials has the command that prints the sandbox's credentials.
package credentials

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso credentials`.
type Options struct {
	*cmdutil.App
	Output cmdutil.Output
}

// NewCommand makes `kalypso credentials`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "credentials",
		Short: "Users, passwords and tokens of the forge, of Argo CD and of the emulated Azure",
		Args:  cmdutil.ExactArgs(),
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	return c
}

// Run prints the credentials.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	c, err := sandbox.GetCredentials(home)
	if err != nil {
		return err
	}
	c.LookAtPassword(ctx)
	return o.Output.Print(o.App, c, func() error {
		changed := ""
		if c.PasswordChanged {
			changed = "   (the first one: it has been changed on the forge)"
		}
		w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "url\t%s\nuser\t%s\npassword\t%s%s\ntoken\t%s\n", c.URL, c.User, c.Password, changed, c.Token)
		for _, argo := range c.ArgoCD {
			fmt.Fprintf(w, "\t\nArgo CD\t%s\nuser\t%s\npassword\t%s\n", argo.URL, argo.User, argo.Password)
		}
		if az := c.Azure; az != nil {
			fmt.Fprintf(w, "\t\nAzure\t%s\nsubscription\t%s\ntenant\t%s\nresource group\t%s\ntoken\t%s\n", az.Endpoint, az.Subscription, az.Tenant, az.ResourceGroup, az.BearerToken)
		}
		return w.Flush()
	})
}
