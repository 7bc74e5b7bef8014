package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
)

const noEnvironments = "GitHub's plan Free has no environments in repositories that are not public, and workflows need them: take `--visibility public`, or a paid plan; `kalypso init --cleanup` removes what is made already"

// paid finds out before anything is made that the organisation's plan will not
// do, where the account learns which one it is.
func (o Options) paid(org github.Organisation, repositories []wanted, found map[string]*github.Repository) error {
	if org.Plan != "free" {
		return nil
	}
	for _, r := range repositories {
		visibility := o.Visibility
		if l := found[r.name]; l != nil {
			visibility = l.Visibility
		}
		if r.needs.Environments && visibility != github.Public {
			return fmt.Errorf("repository %s: %s", r.name, noEnvironments)
		}
	}
	return nil
}

// organisation looks an organisation up with a token that needs scopes, where
// its kind has any.
func organisation(ctx context.Context, f *github.Forge, name string, scopes ...string) (github.Organisation, error) {
	org, err := f.Organisation(ctx, name)
	if errors.Is(err, forge.ErrNotFound) {
		err = fmt.Errorf("%w; a person's account is no organisation", err)
	}
	if err != nil || len(org.Scopes) == 0 {
		return org, err
	}
	var missing []string
	for _, s := range scopes {
		if !slices.Contains(org.Scopes, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		return org, fmt.Errorf("%w: the token lacks the scope %s: give it under Settings, Developer settings", gitclient.ErrDenied, strings.Join(missing, " and "))
	}
	return org, nil
}
