// Package rollout has the commands about rollouts in waves.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
	"github.com/kalypso-dev/kalypso/scheduler/rollout/driver"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// Options are those of the commands below `kalypso rollout`.
type Options struct {
	*cmdutil.App
	Command     rollout.Command // of a command that changes a rollout
	Name        string          // of a Rollout or of its cluster type; "" for all
	Environment string
	Config      string
	Reason      string
	Output      cmdutil.Output
}

const where = `
The rollouts are those of the control planes that --config names, which is a
scheduler's configuration or a hub's, or of the running sandbox's. NAME is that of
the Rollout or of its cluster type.`

// NewCommand makes `kalypso rollout`.
func NewCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group(&cobra.Command{
		Use:   "rollout",
		Short: "Rollouts in waves: how far they are, pause, resume, promote, abort",
		Long: `Rollouts bring what is merged for a cluster type to its clusters in waves, as a
Rollout in the control plane says. All of their state is in the GitOps repository;
these commands read and write it there, and need no scheduler that runs.
` + where,
	},
		newStatus(a, Status),
		newAssign(a, Assign),
		newOrder(a, rollout.Pause, "Let no further wave begin", `Let no further wave begin. Waves that have the commit keep it.`, Give),
		newOrder(a, rollout.Resume, "Go on with a rollout that is paused, stopped or aborted", `Go on with a rollout that a user has paused, or that has stopped since too many
clusters failed. One that was aborted begins anew with the first wave.`, Give),
		newOrder(a, rollout.Promote, "Go on from the present wave without waiting", `Go on from the present wave without waiting for its soak or for a window. Its
clusters have to be well all the same.`, Give),
		newOrder(a, rollout.Abort, "Give a commit up: all waves go back to the last good one", `Give the commit up that is rolled out. All waves get the last commit back that all
of them have had, at once, by a commit on each wave's branch. They stay there until
the environment's branch has a newer commit, or until the rollout is resumed.`, Give),
	)
}

func (o *Options) register(c *cobra.Command) {
	c.Flags().StringVarP(&o.Environment, "environment", "e", "", "the `ENVIRONMENT` (default the one that has the rollout, or all)")
	c.Flags().StringVar(&o.Config, "config", "", "scheduler's or hub's configuration `FILE` with the forge and the control planes (default the running sandbox's)")
}

func newStatus(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a}
	c := &cobra.Command{
		Use:   "status [NAME]",
		Short: "How far rollouts are, and what they wait for",
		Long: `Show for each rollout which commit it brings to the clusters, how many clusters of
each wave are well with it, and what it waits for. Nothing is written: what is due
the scheduler does.

The clusters are those that the scheduler sees, by observe in its configuration.
-o json and yaml list each cluster with its reason.
` + where,
		Example: `  kalypso rollout status
  kalypso rollout status large -e dev -o json`,
		Args: cmdutil.RangeArgs(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = strings.Join(args, "")
			return run(c.Context(), o)
		},
	}
	o.register(c)
	o.Output.AddTo(c, "text", "json", "yaml")
	return c
}

