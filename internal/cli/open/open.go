package open

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	var only bool
	var o cmdutil.Output
	c := &cobra.Command{
		Use:   "open [PLACE [PART]]",
		Short: "Print the URL of the forge, and show it in a browser",
		Long: `Print the URL of a place in the sandbox, such as the forge or one of its
repositories, and show it in a browser where there is a display. Without a
place, list those that there are.`,
		Example: `  kalypso open
  kalypso open gitea
  kalypso open gitea kalypso-control-plane --print`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return cmdutil.ExactArgs("place", "part")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := o.JSON()
			if err != nil {
				return err
			}
			home, err := a.Home()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listPlaces(a, c.Context(), home, asJSON)
			}
			part := ""
			if len(args) > 1 {
				part = args[1]
			}
			place, err := sandbox.FindPlace(c.Context(), home, args[0], part)
			if err != nil {
				return err
			}
			return open(a, place, asJSON, only)
		},
	}
	o.AddTo(c)
	c.Flags().BoolVar(&only, "print", false, "only print the URL")
	return c
}

func listPlaces(a *cmdutil.App, ctx context.Context, home sandbox.Home, asJSON bool) error {
	all, err := sandbox.Places(ctx, home)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(all)
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
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
func open(a *cmdutil.App, p *sandbox.Place, asJSON, only bool) error {
	if asJSON {
		return a.PrintJSON(p)
	}
	fmt.Fprintln(a.Out, p.URL)
	switch {
	case !p.Running && only:
		a.Messagef("Nothing is there now: %v.", sandbox.ErrDown)
		return nil
	case !p.Running:
		return sandbox.ErrDown
	case only:
		return nil
	}
	if p.User != "" {
		a.Messagef("Log in as %s; the password: kalypso credentials", p.User)
	}
	program := browser(runtime.GOOS, os.Getenv, exec.LookPath)
	if program == "" {
		return nil
	}
	// a browser must survive this terminal, and be no part of its talk
	cmd := exec.Command(program, p.URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("show %s in a browser: %w", p.URL, err)
	}
	return cmd.Process.Release()
}

// browser is the program that shows a URL to the person, "" where there is no
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
