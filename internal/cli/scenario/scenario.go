package scenario

import (
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

func NewCommand(a *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "scenario",
		Short: "Learn the tutorials step by step, or run them as tests",
		Long: `A scenario is a part of a tutorial that runs by itself on the sandbox: it does
what a person would do, by git, pull requests and kubectl, and checks what has
come of it. The same scenario can be learned: then a person does it, and each
step waits until it is done.`,
		Args: cmdutil.SubcommandArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScenarioList(a), newScenarioShow(a), newScenarioRun(a), newScenarioLearn(a), newScenarioCheck(a), newScenarioReset(a))
	return c
}

func newScenarioList(a *cmdutil.App) *cobra.Command {
	return cmdutil.ReadCommand(a, &cobra.Command{
		Use:   "list",
		Short: "List the scenarios in the order of the tutorial",
		Long: `List the scenarios in the order of the tutorial, with how many steps have been
learned. What is done in the sandbox, by whomever, is told by scenario check.`,
		Args: cmdutil.ExactArgs(),
	}, func(*cobra.Command, []string) ([]listedScenario, error) {
		workshop, err := workshop(a)
		if err != nil {
			return nil, err
		}
		all, err := scenarios.Tutorials.List(workshop)
		if err != nil {
			return nil, asUsage(err)
		}
		learned, err := learned(a)
		if err != nil {
			return nil, err
		}
		listed := make([]listedScenario, len(all))
		for i, info := range all {
			listed[i] = listedScenario{info, learned.Of(info)}
		}
		return listed, nil
	}, func(all []listedScenario) error {
		w := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
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
		a.Messagef("\nNext      kalypso scenario learn %s   do it yourself, with help", next)
		a.Messagef("          kalypso scenario run %s     see it done", next)
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

func newScenarioShow(a *cmdutil.App) *cobra.Command {
	var how string
	var raw bool
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a scenario: what to do, and what to see",
		Long: `Show a scenario as a person would do it by hand: the commands and files, what is
to be seen after each step, and the hints. --raw is the file that is run.`,
		Args: cmdutil.ExactArgs("name"),
		RunE: func(_ *cobra.Command, args []string) error {
			workshop, orgURL, err := workshopAt(a)
			if err != nil {
				return err
			}
			if raw {
				text, err := scenarios.Tutorials.Source(workshop, args[0])
				if err == nil {
					_, err = a.Out.Write(text)
				}
				return asUsage(err)
			}
			return showScenario(a, workshop, args[0], orgURL, how)
		},
	}
	c.Flags().StringVarP(&how, "output", "o", "text", "text, markdown or json")
	c.Flags().BoolVar(&raw, "raw", false, "print the file as it is")
	return c
}

func showScenario(a *cmdutil.App, workshop, name, orgURL, how string) error {
	page, err := engine.NewPage(scenarios.Tutorials, workshop, name, engine.PageOptions{OrgURL: orgURL})
	if err != nil {
		return asUsage(err)
	}
	switch how {
	case "text":
		_, err = fmt.Fprint(a.Out, page.Terminal(terminalWidth(a.Out), painter(a.Out)))
	case "markdown":
		_, err = fmt.Fprint(a.Out, page.Markdown())
	case "json":
		var text []byte
		if text, err = scenarios.Tutorials.Source(workshop, name); err == nil {
			err = a.PrintJSON(shownScenario{page.Info, string(text)})
		}
	default:
		return usage.Errorf("there is no output %q: choose text, markdown or json", how)
	}
	return err
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

// workshop is the sandbox's, or without one the workshop that it would have.
func workshop(a *cmdutil.App) (string, error) {
	name, _, err := workshopAt(a)
	return name, err
}

// workshopAt is workshop with the address of its organisation, "" without a
// sandbox.
func workshopAt(a *cmdutil.App) (name, orgURL string, err error) {
	home, err := a.Home()
	if err != nil {
		return "", "", err
	}
	state, err := home.LoadState()
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return sandbox.DefaultWorkshop, "", nil
	}
	if err != nil {
		return "", "", err
	}
	return state.Workshop, state.OrgURL(), nil
}

func asUsage(err error) error {
	var unknown *scenarios.UnknownError
	if errors.As(err, &unknown) {
		return usage.New(err.Error())
	}
	return err
}
