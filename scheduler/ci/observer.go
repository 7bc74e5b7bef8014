package ci

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// observer marks those errors of Azure Resource Manager that waiting does not
// mend.
type observer struct {
	fleet.Observer
	fixed bool // its token is that of KALYPSO_ARM_TOKEN
}

func (o observer) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	all, err := o.Observer.Observe(ctx, s)
	switch {
	case err == nil:
		return all, nil
	// a subscription that is not found is one that the login is not good for
	case arc.IsDenied(err) || arc.IsNotFound(err):
		hint := arc.Hint(err)
		if o.fixed {
			hint = "the token is that of KALYPSO_ARM_TOKEN"
		}
		return nil, &denied{withHint(errors.New("clusters: "+arc.Message(err)), "%s", hint)}
	}
	return nil, fmt.Errorf("clusters: %w", err)
}
