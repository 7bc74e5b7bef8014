package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

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

func newVersion(a *app) *cobra.Command {
	return reads(a, &cobra.Command{
		Use:   "version",
		Short: "The versions of kalypso and of everything packed in it",
		Args:  onlyArgs(),
	}, func(*cobra.Command, []string) (versions, error) {
		v := versions{Kalypso: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
		manifest, err := components.Packed()
		if errors.Is(err, components.ErrNoPayload) {
			a.talk("%v", err) // worth knowing, and no reason not to tell the rest
			return v, nil
		}
		v.Packed = manifest.Versions()
		return v, err
	}, func(v versions) error {
		w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
		fmt.Fprintf(w, "kalypso\t%s\t(%s, %s)\n", v.Kalypso, v.Go, v.Platform)
		for _, p := range v.Packed {
			fmt.Fprintf(w, "%s\t%s\t\n", p.Name, p.Version)
		}
		return w.Flush()
	})
}

func newLicenses(a *app) *cobra.Command {
	var full bool
	c := reads(a, &cobra.Command{
		Use:   "licenses",
		Short: "What kalypso is made of, and under which licences",
		Long:  "List every module that is linked into kalypso and into what it packs; with --full print the licence texts.",
		Args:  onlyArgs(),
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
	})
	c.Flags().BoolVar(&full, "full", false, "print the texts")
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
