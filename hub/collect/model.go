package collect

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/view"
)

// Explain says why a deployment target is where it is, by the plan that is known last. A
// cluster type may be named, too. The error is an *explain.InputError for a target or
// cluster type that there is not, and wraps store.ErrNotFound for an environment.
func (c *Collector) Explain(ctx context.Context, environment, target, clusterType string) (*explain.Explanation, error) {
	made, err := c.planOf(environment)
	if err != nil {
		return nil, err
	}
	return explain.Explain(ctx, made.Model, made.Plan, explain.Query{Target: target, ClusterType: clusterType, Present: made.Before})
}

// Objects are the documents of a kind that `kalypso get` prints. The error wraps
// store.ErrNotFound for an environment that there is not.
func (c *Collector) Objects(_ context.Context, environment, kind string) ([]any, error) {
	k, err := view.FindKind(kind)
	if err != nil || k.Rows == nil {
		return nil, fmt.Errorf("objects of kind %q are not listed by environment: %w", kind, store.ErrNotFound)
	}
	made, err := c.planOf(environment)
	if err != nil {
		return nil, err
	}
	list := view.Listing{Kind: k, Environments: []string{environment}, Rows: k.Rows(*made)}
	return list.Documents(), nil
}

// planOf is the plan of an environment that is known last.
func (c *Collector) planOf(environment string) (*view.Plan, error) {
	var names []string
	for _, p := range c.planes {
		states, _ := p.states()
		for _, e := range states {
			switch {
			case e.name != environment:
				names = append(names, e.name)
			case e.plan != nil:
				return e.plan, nil
			case e.err != nil:
				return nil, fmt.Errorf("environment %s has not been planned yet: %w", environment, e.err)
			default:
				return nil, fmt.Errorf("environment %s has not been planned yet: try again in a moment", environment)
			}
		}
	}
	message := fmt.Sprintf("there is no environment %s", environment)
	if near := model.Nearest(environment, names); near != "" {
		message += fmt.Sprintf(", did you mean %s?", near)
	}
	return nil, fmt.Errorf("%s: %w", message, store.ErrNotFound)
}
