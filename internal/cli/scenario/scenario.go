// Package scenario has the commands about the tutorials.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Options are those of the commands below `kalypso scenario` but run.
type Options struct {
	*cmdutil.App
	Names    []string
	Raw      bool // show: the file itself
	ExitCode bool // check: it says whether all is done
	Output   cmdutil.Output
}

// NewCommand makes `kalypso scenario`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "scenario",
		Short: "Learn the tutorials step by step, or run them as tests",
		Long: `A scenario is a part of a tutorial that runs by itself on the sandbox: it does
what a user would do, by git, pull requests and kubectl, and checks what has
come of it. The same scenario can be learned: then a user does it, and each
step waits until it is done.`,
	}, newList(a, list), newShow(a, show), newRun(a, run), newLearn(a, learn), newCheck(a, check), newReset(a, forget))
}

func newList(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios in the order of the tutorial",
		Long: `List the scenarios in the order of the tutorial, with how many steps have been
learned. What is done in the sandbox is shown by scenario check.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddTo(c, "text", "json")
	return c
}

func list(_ context.Context, o *Options) error {
	workshop, _, err := workshopAt(o.App)
	if err != nil {
		return err
	}
	infos, err := scenarios.Tutorials.List(workshop)
	if err != nil {
		return asUsage(err)
	}
	learned, err := learned(o.App)
	if err != nil {
		return err
	}
	all := make([]listedScenario, len(infos))
	for i, info := range infos {
		all[i] = listedScenario{info, learned.Of(info)}
	}
	return o.Output.Print(o.App, all, func() error {
		w := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "NAME\tTITLE\tBY\tSTEPS\tLEARNED")
		next := all[0].Name
		for i, s := range all {
			learned := "-"
			switch {
			case s.Learned == len(s.Steps):
				learned = "all"
				if i+1 < len(all) {
					next = all[i+1].Name
				}
			case s.Learned > 0:
				learned = fmt.Sprintf("%d of %d", s.Learned, len(s.Steps))
				next = s.Name
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", s.Name, s.Title, s.Persona, len(s.Steps), learned)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		o.Messagef("\nNext      kalypso scenario learn %s   do it yourself, with help", next)
		o.Messagef("          kalypso scenario run %s     see it done", next)
		return nil
	})
}

// listedScenario is a scenario with how many of its steps have been learned.
type listedScenario struct {
	scenarios.Info
	Learned int `json:"learned"`
}

// shownScenario is a scenario with its text.
type shownScenario struct {
	scenarios.Info
	Text string `json:"text"`
}

func newShow(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a scenario: what to do, and what to see",
		Long: `Show a scenario as a user would do it by hand: the commands and files, what is
to be seen after each step, and the hints. --raw is the file that is run.`,
		Args: cmdutil.ExactArgs("name"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Names = args
			return run(c.Context(), o)
		},
	}
	c.ValidArgsFunction = cmdutil.Complete(false, names(a))
	o.Output.AddTo(c, "text", "markdown", "json")
	c.Flags().BoolVar(&o.Raw, "raw", false, "print the file as it is")
	return c
}

func show(_ context.Context, o *Options) error {
	workshop, orgURL, err := workshopAt(o.App)
	if err != nil {
		return err
	}
	source, err := scenarios.Tutorials.Source(workshop, o.Names[0])
	if err != nil {
		return asUsage(err)
	}
	if o.Raw {
		_, err = o.Out.Write(source)
		return err
	}
	page, err := engine.NewPage(scenarios.Tutorials, workshop, o.Names[0], engine.PageOptions{OrgURL: orgURL})
	if err != nil {
		return asUsage(err)
	}
	return o.Output.Print(o.App, shownScenario{page.Info, string(source)}, func() error {
		text := page.Terminal(terminalWidth(o.Out), painter(o.Out))
		if o.Output.String() == "markdown" {
			text = page.Markdown()
		}
		_, err := fmt.Fprint(o.Out, text)
		return err
	})
}

// painter paints the parts of a scenario's page.
func painter(w io.Writer) func(kind, text string) string {
	s := cmdutil.NewStyle(w)
	return func(kind, text string) string {
		switch kind {
		case "title", "label":
			return s.Bold(text)
		case "good":
			return s.Good(text)
		case "warn":
			return s.Warn(text)
		case "faint":
			return s.Faint(text)
		}
		return text
	}
}

// terminalWidth is 0 when w is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// workshopAt is the sandbox's workshop with the URL of its organisation, or the
// workshop that a sandbox would have and no URL.
func workshopAt(a *cmdutil.App) (name, orgURL string, err error) {
	home, err := a.Home()
	if err != nil {
		return "", "", err
	}
	state, err := home.Load()
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return sandbox.DefaultWorkshop, "", nil
	}
	if err != nil {
		return "", "", err
	}
	return state.Workshop, state.OrgURL(), nil
}

// names are those of the workshop's scenarios.
func names(a *cmdutil.App) cmdutil.Candidates {
	return func(context.Context) ([]string, error) {
		workshop, _, err := workshopAt(a)
		if err != nil {
			return nil, err
		}
		all, err := scenarios.Tutorials.List(workshop)
		var names []string
		for _, info := range all {
			names = append(names, info.Name)
		}
		return names, err
	}
}

func asUsage(err error) error {
	var unknown *scenarios.UnknownError
	if errors.As(err, &unknown) {
		return usage.New(err.Error())
	}
	return err
}
