package up

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/status"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func NewCommand(a *cmdutil.App) *cobra.Command {
	o := sandbox.Options{Version: a.Version}
	c := &cobra.Command{
		Use:   "up",
		Short: "Bring the sandbox up, or back up",
		Long: `Bring the sandbox up: a git forge with the workshop's repositories, Kubernetes
clusters with Flux or Argo CD and a node each, and the scheduler. On a sandbox
that is up it changes nothing; on one that is half up it starts what is missing.
Interrupting it leaves the sandbox to go on starting.

With --cluster drone=CONTEXT it uses a cluster that you have, in place of one
that it would make. It looks at the cluster before it changes anything, notes
what it puts there, and ` + "`kalypso down`" + ` takes just that off again.

The sandbox lives in ~/.kalypso, or in the folder that KALYPSO_HOME names.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := a.Home()
			if err != nil {
				return err
			}
			o.Home = home
			return up(a, c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Workshop, "workshop", "", "the tutorial whose repositories and clusters are wanted (default "+sandbox.DefaultWorkshop+")")
	choose(c, &o.Choice)
	return c
}

// contexts is the flag --cluster, which may be repeated.
type contexts struct{ of *map[string]string }

func (c contexts) String() string { return "" }
func (c contexts) Type() string   { return "NAME=CONTEXT" }

func (c contexts) Set(text string) error {
	name, context, ok := strings.Cut(text, "=")
	if !ok || name == "" || context == "" {
		return errors.New("write NAME=CONTEXT, such as drone=my-cluster: the tutorial's name of the cluster, and the context in your kubeconfig that leads to yours")
	}
	if has, twice := (*c.of)[name]; twice && has != context {
		return fmt.Errorf("%s is given twice, as %s and as %s", name, has, context)
	}
	if *c.of == nil {
		*c.of = map[string]string{}
	}
	(*c.of)[name] = context
	return nil
}

// choose adds the flags that say how a sandbox gets its clusters.
func choose(c *cobra.Command, o *sandbox.Choice) {
	c.Flags().StringVar(&o.Provider, "provider", "", "how the clusters are made: "+strings.Join(sandbox.Providers(), " or ")+", which needs Docker or podman (default "+sandbox.ProviderEmbedded+")")
	c.Flags().StringVar(&o.Image, "image", "", "the image of kind's nodes (default: what make kind-node-image has built, or kind's own)")
	c.Flags().Var(contexts{&o.Contexts}, "cluster", "use a cluster that you have, by its context in your kubeconfig; may be repeated")
}

func up(a *cmdutil.App, ctx context.Context, o sandbox.Options) error {
	began := time.Now()
	a.Messagef("Bringing up the sandbox in %s", o.Home)
	p := cmdutil.NewProgress(a.Err, began)
	o.Progress = p.Show
	o.Say = func(step string) { a.Messagef("  %s", step) }
	status, err := sandbox.Up(ctx, o)
	p.End()
	var failed *sandbox.FailedError
	switch {
	case errors.As(err, &failed):
		a.PrintLogTails(failed)
		a.Messagef("\nThe rest goes on. `kalypso doctor` looks for causes; after mending, run `kalypso up` again.")
		return err
	case ctx.Err() != nil:
		a.Messagef("Interrupted; the sandbox goes on starting. `kalypso status` tells, `kalypso down` stops it.")
		return cmdutil.Silent(err)
	case err != nil:
		return err
	}
	took := time.Since(began)
	if p.Changed {
		a.Messagef("Ready in %.1f s.", took.Seconds())
	} else {
		a.Messagef("Already up; nothing changed (%.2f s).", took.Seconds())
	}
	if status.Version != o.Version {
		a.Messagef("The sandbox runs kalypso %s and this is %s: `kalypso down`, then `kalypso up`, moves it over.", status.Version, o.Version)
	}
	a.Messagef("")
	a.Messagef("  Forge     %s/%s   (user %s; password: kalypso credentials)", status.ForgeURL, sandbox.Organisation, status.User)
	away, given := stoppedClusters(status), existingClusters(status)
	for _, name := range status.Clusters {
		if away[name] {
			a.Messagef("  Stopped   cluster %s; `kalypso start %s` brings it back", name, name)
			continue
		}
		a.Messagef("  Cluster   kalypso kubectl --context %s get ns%s", name, given[name])
	}
	for _, c := range status.Components {
		if strings.HasPrefix(c.Name, "argocd-") && !c.Held && c.URL != "" {
			a.Messagef("  Argo CD   %s   (user admin; password: kalypso credentials)", c.URL)
		}
	}
	a.Messagef("  Next      kalypso scenario list")
	return nil
}

// existingClusters are those that the person has given, with what is to be said
// of them.
func existingClusters(s *sandbox.Status) map[string]string {
	all := map[string]string{}
	for _, c := range s.Existing {
		all[c.Name] = fmt.Sprintf("   (yours, context %s; %s)", c.Context, status.ReconcilerOf(s, c))
	}
	return all
}

// stoppedClusters are those that `kalypso stop` has stopped.
func stoppedClusters(s *sandbox.Status) map[string]bool {
	away := map[string]bool{}
	for _, c := range s.Components {
		if c.Held {
			away[c.Group] = true
		}
	}
	return away
}

func NewDownCommand(a *cmdutil.App) *cobra.Command {
	var remove, forget bool
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop the sandbox; with --delete remove it",
		Long: `Stop the sandbox; ` + "`kalypso up`" + ` brings everything back. From clusters that you
have given with --cluster it takes what it has put there. When one does not
answer, that stays until the next ` + "`kalypso down`" + `.

With --delete it also deletes everything that the sandbox has made, and nothing
else. As long as something is left on a cluster of yours that the kubeconfig
still leads to, nothing is deleted. The same goes for kind clusters whose
container engine does not answer; --forget gives them up.`,
		Args: cmdutil.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if forget && !remove {
				return usage.New("--forget is for --delete: what is only stopped is not forgotten")
			}
			home, err := a.Home()
			if err != nil {
				return err
			}
			began := time.Now()
			p := cmdutil.NewProgress(a.Err, began)
			did, err := sandbox.Down(c.Context(), sandbox.DownOptions{
				Home: home, Delete: remove, Forget: forget, Progress: p.Show,
				Say:  func(step string) { p.End(); a.Messagef("  %s", step) },
				Note: func(note string) { p.End(); a.Messagef("  %s", note) },
			})
			p.End()
			if err != nil {
				return err
			}
			switch {
			case !did:
				a.Messagef("Nothing to do: no sandbox runs in %s.", home)
			case remove:
				a.Messagef("Removed the sandbox in %s (%.1f s).", home, time.Since(began).Seconds())
			default:
				a.Messagef("Stopped (%.1f s). `kalypso up` brings everything back; `kalypso down --delete` removes it.", time.Since(began).Seconds())
			}
			return nil
		},
	}
	c.Flags().BoolVar(&remove, "delete", false, "also delete everything the sandbox has made")
	c.Flags().BoolVar(&forget, "forget", false, "give up clusters whose container engine is gone for good")
	return c
}

func NewDaemonCommand(a *cmdutil.App) *cobra.Command {
	var workshop string
	var choice sandbox.Choice
	c := &cobra.Command{
		Use:    "daemon",
		Short:  "The sandbox's supervisor; started by up",
		Hidden: true,
		Args:   cmdutil.ExactArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := sandbox.FindHome()
			if err != nil {
				return err
			}
			if err := sandbox.RunDaemon(home, workshop, choice, a.Version); err != nil {
				return fmt.Errorf("daemon: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&workshop, "workshop", sandbox.DefaultWorkshop, "workshop of a new sandbox")
	choose(c, &choice)
	c.Flags().StringArrayVar(&choice.Kubeconfig, "kubeconfig", nil, "a file of the kubeconfig with the contexts; may be repeated")
	return c
}
