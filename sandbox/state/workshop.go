package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
)

// DefaultWorkshop is what `kalypso up` brings by default.
const DefaultWorkshop = "hello-world"

// WorkshopFolder has the workshop of a sandbox that does not come with kalypso, as
// it was when the sandbox was made: what reset goes back to. newWorkshopFolder has
// one that is about to take its place.
const (
	WorkshopFolder    = "workshop"
	newWorkshopFolder = "." + WorkshopFolder
)

// readWorkshop returns the workshop of a sandbox.
func (h Home) readWorkshop(s *State) (*workshop.Workshop, error) {
	if s.Origin == "" {
		return workshop.OpenBuiltin(s.Workshop)
	}
	dir := h.Path(WorkshopFolder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		dir = h.incoming(WorkshopFolder)
	}
	w, err := workshop.Read(dir)
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
	dir := h.Path(WorkshopFolder)
	if err := errors.Join(h.CopyWorkshop(ctx, c), os.RemoveAll(dir)); err != nil {
		return err
	}
	if err := os.Rename(h.Path(newWorkshopFolder), dir); err != nil {
		return err
	}
	w, err := workshop.Read(dir)
	s.workshop = w
	return err
}

// CopyWorkshop copies the workshop that a choice has opened to the home, beside the
// one that is there.
func (h Home) CopyWorkshop(ctx context.Context, c Choice) error {
	dir := h.Path(newWorkshopFolder)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	err := c.opened.Copy(ctx, dir, c.Say)
	if err == nil {
		_, err = workshop.OpenFolder(dir) // what is fetched has not been looked into before
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// CheckRenewal returns a *usage.Error unless the choice has opened the workshop that
// the sandbox was made of, and each attached cluster is still one of that.
func (c *Choice) CheckRenewal(h Home) error {
	s, err := h.Load()
	if err != nil {
		return err
	}
	if c.opened == nil || c.origin != s.Origin {
		return usage.Errorf("the sandbox in %s was made of %s, and cannot begin again with another workshop: %s", h, cmp.Or(s.Origin, s.Workshop), h.removeHint())
	}
	for name := range s.Existing {
		if !slices.ContainsFunc(c.opened.Clusters, func(w workshop.Cluster) bool { return w.Name == name && w.Kind != workshop.VirtualCluster }) {
			return usage.Errorf("%s has no cluster %s any more, which is one of yours that was attached: %s", c.origin, name, h.removeHint())
		}
	}
	return nil
}

// StageWorkshop makes a staging folder with what CopyWorkshop has copied, for Replace.
func (h Home) StageWorkshop() (staged string, err error) {
	if staged, err = h.Stage("new-"); err != nil {
		return "", err
	}
	return staged, os.Rename(h.Path(newWorkshopFolder), h.Path(staged, WorkshopFolder))
}

// IsOutdated reports whether the sandbox was made of a folder that has other files
// now.
func (s *State) IsOutdated() bool {
	if info, err := os.Stat(s.Origin); err != nil || !info.IsDir() {
		return false
	}
	now, err := workshop.OpenFolder(s.Origin)
	return err != nil || !now.Equal(s.Spec())
}

// Open finds the workshop that a choice names, unless it comes with kalypso. What
// it had to fetch for that lies below scratch. The error is a *usage.Error for one
// that is not as it should be.
func (c *Choice) Open(ctx context.Context, scratch string) error {
	if c.Workshop == "" || slices.Contains(workshop.Builtin(), c.Workshop) {
		return nil
	}
	w, err := workshop.Open(ctx, c.Workshop, scratch)
	var wrong *workshop.Error
	if errors.As(err, &wrong) {
		return usage.New(err.Error())
	}
	if err != nil {
		return err
	}
	c.opened, c.origin = w, c.Workshop
	if strings.HasPrefix(strings.ToLower(c.origin), "http") || redact.HasPassword(c.origin) {
		c.origin = redact.URL(c.origin) // it is kept, and shown
	}
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
	to := s.Spec().AddressesAt(workshop.On(s.OrgURL()))
	to["https://github.com/"+Organisation] = s.OrgURL()
	return to
}

// Hub names the hub's port, its component and its folder; HubDatabase is the file in that
// which has its data, and HubConfig its configuration.
const (
	Hub         = "hub"
	HubDatabase = "hub.db"
	HubConfig   = "hub.yaml"
	// HubScheduler is the scheduler's configuration that HubConfig names.
	HubScheduler = "scheduler.yaml"
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
