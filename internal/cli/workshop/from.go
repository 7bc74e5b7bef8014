package workshop

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/platform"
	"github.com/spf13/cobra"
)

// FromOptions are those of `kalypso workshop from`.
type FromOptions struct {
	*cmdutil.App
	platform.Options
	Output cmdutil.Output

	names, clusters []string
	node            string
}

func newFrom(a *cmdutil.App, run func(context.Context, *FromOptions) error) *cobra.Command {
	o := &FromOptions{App: a}
	c := &cobra.Command{
		Use:   "from --control-plane DIR_OR_URL",
		Short: "Make a workshop of a platform that there is",
		Long: `Read a control plane on the branches of its environments, and copy it with all that
its model names into a workshop's folder: base repositories, the repositories of
workloads, GitOps repositories, and those of manifests. The copies have all
branches and their history. ` + "`kalypso up --workshop DIR`" + ` then runs the platform
on this machine; nothing is written to the originals.

Repositories are read from the clones that are given, by the addresses of their
remotes, else from their servers with the credentials that git has. A server that is
neither the control plane's nor that of a clone is asked when --allow-host names it.

In the sandbox, the addresses of the repositories are those of its forge, in the model
and in all other files. What still points out is listed with file and line: charts,
images, actions, repositories of others. Secrets are not copied: those that workflows
name have values of the sandbox. A workload that cannot be read is left out.

Each cluster type that something is assigned to gets a cluster, with the reconciler
that its templates are for. Pods run on simulated nodes, unless --node real says that
their images can be had.`,
		Example: `  kalypso workshop from --control-plane . --clone ../templates --clone ../app
  kalypso workshop from --control-plane https://git.example.com/acme/control-plane --environments dev,stage --depth 1
  kalypso workshop from --control-plane . --cluster-types edge --clusters store=3 --out acme`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	flags := c.Flags()
	flags.StringVar(&o.ControlPlane, "control-plane", "", "`DIR_OR_URL` of the control plane: a clone, a bundle or a git URL")
	flags.StringVar(&o.Branch, "branch", "", "`BRANCH` of the control plane with the Environment objects (default its default branch)")
	flags.StringSliceVar(&o.Environments, "environments", nil, "the `ENVIRONMENTS` that are wanted, in order of promotion (default all)")
	flags.StringVar(&o.Options.Out, "out", "", "the workshop's `DIR` (default the control plane's name and -workshop)")
	flags.StringArrayVar(&o.Clones, "clone", nil, "read a clone or a bundle, `[URL=]PATH`, in place of its remote; may be repeated")
	flags.StringArrayVar(&o.names, "name", nil, "call a repository otherwise in the sandbox, `URL=NAME`; may be repeated")
	flags.IntVar(&o.Depth, "depth", 0, "how many commits of each branch are copied (default all)")
	flags.StringSliceVar(&o.ClusterTypes, "cluster-types", nil, "the cluster `TYPES` that get a cluster (default those in use)")
	flags.StringSliceVar(&o.clusters, "clusters", nil, "how many clusters a type gets, `TYPE=NUMBER`")
	flags.StringVar(&o.node, "node", string(workshop.SimulatedNode), "what runs pods: simulated, real or none")
	flags.StringArrayVar(&o.AllowedHosts, "allow-host", nil, "read repositories on `HOST` too, or HOST:PORT, where the model names them; may be repeated")
	cmdutil.CompleteFlag(c, "node", cmdutil.Known(string(workshop.SimulatedNode), string(workshop.RealNode), string(workshop.NoNode)))
	o.Output.AddTo(c, "text", "json")
	return c
}

// complete checks the flags, and fills in what follows from others.
func (o *FromOptions) complete(ctx context.Context) error {
	if o.ControlPlane == "" {
		return usage.New("which control plane? Name it with --control-plane DIR_OR_URL")
	}
	if o.Depth < 0 {
		return usage.Errorf("--depth %d: write a number from 1, or leave it out", o.Depth)
	}
	switch o.Node = workshop.Node(o.node); o.Node {
	case workshop.SimulatedNode, workshop.RealNode, workshop.NoNode:
	default:
		return usage.Errorf("--node %s: choose simulated, real or none", o.node)
	}
	o.Names, o.Clusters = map[string]string{}, map[string]int{}
	for _, n := range o.names {
		i := strings.LastIndex(n, "=")
		if i <= 0 || i == len(n)-1 {
			return usage.Errorf("--name %s: write URL=NAME", n)
		}
		o.Names[n[:i]] = n[i+1:]
	}
	for _, c := range o.clusters {
		name, number, _ := strings.Cut(c, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || name == "" {
			return usage.Errorf("--clusters %s: write TYPE=NUMBER, with a number from 1", c)
		}
		o.Clusters[name] = n
	}
	remotes, err := platform.Remotes(ctx, o.ControlPlane)
	if err != nil {
		return err
	}
	if o.Options.Out == "" {
		at, err := filepath.Abs(o.ControlPlane)
		if err != nil {
			return err
		}
		of := append(remotes, at)[0]
		if strings.Contains(o.ControlPlane, ":") {
			of = o.ControlPlane
		}
		o.Options.Out = strings.TrimSuffix(path.Base(source.Identity(of, at)), ".bundle") + "-workshop"
	}
	o.Credentials = o.GitCredentials(append(remotes, o.ControlPlane)...)
	return nil
}

func from(ctx context.Context, o *FromOptions) error {
	if err := o.complete(ctx); err != nil {
		return err
	}
	progress := cmdutil.NewProgress(o.Err)
	o.Progress = progress.Last
	report, err := platform.From(ctx, o.Options)
	progress.Clear()
	if err != nil {
		return err
	}
	return o.Output.Print(o.App, documentOf(o.Options.Out, report), func() error { o.print(report); return nil })
}

// document is what -o json prints.
type document struct {
	Folder       string             `json:"folder"`
	Environments []string           `json:"environments"`
	Repositories []string           `json:"repositories"`
	Clusters     []cluster          `json:"clusters"`
	Notes        []platform.Note    `json:"notes"`
	Outside      []platform.Outside `json:"outside"`
}

type cluster struct {
	Name       string              `json:"name"`
	Type       string              `json:"type"`
	Reconciler workshop.Reconciler `json:"reconciler"`
	Node       workshop.Node       `json:"node"`
}

func documentOf(folder string, r *platform.Report) document {
	d := document{
		Folder: folder, Environments: r.Workshop.ControlPlane.Environments,
		Repositories: []string{}, Clusters: []cluster{}, Notes: append([]platform.Note{}, r.Notes...), Outside: append([]platform.Outside{}, r.Outside...),
	}
	for _, one := range r.Workshop.Repositories {
		d.Repositories = append(d.Repositories, one.Name)
	}
	for _, c := range r.Workshop.Clusters {
		d.Clusters = append(d.Clusters, cluster{c.Name, c.Type, c.Reconciler, c.Node})
	}
	return d
}

func (o *FromOptions) print(r *platform.Report) {
	w := r.Workshop
	fmt.Fprintf(o.App.Out, "%s has %s, %s and %s.\n", o.Options.Out,
		counted(len(w.Repositories), "repository", "repositories"), counted(len(w.ControlPlane.Environments), "environment", "environments"), counted(len(w.Clusters), "cluster", "clusters"))
	for _, c := range w.Clusters {
		fmt.Fprintf(o.App.Out, "  %s: cluster type %s, %s, %s node\n", c.Name, c.Type, c.Reconciler, c.Node)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(o.App.Out, "\nNot as in the original:\n")
		for _, n := range r.Notes {
			fmt.Fprintf(o.App.Out, "  %s\n", n)
		}
	}
	for _, a := range w.Addresses {
		if a.Registry {
			fmt.Fprintf(o.App.Out, "  images of %s come from the sandbox's registry, which has them when a workflow has built them\n", a.From)
		}
	}
	if len(r.Outside) > 0 {
		fmt.Fprintf(o.App.Out, "\nPointing out of the sandbox:\n")
		for _, x := range r.Outside {
			fmt.Fprintf(o.App.Out, "  %s: %s %s\n", x.Position, x.Kind, x.Text)
		}
	}
	fmt.Fprintf(o.App.Out, "\nPromotion goes %s.\nNext: kalypso up --workshop %s\n", strings.Join(w.ControlPlane.Environments, ", "), location(o.Options.Out))
}

// location is a folder as `kalypso up` takes it: a name alone is that of a tutorial.
func location(dir string) string {
	if filepath.IsAbs(dir) || strings.ContainsRune(dir, filepath.Separator) {
		return dir
	}
	return "." + string(filepath.Separator) + dir
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
