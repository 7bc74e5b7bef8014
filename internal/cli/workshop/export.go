package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/platform"
	"github.com/spf13/cobra"
)

// ExportOptions are those of `kalypso workshop export`.
type ExportOptions struct {
	*cmdutil.App
	To           string
	Repositories []string
	Generated    bool
	Output       cmdutil.Output
}

func newExport(a *cmdutil.App, run func(context.Context, *ExportOptions) error) *cobra.Command {
	o := &ExportOptions{App: a}
	c := &cobra.Command{
		Use:   "export --to DIR",
		Short: "Bring home what was changed in the sandbox, as patches",
		Long: `Write what was committed in the sandbox since it came up, per repository and branch, as
patches: DIR/REPOSITORY/BRANCH/0001-SUBJECT.patch. They have the addresses of the
original, and apply to a clone of it, on the branch as it was copied:

    git am --keep-cr --keep-non-patch DIR/REPOSITORY/BRANCH/*.patch

A branch that is new in the sandbox and not merged yet comes as well, for the branch
that it began with. The commits of a merged pull request come one by one, with their
authors; where they do not apply one after the other, the merge is one patch. What the
scheduler has committed
stays behind, and so do the repositories that clusters follow: the original's own
scheduler makes that anew. --generated takes it along.`,
		Example: `  kalypso workshop export --to patches
  kalypso workshop export --to patches --only control-plane`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	flags := c.Flags()
	flags.StringVar(&o.To, "to", "", "the `DIR` for the patches, a new one")
	flags.StringSliceVar(&o.Repositories, "only", nil, "the `REPOSITORIES` that are wanted")
	flags.BoolVar(&o.Generated, "generated", false, "take along what the scheduler has committed, and what clusters follow")
	o.Output.AddTo(c, "text", "json")
	return c
}

func export(ctx context.Context, o *ExportOptions) error {
	if o.To == "" {
		return usage.New("where to? Name a new folder with --to DIR")
	}
	home, err := o.Home()
	if err != nil {
		return err
	}
	status, err := sandbox.GetStatus(ctx, home)
	if err != nil {
		return err
	}
	if !status.Running {
		return errors.New("the sandbox is not up: run `kalypso up`")
	}
	credentials, err := sandbox.GetCredentials(home)
	if err != nil {
		return err
	}
	state, err := home.Load()
	if err != nil {
		return err
	}
	at := workshop.On(state.OrgURL())
	exported, err := platform.Export(ctx, platform.ExportOptions{
		Workshop: state.Spec(), Organisation: at.Repositories, Registry: at.Images,
		Repositories: o.Repositories, Generated: o.Generated, To: o.To,
		Credentials: func(string) (string, string) {
			return credentials.User, cmp.Or(credentials.Token, credentials.Password)
		},
	})
	if err != nil {
		return err
	}
	return o.Output.Print(o.App, exported, func() error { o.print(exported); return nil })
}

func (o *ExportOptions) print(e *platform.Exported) {
	for _, n := range e.Notes {
		o.Messagef("note: %s", n)
	}
	if len(e.Series) == 0 {
		o.Messagef("Nothing was changed.")
		return
	}
	for _, s := range e.Series {
		from := ""
		if s.From != "" {
			from = fmt.Sprintf(", new: git switch -c %s %s, as that was copied", s.Branch, s.From)
		}
		fmt.Fprintf(o.Out, "%s, branch %s%s\n", s.Repository, s.Branch, from)
		for _, p := range s.Patches {
			fmt.Fprintf(o.Out, "  %s\n", p)
		}
		for _, commit := range s.Squashed {
			fmt.Fprintf(o.Out, "  the merge %.8s is one patch: its commits do not apply one after the other\n", commit)
		}
	}
	fmt.Fprintf(o.Out, "\nIn a clone, on the branch as it was copied:\n  git am --keep-cr --keep-non-patch %s\n", strings.Join([]string{o.To, "REPOSITORY", "BRANCH", "*.patch"}, "/"))
}
