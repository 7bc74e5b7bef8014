package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagMistake is the message of an error about flags. Those about a value come
// with the messages of Go's parsers, which do not help who calls a command.
func flagMistake(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	wanted, ok := map[string]string{
		"int":      "a whole number",
		"int64":    "a whole number",
		"bool":     "true or false",
		"duration": "a time with its unit, such as 30s, 10m or 1h30m",
	}[invalid.GetFlag().Value.Type()]
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("--%s %q: give %s", invalid.GetFlag().Name, invalid.GetValue(), wanted)
}

// strictHelp makes help about what there is not a mistake: cobra's own shows
// the help of whatever it did find.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		show := help.Run
		help.Run = nil
		help.RunE = func(c *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return usage.New(err.Error())
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return noTopic(found, rest[0])
			}
			show(c, args)
			return nil
		}
	}
}

// noTopic is the error for help about something that a command does not hold.
func noTopic(c *cobra.Command, name string) error {
	var names []string
	for _, each := range c.Commands() {
		if !each.Hidden {
			names = append(names, each.Name())
		}
	}
	message := fmt.Sprintf("%s has no command or topic %q", c.CommandPath(), name)
	if near := model.Nearest(strings.ToLower(name), names); near != "" {
		message += ", did you mean " + near + "?"
	}
	return usage.Errorf("%s\nSee `%s --help`.", message, c.CommandPath())
}
