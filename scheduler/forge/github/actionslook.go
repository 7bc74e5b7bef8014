package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// HasEnvironment tells whether a repository has a deployment environment.
func (f *Forge) HasEnvironment(ctx context.Context, repo, environment string) (bool, error) {
	at, err := environmentPath(repo, environment)
	if err != nil {
		return false, err
	}
	return f.there(ctx, at, "environment "+environment, repo)
}

// HasVariable tells whether there is a workflow variable, whatever its value.
// There is none in an environment that is not there.
func (f *Forge) HasVariable(ctx context.Context, repo, environment, name string) (bool, error) {
	base, err := actionsPath(repo, environment, "variables")
	if err != nil {
		return false, err
	}
	return f.there(ctx, base+"/"+url.PathEscape(name), "variable "+name, place(repo, environment))
}

func (f *Forge) there(ctx context.Context, at, what, where string) (bool, error) {
	err := f.send(ctx, http.MethodGet, at, nil, nil)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, forge.ErrNotFound):
		return false, nil
	}
	return false, fmt.Errorf("%s of %s: %w", what, where, err)
}
