package cli

import (
	"fmt"
	"os"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand makes `kalypso man FOLDER`, which those who package kalypso run. With
// SOURCE_DATE_EPOCH set the pages have its date.
func newManCommand(a *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages of all commands into a folder",
		Hidden: true,
		Args:   cmdutil.ExactArgs("FOLDER"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			// a line with the day of the build is no part of a manual
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "kalypso " + a.Version, Manual: "Kalypso"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return nil
		},
	}
}
