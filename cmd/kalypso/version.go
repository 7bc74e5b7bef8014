package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/spf13/cobra"
)

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

func newVersion(a *app) *cobra.Command {
	var o output
	c := &cobra.Command{
		Use:   "version",
		Short: "The versions of kalypso and of everything packed in it",
		Args:  onlyArgs(),
		RunE: func(*cobra.Command, []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			manifest, err := components.Packed()
			if err != nil && !errors.Is(err, components.ErrNoPayload) {
				return err
			}
			if asJSON {
				return a.printJSON(map[string]any{
					"kalypso": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
					"packed": manifest.Versions(),
				})
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
			fmt.Fprintf(w, "kalypso\t%s\t(%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, v := range manifest.Versions() {
				fmt.Fprintf(w, "%s\t%s\t\n", v.Name, v.Version)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if err != nil {
				a.talk("%v", err)
			}
			return nil
		},
	}
	o.addTo(c)
	return c
}

func newLicenses(a *app) *cobra.Command {
	var full bool
	var o output
	c := &cobra.Command{
		Use:   "licenses",
		Short: "What kalypso is made of, and under which licences",
		Long:  "List every module that is linked into kalypso and into what it packs; with --full print the licence texts.",
		Args:  onlyArgs(),
		RunE: func(*cobra.Command, []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			manifest, err := components.Packed()
			if err != nil {
				return err
			}
			var all []components.License
			for _, name := range append([]string{components.Self}, manifest.Names()...) {
				some, err := components.Licenses(name)
				if err != nil {
					return err
				}
				all = append(all, some...)
			}
			if asJSON {
				return a.printJSON(all)
			}
			if full {
				return a.printLicences(all)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
			fmt.Fprintln(w, "IN\tMODULE\tVERSION\tFILES")
			for _, l := range all {
				var files []string
				for _, f := range l.Files {
					files = append(files, f.Name)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Component, l.Module, l.Version, strings.Join(files, " "))
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&full, "full", false, "print the texts")
	o.addTo(c)
	return c
}

func (a *app) printLicences(all []components.License) error {
	for _, l := range all {
		for _, f := range l.Files {
			if _, err := fmt.Fprintf(a.out, "==== %s %s (in %s): %s\n\n%s\n\n", l.Module, l.Version, l.Component, f.Name, f.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
