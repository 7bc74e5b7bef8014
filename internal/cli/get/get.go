// Package get has the command that lists what a platform model says.
package get

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/hub"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/view"
	"github.com/spf13/cobra"
)

// Options are those of `kalypso get`.
type Options struct {
	*cmdutil.App
	Model  cmdutil.ModelFlags
	Hub    hub.ClientFlags
	Kind   *view.Kind
	Name   string // "" for all
	Output cmdutil.Output
}

// NewCommand makes `kalypso get`.
func NewCommand(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "get KIND [NAME]",
		Short: "List what the platform model says",
		Long: `List the objects of the platform model, as the scheduler understands them.
Without -e those of all environments are listed.

Kinds, with their other names:
` + view.KindsHelp() + `
An assignment is a deployment target on a cluster type, and a placement is one on a
cluster: what should run there, by git, and what does. NAME is CLUSTER/TARGET. Drift
is what does not run as git says, one line for all of the same cause; NAME is a
state. The worst are first:
  failing    the cluster cannot apply it, or it is not healthy
  missing    the cluster has the commit, and the object is not there
  extra      it is there, and nothing in git asks for it
  edited     it differs from the commit that it has
  late       it has been rolling for 10 minutes, or three intervals of its reconciler
  suspended  it is set to not follow its branch
  unknown    the cluster cannot be asked, or its commit is none of the branch
  rolling    the commit is not there yet, or not healthy yet; no drift
  ok         it has the commit or a later one, and is healthy
The clusters are those of the sandbox whose control plane is read, else those that
"kalypso ci wait-for-deployment" asks: see the variables in "kalypso ci --help".

Changes are what a hub knows: pull requests to the branches that clusters follow, and
how far each has come. The newest 100 are listed; NAME is a number.
` + hub.ClientHelp + `

Outputs:
  text  a table
  wide  a table with labels and where each object stands; of drift the clusters and
        targets, of changes the reason and the URL
  json  a list of objects with "environment", "name", "labels", "position" and
        "spec", or what else the kind has
  yaml  the same

Exits with
  0  also when there is nothing to list
  1  when there is no object of the NAME
` + cmdutil.ModelHelp,
		Example: `  kalypso get clustertypes -e qa
  kalypso get assignments -o wide --control-plane .
  kalypso get configs dev-config -e dev -o yaml
  kalypso get placements -e dev
  kalypso get drift -o wide
  kalypso get changes -e dev
  kalypso get targets -o json --control-plane https://git.example.com/acme/control-plane`,
		Args:      kindAndName,
		ValidArgs: view.KindNames(),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Kind, err = view.FindKind(args[0]); err != nil {
				return err
			}
			if len(args) == 2 {
				o.Name = args[1]
			}
			return run(c.Context(), o)
		},
	}
	o.Model.Register(a, c, "all")
	o.Hub.Register(c)
	o.Output.AddTo(c, "text", "wide", "json", "yaml")
	return c
}

// kindAndName checks the arguments.
func kindAndName(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage.Errorf("which kind? Choose one of %s\nSee `%s --help`.", strings.Join(view.KindNames(), ", "), c.CommandPath())
	}
	return cmdutil.RangeArgs(1, 2)(c, args)
}

// Run lists the objects of a kind.
func Run(ctx context.Context, o *Options) error {
	list, err := o.list(ctx)
	if err != nil {
		return err
	}
	if o.Name != "" && !o.Kind.Hub {
		if list, err = list.Named(o.Name); err != nil {
			return err
		}
	}
	if len(list.Rows) == 0 {
		are := "are"
		if !strings.HasSuffix(o.Kind.Name, "s") { // drift
			are = "is"
		}
		o.Messagef("There %s no %s%s.", are, o.Kind.Name, list.Where())
	}
	return o.Output.Print(o.App, list.Documents(), func() error {
		var table strings.Builder
		if err := list.Table(&table, o.Output.String() == "wide"); err != nil {
			return err
		}
		_, err := io.WriteString(o.Out, redact.Text(table.String()))
		return err
	})
}

func (o *Options) list(ctx context.Context) (*view.Listing, error) {
	if o.Kind.Hub {
		return o.changes(ctx)
	}
	w, err := o.Model.Open(ctx, o.App)
	if err != nil {
		return nil, err
	}
	return o.collect(ctx, w)
}

// collect lists a kind in the environments that were asked for. What may be
// missing from the list, and why, is a message.
func (o *Options) collect(ctx context.Context, w *source.Platform) (*view.Listing, error) {
	if o.Kind.Environments {
		all, err := w.Environments(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range all.Diagnostics {
			o.Messagef("%s: %s: %s", d.Position, d.Severity, d.Message)
		}
		list := &view.Listing{Kind: o.Kind}
		for _, object := range all.Objects {
			if o.Model.Environment == "" || o.Model.Environment == object.Name {
				list.Rows = append(list.Rows, view.EnvironmentRow(object))
			}
		}
		return list, nil
	}
	names, err := o.Model.Several(ctx, w)
	if err != nil {
		return nil, err
	}
	var snapshot fleet.Snapshot
	if o.Kind.Clusters {
		if snapshot, err = o.inventory(ctx); err != nil {
			return nil, err
		}
		followers := driver.NewFollowers(w)
		for i := range snapshot.Clusters {
			followers.Resolve(ctx, &snapshot.Clusters[i])
		}
	}
	list := &view.Listing{Kind: o.Kind, Environments: names}
	for _, name := range names {
		env, err := w.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		if n := len(model.Errors(env.Diagnostics)); n > 0 {
			o.Messagef("note: environment %s has %s, so something may be missing here; `kalypso plan -e %s` says what is wrong", name, cmdutil.Count(n, "error"), name)
		}
		if o.Kind.Clusters {
			rows, err := o.Kind.ClusterRows(ctx, w, env, snapshot)
			if err != nil {
				return nil, err
			}
			list.Rows = append(list.Rows, rows...)
			continue
		}
		p := view.Plan{Model: env}
		if o.Kind.Planned {
			if p.Plan, err = plan.New(ctx, env, nil); err != nil {
				return nil, err
			}
		}
		list.Rows = append(list.Rows, o.Kind.Rows(p)...)
	}
	return list, nil
}

// inventory is what the clusters follow: those of the sandbox, where its control plane is
// read, else those that the variables name.
func (o *Options) inventory(ctx context.Context) (fleet.Snapshot, error) {
	reader, err := o.fleet()
	if err != nil {
		return fleet.Snapshot{}, err
	}
	all, err := reader.Inventory(ctx)
	if err == nil {
		return all, nil
	}
	known := &source.Error{Hint: ci.Hint(err)}
	if errors.Is(err, ci.ErrDenied) {
		known.Err = source.ErrCredentials
	}
	return fleet.Snapshot{}, cmdutil.Classify(err, known)
}

func (o *Options) fleet() (fleet.Reader, error) {
	if o.Model.ControlPlane != "" {
		e := ci.ReadEnvironment(os.Getenv)
		e.Arc.Report = o.ReportAzureWait
		return e.Observer()
	}
	home, err := o.Home()
	if err != nil {
		return nil, err
	}
	return sandbox.Fleet(home)
}