func newOrder(a *cmdutil.App, command rollout.Command, short, long string, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{App: a, Command: command}
	c := &cobra.Command{
		Use:     string(command) + " NAME",
		Short:   short,
		Long:    long + "\n" + where,
		Example: fmt.Sprintf("  kalypso rollout %s large -e dev", command),
		Args:    cmdutil.ExactArgs("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.register(c)
	c.Flags().StringVar(&o.Reason, "reason", "", "`TEXT` that the status shows")
	return c
}

// platform is where rollouts are: environments of control planes on one forge.
type platform struct {
	config       controller.Config
	forge        controller.Repositories
	user         string
	environments []driver.Environment // that have rollouts, each with those that are asked for
}

// find reads the environments, and what they say of the rollouts that are asked for.
func (o *Options) find(ctx context.Context) (*platform, error) {
	p, err := o.connect()
	if err != nil {
		return nil, err
	}
	var known []string
	found := false
	for _, plane := range p.config.Planes() {
		at := model.Reference{Repo: plane.Repo, Branch: plane.Branch, Path: plane.Path}
		if at.Branch == "" {
			at.Branch = "main"
		}
		tree, err := p.forge.Read(ctx, at)
		if err != nil {
			return nil, ofForge(err)
		}
		objects, _ := model.LoadEnvironments(tree, at.Path)
		for _, object := range objects {
			if known = append(known, object.Name); o.Environment != "" && object.Name != o.Environment {
				continue
			}
			found = true
			ref := object.Spec.ControlPlane
			env, err := model.LoadEnvironment(ctx, p.forge, object.Name, model.Reference{Repo: ref.Repo, Branch: ref.Branch, Path: ref.Path}, model.Tolerant(controller.Unreadable))
			if err != nil {
				return nil, ofForge(err)
			}
			one := driver.Of(env)
			one.Rollouts = slices.DeleteFunc(one.Rollouts, func(r model.Rollout) bool {
				return o.Name != "" && r.Name != o.Name && r.Spec.ClusterType != o.Name
			})
			if len(one.Rollouts) > 0 {
				p.environments = append(p.environments, one)
			}
		}
	}
	switch {
	case !found && o.Environment != "":
		return nil, usage.Errorf("there is no environment %s: choose one of %s", o.Environment, strings.Join(known, ", "))
	case o.Name != "" && len(p.environments) == 0:
		return nil, usage.Errorf("there is no Rollout %s, and none for a cluster type of that name: see `kalypso rollout status`, and `kalypso validate` for one with mistakes", o.Name)
	}
	return p, nil
}

// one is the one rollout that is asked for.
func (p *platform) one(name string) (driver.Environment, model.Rollout, error) {
	var in []string
	for _, e := range p.environments {
		in = append(in, e.Name)
	}
	switch {
	case len(in) > 1:
		return driver.Environment{}, model.Rollout{}, usage.Errorf("which environment? Give -e: %s", strings.Join(in, " or "))
	case len(p.environments[0].Rollouts) > 1:
		return driver.Environment{}, model.Rollout{}, usage.Errorf("%s is the name of a Rollout and of another one's cluster type: rename the Rollout", name)
	}
	return p.environments[0], p.environments[0].Rollouts[0], nil
}

// connect opens the forge: in the sandbox as its user, elsewhere as the configuration's
// account.
func (o *Options) connect() (*platform, error) {
	log := slog.New(slog.NewTextHandler(o.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p := &platform{user: "somebody"}
	var err error
	if o.Config != "" {
		if p.config, err = hub.LoadScheduler(o.Config); err != nil {
			return nil, err
		}
		if who, err := user.Current(); err == nil {
			p.user = who.Username
		}
		p.forge, err = p.config.Connect(log, nil)
		return p, err
	}
	home, err := o.Home()
	if err != nil {
		return nil, err
	}
	p.config, err = controller.LoadOnceConfig(sandbox.HubScheduler(home))
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage.New("which forge? Name a configuration with --config FILE, or run `kalypso up` to use the sandbox's")
	}
	if err != nil {
		return nil, err
	}
	c, err := sandbox.GetCredentials(home)
	if err != nil {
		return nil, err
	}
	p.user = c.User
	p.forge, err = p.config.ConnectAs(strings.TrimSpace(c.Token), c.User, log)
	return p, err
}

// driver is one that looks, and makes no commits of its own.
func (p *platform) driver() *driver.Driver {
	return driver.New(driver.Options{Forge: p.forge, Fleet: p.config.Fleet(), ReadOnly: true})
}

// Give tells a rollout what a user wants.
func Give(ctx context.Context, o *Options) error {
	p, err := o.find(ctx)
	if err != nil {
		return err
	}
	env, r, err := p.one(o.Name)
	if err != nil {
		return err
	}
	order := rollout.Order{By: p.user, At: time.Now().UTC().Truncate(time.Second), Reason: o.Reason}
	subject, err := driver.New(driver.Options{Forge: p.forge}).Give(ctx, o.Command, env, r, order)
	if err != nil {
		return ofForge(err)
	}
	_, err = fmt.Fprintf(o.Out, "rollout %s of environment %s: %s\n", r.Name, env.Name, subject)
	return err
}

// ofForge marks the error of a forge that has refused the account.
func ofForge(err error) error {
	if errors.Is(err, gitclient.ErrDenied) {
		return cmdutil.Classify(err, &source.Error{Err: source.ErrCredentials, Hint: "the token must be allowed to read the control plane, and to push to the GitOps repository"})
	}
	return err
}
