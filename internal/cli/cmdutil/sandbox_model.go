package cmdutil

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/fixtures"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// needControlPlane is said to those who have not said what to look at.
const needControlPlane = "which control plane? Name it with --control-plane DIR_OR_URL, or run `kalypso up` to use the sandbox's"

// sandboxCredentials returns those of the sandbox's forge, nil when there is no
// sandbox. One that cannot be read only matters to those who need it, and
// [App.sandboxControlPlane] tells them.
func (a *App) sandboxCredentials() *sandbox.Credentials {
	home, err := a.Home()
	if err != nil {
		return nil
	}
	c, err := sandbox.GetCredentials(home)
	if err != nil {
		return nil
	}
	return c
}

// sandboxControlPlane returns the URL of the running sandbox's control plane.
func (a *App) sandboxControlPlane(ctx context.Context, c *sandbox.Credentials) (string, error) {
	home, err := a.Home()
	if err != nil {
		return "", err
	}
	status, err := sandbox.GetStatus(ctx, home)
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return "", usage.New(needControlPlane)
	}
	if err != nil {
		return "", fmt.Errorf("looking for the sandbox: %w", err)
	}
	if !status.Running || c == nil {
		return "", usage.New("the sandbox is down: " + needControlPlane)
	}
	return controlPlaneOf(status.Workshop, c.OrgURL)
}

// controlPlaneOf returns the URL of the repository of a workshop that has the
// Environment objects.
func controlPlaneOf(workshop, orgURL string) (string, error) {
	w, err := fixtures.Load(workshop, orgURL)
	if err != nil {
		return "", err
	}
	for _, r := range w.Repositories {
		if objects, _ := model.LoadEnvironments(&model.Tree{Files: r.Branches[0].Files}, ""); len(objects) > 0 {
			return orgURL + "/" + r.Name, nil
		}
	}
	return "", fmt.Errorf("workshop %s has no control plane", workshop)
}
