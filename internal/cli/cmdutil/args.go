package cmdutil

import (
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/spf13/cobra"
)

// SubcommandArgs is the argument check of commands that only hold others.
func SubcommandArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		message += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage.Errorf("%s\nSee `%s --help`.", message, c.CommandPath())
}

// ExactArgs is a cobra argument check whose error says what is taken.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usage.Errorf("usage: %s\nSee `%s --help`.", c.UseLine(), c.CommandPath())
	}
}

func AddYes(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}
