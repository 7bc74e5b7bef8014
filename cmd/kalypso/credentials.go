package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func newCredentials(a *app) *cobra.Command {
	var o output
	c := &cobra.Command{
		Use:   "credentials",
		Short: "The forge's user, password and token",
		Args:  onlyArgs(),
		RunE: func(*cobra.Command, []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			home, err := a.home()
			if err != nil {
				return err
			}
			credentials, err := sandbox.GetCredentials(home)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(credentials)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "url\t%s\nuser\t%s\npassword\t%s\ntoken\t%s\n", credentials.URL, credentials.User, credentials.Password, credentials.Token)
			return w.Flush()
		},
	}
	o.addTo(c)
	return c
}

func newLogs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print a component's log",
		Long:  "Print the log of a component; `kalypso status` lists the components, and \"daemon\" is the supervisor itself.",
		Args:  onlyArgs("component"),
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			b, err := sandbox.ReadLog(home, args[0])
			if err != nil {
				return err
			}
			_, err = a.out.Write(b)
			return err
		},
	}
}
