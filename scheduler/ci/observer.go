package ci

import (
	"context"
	"errors"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// observer words the errors of Azure Resource Manager in one line, and marks
// those that waiting does not mend.
type observer struct{ fleet.Observer }

func (o observer) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	all, err := o.Observer.Observe(ctx, s)
	switch {
	case err == nil:
		return all, nil
	case arc.IsDenied(err):
		return nil, &denied{withHint(errors.New("clusters: "+arc.Message(err)), "the token is that of KALYPSO_ARM_TOKEN")}
	}
	return nil, errors.New("clusters: " + arc.Message(err))
}
