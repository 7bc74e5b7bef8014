package main

import (
	"encoding/json"
	"fmt"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// reads makes a command of two functions: look finds something out, show prints
// it for people. With -o json it is printed as it is.
func reads[T any](a *app, c *cobra.Command, look func(c *cobra.Command, args []string) (T, error), show func(T) error) *cobra.Command {
	var o output
	o.addTo(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		asJSON, err := o.json()
		if err != nil {
			return err
		}
		v, err := look(c, args)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(v)
		}
		return show(v)
	}
	return c
}

// output is the -o flag of the commands that read.
type output string

func (o *output) addTo(c *cobra.Command) {
	c.Flags().StringVarP((*string)(o), "output", "o", "text", "text or json")
}

// json tells whether JSON is wanted.
func (o output) json() (bool, error) {
	switch o {
	case "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, &sandbox.UsageError{Message: fmt.Sprintf("there is no output %q: choose text or json", string(o))}
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
