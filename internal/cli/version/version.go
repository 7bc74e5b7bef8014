// Package version has the commands that say what kalypso consists of.
package version

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/components"
	"github.com/spf13/cobra"
)

// versions is what `kalypso version -o json` prints.
type versions struct {
	Kalypso  string               `json:"kalypso"`
	Go       string               `json:"go"`
	Platform string               `json:"platform"`
	Packed   []components.Version `json:"packed"`
	Check    *Check               `json:"check,omitempty"`
}

// Options are those of version and licenses.
type Options struct {
	*cmdutil.App
	Full     bool
	Check    bool
	ExitCode bool
	Output   cmdutil.Output
}

// NewCommand makes `kalypso version`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "version",
		Short: "The versions of kalypso and of everything packed in it",
		Long: `Print the versions of kalypso and of everything packed in it.

With --check also ask where releases are served whether there is a newer one:
on GitHub, or below the URL in ` + releasesVariable + `. Without a network that is
said, and no failure; with --exit-code it is, and a newer release makes the exit
code 3.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	c.Flags().BoolVar(&o.Check, "check", false, "ask whether there is a newer release")
	c.Flags().BoolVar(&o.ExitCode, "exit-code", false, "with --check: exit with 3 when there is a newer release, with 1 when nobody can be asked")
	return c
}

// Run prints the versions, without those of a payload where there is none.
func Run(ctx context.Context, o *Options) error {
	if o.ExitCode && !o.Check {
		return usage.New("--exit-code is about what --check finds: add --check")
	}
	v := versions{Kalypso: o.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	manifest, err := components.Packed()
	switch {
	case errors.Is(err, components.ErrNoPayload):
		o.Messagef("%v", err)
	case err != nil:
		return err
	default:
		v.Packed = manifest.Versions()
	}
	if o.Check {
		found := check(ctx, o.Version)
		v.Check = &found
	}
	err = o.Output.Print(o.App, v, func() error {
		w := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
		fmt.Fprintf(w, "kalypso\t%s\t(%s, %s)\n", v.Kalypso, v.Go, v.Platform)
		for _, p := range v.Packed {
			fmt.Fprintf(w, "%s\t%s\t\n", p.Name, p.Version)
		}
		if err := w.Flush(); err != nil || !o.Check {
			return err
		}
		printCheck(o, *v.Check)
		return nil
	})
	if err == nil && o.ExitCode {
		return checkError(*v.Check)
	}
	return err
}

// NewLicensesCommand makes `kalypso licenses`.
func NewLicensesCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "licenses",
		Short: "What kalypso is made of, and under which licences",
		Long:  "List every module that is linked into kalypso and into what it packs; with --full print the licence texts.",
		Args:  cmdutil.ExactArgs(),
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	c.Flags().BoolVar(&o.Full, "full", false, "print the texts")
	return c
}

// Licenses prints the modules, or their licences' texts.
func Licenses(_ context.Context, o *Options) error {
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
	return o.Output.Print(o.App, all, func() error {
		if o.Full {
			return printTexts(o.Out, all)
		}
		w := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
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
}

func printTexts(w io.Writer, all []components.License) error {
	for _, l := range all {
		for _, f := range l.Files {
			if _, err := fmt.Fprintf(w, "==== %s %s (in %s): %s\n\n%s\n\n", l.Module, l.Version, l.Component, f.Name, f.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
