package cmdutil

import (
	"encoding/json"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/spf13/cobra"
)

// ReadCommand makes a command of two functions: look finds something out, show prints
// it for people. With -o json it is printed as it is.
func ReadCommand[T any](a *App, c *cobra.Command, look func(c *cobra.Command, args []string) (T, error), show func(T) error) *cobra.Command {
	var o Output
	o.AddTo(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		asJSON, err := o.JSON()
		if err != nil {
			return err
		}
		v, err := look(c, args)
		if err != nil {
			return err
		}
		if asJSON {
			return a.PrintJSON(v)
		}
		return show(v)
	}
	return c
}

// Output is the -o flag of the commands that read.
type Output string

func (o *Output) AddTo(c *cobra.Command) {
	c.Flags().StringVarP((*string)(o), "output", "o", "text", "text or json")
}

// JSON tells whether JSON is wanted.
func (o Output) JSON() (bool, error) {
	switch o {
	case "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, usage.Errorf("there is no output %q: choose text or json", string(o))
}

func (a *App) PrintJSON(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
