// Package scenario has the commands about the tutorials.
package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/kalypso-dev/kalypso/workshop"
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
	library, _, err := libraryOf(o.App)
	if err != nil {
		return err
	}
	infos, err := library.List()
	if err != nil {
		return asUsage(err)
	}
	if len(infos) == 0 {
		o.Messagef("The workshop %s has no scenarios.", library.Workshop)
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
		if len(all) == 0 {
			return nil
		}
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
	library, orgURL, err := libraryOf(o.App)
	if err != nil {
		return err
	}
	if library, o.Names, err = among(library, o.Names); err != nil {
		return err
	}
	source, err := library.Source(o.Names[0])
	if err != nil {
		return asUsage(err)
	}
	if o.Raw {
		_, err = o.Out.Write(source)
		return err
	}
	page, err := engine.NewPage(library, o.Names[0], engine.PageOptions{OrgURL: orgURL})
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

func libraryOf(a *cmdutil.App) (library scenarios.Library, orgURL string, err error) {
	home, err := a.Home()
	if err != nil {
		return library, "", err
	}
	return LibraryOf(home)
}

// LibraryOf is the scenarios of a sandbox's workshop with the URL of its organisation,
// or those of the workshop that a sandbox would have and no URL.
func LibraryOf(home sandbox.Home) (library scenarios.Library, orgURL string, err error) {
	state, err := home.Load()
	if errors.Is(err, sandbox.ErrNoSandbox) {
		w, err := workshop.OpenBuiltin(sandbox.DefaultWorkshop)
		if err != nil {
			return library, "", err
		}
		library, err = scenarios.Of(w)
		return library, "", err
	}
	if err != nil {
		return library, "", err
	}
	library, err = scenarios.Of(state.Spec())
	return library, state.OrgURL(), err
}

// among returns the scenarios that are called for: those of the workshop by their
// names, or those of a folder or file elsewhere.
func among(library scenarios.Library, names []string) (scenarios.Library, []string, error) {
	if !slices.ContainsFunc(names, isPath) {
		return library, names, nil
	}
	if len(names) > 1 {
		return library, nil, usage.Errorf("%s is a folder or a file: give it alone, or only names of the workshop's scenarios", names[slices.IndexFunc(names, isPath)])
	}
	info, err := os.Stat(names[0])
	if err != nil {
		return library, nil, usage.Errorf("there are no scenarios at %s: %v", names[0], errors.Unwrap(err))
	}
	folder, pattern := names[0], "*.txtar"
	if !info.IsDir() {
		folder, pattern = filepath.Split(filepath.Clean(names[0]))
	}
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) == 0 {
		return library, nil, usage.Errorf("there is no .txtar file in %s", names[0])
	}
	library.Files, library.Ordered, library.Apart = os.DirFS(cmp.Or(folder, ".")), nil, nil
	for _, file := range found {
		library.Ordered = append(library.Ordered, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}
	return library, library.Ordered, nil
}

func isPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || name == "." || filepath.Ext(name) == ".txtar"
}

// names are those of the workshop's scenarios.
func names(a *cmdutil.App) cmdutil.Candidates {
	return func(context.Context) ([]string, error) {
		library, _, err := libraryOf(a)
		return library.Names(), err
	}
}

func asUsage(err error) error {
	var unknown *scenarios.UnknownError
	if errors.As(err, &unknown) {
		return usage.New(err.Error())
	}
	return err
}
