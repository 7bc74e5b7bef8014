// Package workshop has the commands about what a sandbox is made of.
package workshop

import (
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/spf13/cobra"
)

// NewCommand makes `kalypso workshop`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "workshop",
		Short: "What a sandbox is made of: a folder with repositories, clusters and scenarios",
	}, newFrom(a, from), newExport(a, export))
}
