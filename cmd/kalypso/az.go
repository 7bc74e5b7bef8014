package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
)

// newAz has those of Azure's commands that the tutorials use, with the same
// flags and the same output, on the sandbox's emulated Azure.
func newAz(a *app) *cobra.Command {
	az := &cobra.Command{
		Use:   "az",
		Short: "Azure's commands of the tutorials, on the sandbox's emulated Azure",
		Long: `The commands of the Azure CLI that the tutorials use, on the sandbox. After

    alias az='kalypso az'

the tutorials' lines run as they are printed. All clusters of the sandbox are in
the resource group ` + sandbox.ArmResourceGroup + `.`,
		Args: aCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	group := func(use, short string, in ...*cobra.Command) *cobra.Command {
		g := &cobra.Command{Use: use, Short: short, Args: aCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
		g.AddCommand(in...)
		return g
	}
	az.AddCommand(
		group("k8s-configuration", "GitOps configurations of clusters",
			group("flux", "Flux v2 configurations", azFluxCreate(a), azFluxUpdate(a), azFluxShow(a), azFluxList(a), azFluxDelete(a))),
		group("connectedk8s", "Clusters that Azure Arc manages", azConnectedList(a), azConnectedShow(a)),
		group("graph", "The Resource Graph", azGraphQuery(a)),
		group("extension", "Extensions of the Azure CLI", azExtensionAdd(a)),
		group("account", "The subscription", azAccountShow(a)),
		azLogin(a),
	)
	return az
}

// azCall is one run of an Azure command.
type azCall struct {
	*app
	global azGlobal
	client *arc.Client
	tenant string
}

// azRun is what a command does: it returns what is to be printed, nil for
// nothing.
type azRun func(ctx context.Context, z *azCall) (any, error)

// azLeaf makes a command of Azure's: c has the flags, run is called with a
// client, and what it returns is printed as asked for; as a table with the
// columns that Azure shows, where they are given.
func azLeaf(a *app, c *cobra.Command, columns []string, run azRun) *cobra.Command {
	z := &azCall{app: a}
	z.global.addTo(c.Flags())
	c.Flags().SetNormalizeFunc(azAliases)
	c.DisableFlagParsing = true // see azArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		c.DisableFlagParsing = false
		c.InitDefaultHelpFlag()
		if err := c.ParseFlags(azArgs(args)); err != nil {
			return azUsage(c, err.Error())
		}
		if help, err := c.Flags().GetBool("help"); err == nil && help {
			return c.Help()
		}
		if rest := c.Flags().Args(); len(rest) > 0 {
			return azUsage(c, fmt.Sprintf("unrecognized arguments: %v", rest))
		}
		if missing := azMissing(c); missing != "" {
			return azUsage(c, "the following arguments are required: "+missing)
		}
		printer, err := newAzPrinter(z.global, columns)
		if err != nil {
			return err
		}
		if err := z.connect(); err != nil {
			return err
		}
		out, err := run(c.Context(), z)
		if err != nil {
			return azError(err)
		}
		return printer.print(z.out, out)
	}
	return c
}

func azUsage(c *cobra.Command, message string) error {
	return &sandbox.UsageError{Message: message + fmt.Sprintf("\nSee `%s --help`.", c.CommandPath())}
}

// connect makes the client; it asks nothing yet.
func (z *azCall) connect() error {
	home, err := z.home()
	if err != nil {
		return err
	}
	url, token, subscription, tenant, err := sandbox.ArmEndpoint(home)
	if err != nil {
		return err
	}
	if z.global.subscription != "" {
		subscription = z.global.subscription
	}
	z.tenant = tenant
	z.client, err = arc.New(arc.Token(token), subscription, arc.At(url))
	return err
}

// azError says what went wrong in Azure's words, and in ours when nobody
// answers.
func azError(err error) error {
	var call *net.OpError
	if errors.As(err, &call) && call.Op == "dial" {
		return fmt.Errorf("the sandbox's emulated Azure does not answer (%w): bring the sandbox up with `kalypso up`", call.Err)
	}
	if message := arc.Message(err); message != err.Error() {
		return errors.New(message)
	}
	return err
}
