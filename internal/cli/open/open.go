// Package open has the command that shows parts of a sandbox in a browser.
package open

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/hub"
	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso open`.
type Options struct {
	*cmdutil.App
	Page, Part string // "" for all
	Print      bool
	Output     cmdutil.Output
}

// NewCommand makes `kalypso open`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "open [PLACE [PART]]",
		Short: "Print the URL of the hub or the forge, and show it in a browser",
		Long: `Print the URL of a place in the sandbox, such as the hub, the forge or one of its
repositories, and show it in a browser where there is a display. Without a
place, list those that there are.

The URL of the hub has a ticket in it, which lets one browser in, once and within a
minute.`,
		Example: `  kalypso open
  kalypso open hub
  kalypso open gitea
  kalypso open gitea kalypso-control-plane --print`,
		Args: cmdutil.RangeArgs(0, 2),
		RunE: func(c *cobra.Command, args []string) error {
			for i, to := range []*string{&o.Page, &o.Part}[:len(args)] {
				*to = args[i]
			}
			return run(c.Context(), o)
		},
	}
	c.ValidArgsFunction = cmdutil.Complete(false, func(ctx context.Context) ([]string, error) {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		all, err := sandbox.WebPages(ctx, home)
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names, err
	})
	o.Output.AddTo(c, "text", "json")
	c.Flags().BoolVar(&o.Print, "print", false, "only print the URL")
	return c
}

// Run lists what can be opened, or opens it.
func Run(ctx context.Context, o *Options) error {
	home, err := o.Home()
	if err != nil {
		return err
	}
	if o.Page == "" {
		all, err := sandbox.WebPages(ctx, home)
		if err != nil {
			return err
		}
		return o.Output.Print(o.App, all, func() error { return printPages(o.Out, all) })
	}
	page, err := sandbox.FindWebPage(ctx, home, o.Page, o.Part)
	if err != nil {
		return err
	}
	if page.Name == sandbox.HubPage && page.Running {
		if page.URL, err = hub.TicketURL(ctx, home, page.URL); err != nil {
			return err
		}
	}
	return o.Output.Print(o.App, page, func() error { return o.open(page) })
}

func printPages(out io.Writer, all []sandbox.WebPage) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PLACE\tPART\tURL\tWHAT IT IS")
	for _, p := range all {
		part := "-"
		if p.Part != "" {
			part = "[" + p.Part + "]"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, part, p.URL, p.Title)
	}
	return w.Flush()
}

// open prints the URL before anything else: whatever becomes of a browser, that
// is what was asked for.
func (o *Options) open(p *sandbox.WebPage) error {
	fmt.Fprintln(o.Out, p.URL)
	switch {
	case !p.Running && o.Print:
		o.Messagef("Nothing is there now: %v.", sandbox.ErrDown)
		return nil
	case !p.Running:
		return sandbox.ErrDown
	case o.Print:
		return nil
	}
	if p.User != "" {
		o.Messagef("Log in as %s; the password: kalypso credentials", p.User)
	}
	program := browser(runtime.GOOS, os.Getenv, exec.LookPath)
	if program == "" {
		return nil
	}
	// a browser must outlive this terminal, and not write to it
	cmd := exec.Command(program, p.URL)
	cmd.SysProcAttr = posix.NewSession()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("show %s in a browser: %w", p.URL, err)
	}
	return cmd.Process.Release()
}

// browser is the program that shows a URL to the user, "" where there is no
// display to show it on.
func browser(system string, env func(string) string, look func(string) (string, error)) string {
	var names []string
	switch {
	case system == "darwin":
		names = []string{"open"}
	case env("WSL_DISTRO_NAME") != "":
		names = []string{"wslview", "xdg-open"}
	case env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "":
		names = []string{"xdg-open"}
	}
	for _, name := range names {
		if path, err := look(name); err == nil {
			return path
		}
	}
	return ""
}
