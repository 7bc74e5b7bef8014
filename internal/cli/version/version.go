package version

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/spf13/cobra"
)

// versions is what `kalypso version` tells.
type versions struct {
	Kalypso  string               `json:"kalypso"`
	Go       string               `json:"go"`
	Platform string               `json:"platform"`
	Packed   []components.Version `json:"packed"`
}

func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.ReadCommand(a, &cobra.Command{
		Use:   "version",
		Short: "The versions of kalypso and of everything packed in it",
		Args:  cmdutil.ExactArgs(),
	}, func(*cobra.Command, []string) (versions, error) {
		v := versions{Kalypso: a.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
		manifest, err := components.Packed()
		if errors.Is(err, components.ErrNoPayload) {
			a.Messagef("%v", err) // worth knowing, and no reason not to tell the rest
			return v, nil
		}
		v.Packed = manifest.Versions()
		return v, err
	}, func(v versions) error {
		w := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
		fmt.Fprintf(w, "kalypso\t%s\t(%s, %s)\n", v.Kalypso, v.Go, v.Platform)
		for _, p := range v.Packed {
			fmt.Fprintf(w, "%s\t%s\t\n", p.Name, p.Version)
		}
		return w.Flush()
	})
}

func NewLicensesCommand(a *cmdutil.App) *cobra.Command {
	var full bool
	c := cmdutil.ReadCommand(a, &cobra.Command{
		Use:   "licenses",
		Short: "What kalypso is made of, and under which licences",
		Long:  "List every module that is linked into kalypso and into what it packs; with --full print the licence texts.",
		Args:  cmdutil.ExactArgs(),
	}, func(*cobra.Command, []string) ([]components.License, error) {
		manifest, err := components.Packed()
		if err != nil {
			return nil, err
		}
		var all []components.License
		for _, name := range append([]string{components.Self}, manifest.Names()...) {
			some, err := components.Licenses(name)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}, func(all []components.License) error {
		if full {
			return printLicences(a, all)
		}
		w := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "IN\tMODULE\tVERSION\tFILES")
		for _, l := range all {
			var files []string
			for _, f := range l.Files {
				files = append(files, f.Name)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Component, l.Module, l.Version, strings.Join(files, " "))
		}
		return w.Flush()
	})
	c.Flags().BoolVar(&full, "full", false, "print the texts")
	return c
}

func printLicences(a *cmdutil.App, all []components.License) error {
	for _, l := range all {
		for _, f := range l.Files {
			if _, err := fmt.Fprintf(a.Out, "==== %s %s (in %s): %s\n\n%s\n\n", l.Module, l.Version, l.Component, f.Name, f.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
