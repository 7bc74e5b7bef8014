package source

import (
	"context"
	"fmt"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
)

// History reads the newest commits of a branch on its server, and which of them changed
// folders last, for each of those that are named.
func (p *Platform) History(ctx context.Context, repo, branch string, folders []string) (*gitclient.History, error) {
	at, err := p.address(repo)
	if err != nil {
		return nil, err
	}
	r, ok := at.(*remote)
	if !ok {
		return nil, fmt.Errorf("repository %s is on no server", redact.URL(repo))
	}
	h, err := r.client.History(ctx, r.server, branch, folders)
	return h, r.refusal(err)
}
