package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

func newUp(a *app) *cobra.Command {
	o := sandbox.Options{Version: version}
	c := &cobra.Command{
		Use:   "up",
		Short: "Bring the sandbox up, or back up",
		Long: `Bring the sandbox up: a git forge with the workshop's repositories, Kubernetes
clusters with Flux or Argo CD and a node each, and the scheduler. On a sandbox
that is up it changes nothing; on one that is half up it starts what is missing.
Interrupting it leaves the sandbox to go on starting.

The sandbox lives in ~/.kalypso, or in the folder that KALYPSO_HOME names.`,
		Args: onlyArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			o.Home = home
			return a.up(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Workshop, "workshop", "", "the tutorial whose repositories and clusters are wanted (default "+sandbox.DefaultWorkshop+")")
	return c
}

func (a *app) up(ctx context.Context, o sandbox.Options) error {
	began := time.Now()
	a.talk("Bringing up the sandbox in %s", o.Home)
	p := newProgress(a.err, began)
	o.Progress = p.show
	status, err := sandbox.Up(ctx, o)
	p.end()
	var failed *sandbox.FailedError
	switch {
	case errors.As(err, &failed):
		a.lastWords(failed)
		a.talk("\nThe rest goes on. `kalypso doctor` looks for causes; after mending, run `kalypso up` again.")
		return err
	case ctx.Err() != nil:
		a.talk("Interrupted; the sandbox goes on starting. `kalypso status` tells, `kalypso down` stops it.")
		return &silentError{err}
	case err != nil:
		return err
	}
	took := time.Since(began)
	if p.changed {
		a.talk("Ready in %.1f s.", took.Seconds())
	} else {
		a.talk("Already up; nothing changed (%.2f s).", took.Seconds())
	}
	if status.Version != o.Version {
		a.talk("The sandbox runs kalypso %s and this is %s: `kalypso down`, then `kalypso up`, moves it over.", status.Version, o.Version)
	}
	a.talk("")
	a.talk("  Forge     %s/%s   (user %s; password: kalypso credentials)", status.ForgeURL, sandbox.Organisation, status.User)
	away := stoppedClusters(status)
	for _, name := range status.Clusters {
		if away[name] {
			a.talk("  Stopped   cluster %s; `kalypso start %s` brings it back", name, name)
			continue
		}
		a.talk("  Cluster   kalypso kubectl --context %s get ns", name)
	}
	for _, c := range status.Components {
		if strings.HasPrefix(c.Name, "argocd-") && !c.Held {
			a.talk("  Argo CD   %s   (user admin; password: kalypso credentials)", c.URL)
		}
	}
	a.talk("  Next      kalypso scenario list")
	return nil
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

func newDown(a *app) *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop the sandbox; with --delete remove it",
		Args:  onlyArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			began := time.Now()
			p := newProgress(a.err, began)
			did, err := sandbox.Down(c.Context(), home, remove, p.show)
			p.end()
			if err != nil {
				return err
			}
			switch {
			case !did:
				a.talk("Nothing to do: no sandbox runs in %s.", home)
			case remove:
				a.talk("Removed the sandbox in %s (%.1f s).", home, time.Since(began).Seconds())
			default:
				a.talk("Stopped (%.1f s). `kalypso up` brings everything back; `kalypso down --delete` removes it.", time.Since(began).Seconds())
			}
			return nil
		},
	}
	c.Flags().BoolVar(&remove, "delete", false, "also delete everything the sandbox has made")
	return c
}

func newDaemon() *cobra.Command {
	var workshop string
	c := &cobra.Command{
		Use:    "daemon",
		Short:  "The sandbox's supervisor; started by up",
		Hidden: true,
		Args:   onlyArgs(),
		RunE: func(*cobra.Command, []string) error {
			home, err := sandbox.FindHome()
			if err != nil {
				return err
			}
			if err := sandbox.RunDaemon(home, workshop, version); err != nil {
				return fmt.Errorf("daemon: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&workshop, "workshop", sandbox.DefaultWorkshop, "workshop of a new sandbox")
	return c
}
