package az

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/spf13/cobra"
)

// command is what Azure's commands need: their streams, their environment, and
// in tests the network.
type command struct {
	*cmdutil.App
	env       func(string) string
	transport policy.Transporter
}

// NewCommand has those of Azure's commands that the tutorials use, with the same
// flags and the same output, on the sandbox's emulated Azure or on Azure.
func NewCommand(a *cmdutil.App) *cobra.Command { return (&command{App: a, env: os.Getenv}).command() }

func (a *command) command() *cobra.Command {
	az := &cobra.Command{
		Use:   "az",
		Short: "Azure's commands of the tutorials, on the sandbox's emulated Azure or on Azure",
		Long: `The commands of the Azure CLI that the tutorials use, on the sandbox. After

    alias az='kalypso az'

the tutorials' lines run as they are printed. All clusters of the sandbox are in
the resource group ` + sandbox.ArmResourceGroup + `.

With --cloud, or with its name in ` + cloudVariable + `, they are about a fleet on
Azure itself, and need no Azure CLI:

    kalypso az connectedk8s list --cloud AzurePublic --output table

The login is the one that there is: of azure/login or ` + "`az login`" + `, of a managed or
workload identity, or of AZURE_TENANT_ID, AZURE_CLIENT_ID and their like. The
subscription is that of --subscription or AZURE_SUBSCRIPTION_ID, or else the
default one of the Azure CLI. Reading needs the role Reader there, flux create,
update and delete need Contributor on the clusters.`,
	}
	group(az,
		holder("k8s-configuration", "GitOps configurations of clusters",
			holder("flux", "Flux v2 configurations", fluxCreate(a), fluxUpdate(a), fluxShow(a), fluxList(a), fluxDelete(a))),
		holder("connectedk8s", "Clusters that Azure Arc manages", connectedList(a), connectedShow(a), connect(a), proxy(a)),
		holder("resource", "Resources of all types", resourceList(a)),
		holder("aks", "Clusters of AKS, of which the sandbox has none", managedShow(a)),
		holder("graph", "The Resource Graph", graphQuery(a)),
		holder("extension", "Extensions of the Azure CLI", extensionAdd(a)),
		holder("account", "The subscription", accountShow(a)),
		login(a),
	)
	return az
}

// holder is a command that only holds others.
func holder(use, short string, in ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short}
	group(g, in...)
	return g
}

// group makes of g a command that only holds others. It does not parse flags:
// those of an unknown command are not the mistake to report.
func group(g *cobra.Command, in ...*cobra.Command) {
	g.AddCommand(in...)
	g.DisableFlagParsing, g.Args, g.SuggestionsMinimumDistance = true, cobra.ArbitraryArgs, 2
	g.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			return unknown(c, args[0])
		}
		if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
			return c.Help()
		}
		return usageError(c, "unknown flag: "+args[0])
	}
}

func unknown(c *cobra.Command, name string) error {
	message := fmt.Sprintf("unknown command %q for %q", name, c.CommandPath())
	if near := c.SuggestionsFor(name); len(near) > 0 {
		message += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	var served []string
	for _, one := range c.Commands() {
		if one.IsAvailableCommand() {
			served = append(served, one.Name())
		}
	}
	slices.Sort(served)
	return usageError(c, message+"\nThere are "+strings.Join(served, ", ")+".")
}

// call is one run of an Azure command.
type call struct {
	*command
	global global
	client *arc.Client
	tenant string // of the sandbox
	real   bool   // Azure itself, not the sandbox
}

// run is what a command does: it returns what is to be printed, nil for
// nothing.
type run func(ctx context.Context, z *call) (any, error)

// leaf makes a command of Azure's: c has the flags, run is called with a
// client, and what it returns is printed as asked for; as a table with the
// columns that Azure shows, where they are given.
func leaf(a *command, c *cobra.Command, columns []string, run run) *cobra.Command {
	z := &call{command: a}
	z.global.addTo(c.Flags())
	c.Flags().SetNormalizeFunc(aliases)
	c.DisableFlagParsing = true // see splitArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		c.DisableFlagParsing = false
		c.InitDefaultHelpFlag()
		if err := c.ParseFlags(splitArgs(args)); err != nil {
			return usageError(c, err.Error())
		}
		if help, err := c.Flags().GetBool("help"); err == nil && help {
			return c.Help()
		}
		if rest := c.Flags().Args(); len(rest) > 0 {
			return usageError(c, fmt.Sprintf("unrecognized arguments: %v", rest))
		}
		if missing := missing(c); missing != "" {
			return usageError(c, "the following arguments are required: "+missing)
		}
		printer, err := newPrinter(z.global, columns)
		if err != nil {
			return err
		}
		if err := z.connect(); err != nil {
			return err
		}
		out, err := run(c.Context(), z)
		if err != nil {
			return z.failure(err)
		}
		return printer.print(z.Out, out)
	}
	return c
}

func usageError(c *cobra.Command, message string) error {
	return usage.Errorf("%s\nSee `%s --help`.", message, c.CommandPath())
}
