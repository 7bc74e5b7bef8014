package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// DefaultWorkshop is what `kalypso up` brings by default.
const DefaultWorkshop = "hello-world"

// workshopFolder has the workshop of a sandbox that does not come with kalypso, as
// it was when the sandbox was made: what reset goes back to.
const workshopFolder = "workshop"

// WorkshopDir is the folder of a workshop that does not come with kalypso.
func (h Home) WorkshopDir() string { return h.Path(workshopFolder) }

// readWorkshop returns the workshop of a sandbox.
func (h Home) readWorkshop(s *State) (*workshop.Workshop, error) {
	if s.Origin == "" {
		return workshop.OpenBuiltin(s.Workshop)
	}
	w, err := workshop.Read(h.WorkshopDir())
	if err != nil {
		return nil, fmt.Errorf("the workshop that the sandbox was made of: %w", err)
	}
	return w, nil
}

// keepWorkshop copies the workshop of a new sandbox to its home. A cut leaves it
// whole or absent.
func (h Home) keepWorkshop(ctx context.Context, c Choice, s *State) error {
	if s.Origin == "" {
		return nil
	}
	fresh := h.Path("." + workshopFolder)
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(h.WorkshopDir())); err != nil {
		return err
	}
	if err := s.workshop.Copy(ctx, fresh, c.Say); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	// what is fetched has not been looked into before
	if _, err := workshop.OpenFolder(fresh); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, h.WorkshopDir()); err != nil {
		return err
	}
	w, err := workshop.Read(h.WorkshopDir())
	s.workshop = w
	return err
}

// Open finds the workshop that a choice names, unless it comes with kalypso. What
// it had to fetch for that lies below scratch.
func (c *Choice) Open(ctx context.Context, scratch string) error {
	if c.Workshop == "" || slices.Contains(workshop.Builtin(), c.Workshop) {
		return nil
	}
	w, err := workshop.Open(ctx, c.Workshop, scratch)
	if err != nil {
		return err
	}
	c.opened, c.origin = w, c.Workshop
	if _, err := os.Stat(c.Workshop); err == nil {
		c.origin, err = filepath.Abs(c.Workshop)
		if err != nil {
			return err
		}
	}
	return nil
}

// Addresses are what the scheduler replaces in the files that it reads: the
// addresses of the workshop, which commits of before the sandbox have, and that of
// an organisation on GitHub that is called as the sandbox's is, as the tutorials
// write it in commands.
func (s *State) Addresses() map[string]string {
	to := s.workshop.AddressesAt(workshop.On(s.OrgURL()))
	to["https://github.com/"+Organisation] = s.OrgURL()
	return to
}

// Hub names the hub's port, its component and its folder, and HubDatabase the file in that
// which has its data.
const (
	Hub         = "hub"
	HubDatabase = "hub.db"
)

// Listener names the port of a cluster's reconciler.
func Listener(c workshop.Cluster) string { return string(c.Reconciler) + "-" + c.Name }

// listeners are the names of all ports that a sandbox with these clusters keeps.
func listeners(clusters []workshop.Cluster) []string {
	names := []string{"gitea", "scheduler", "notifier", "arm", "runner", Hub}
	for _, c := range clusters {
		names = append(names, c.Name, Listener(c))
	}
	return names
}

// CheckName returns a *usage.Error for a name that is not among the known ones,
// with the nearest of them.
func CheckName(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	near := ""
	if n := model.Nearest(name, known); n != "" {
		near = ", did you mean " + n + "?"
	}
	return usage.Errorf("there is no %s %q%s\nChoose one of %s", what, name, near, joined(known))
}

func joined(names []string) string { return strings.Join(names, ", ") }
