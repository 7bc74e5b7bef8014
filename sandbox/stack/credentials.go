package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/workshop"
)

// RenewedCredentials is the answer to PathCredentials.
type RenewedCredentials struct {
	Renewed []string `json:"renewed"` // what was mended, for messages
	// Restart are the components that read their credentials when they start.
	Restart []string `json:"-"`
}

// RenewCredentials looks whether the forge knows what the sandbox's parts have as
// their credentials, and mends what it does not know. A token that users
// have revoked is made again, and everybody who has it gets the new one.
func (st *Stack) RenewCredentials(ctx context.Context, ready func(string) bool) (found RenewedCredentials, err error) {
	if !ready("gitea") || !ready("repositories") {
		return found, nil // its start makes what is missing
	}
	setup, err := st.forgeSetup()
	if err != nil {
		return found, err
	}
	found.Renewed, err = st.gitea.EnsureCredentials(ctx, setup)
	if err != nil {
		return found, err
	}
	token, err := os.ReadFile(st.gitea.TokenFile(gitea.FluxToken))
	if err != nil {
		return found, err
	}
	var failed []error
	for _, c := range st.state.Clusters() {
		if !ready("subscription-" + c.Name) {
			continue
		}
		written, err := st.renewOn(ctx, c, string(token))
		if err != nil {
			failed = append(failed, fmt.Errorf("cluster %s: %w", c.Name, err))
		}
		if len(written) > 0 {
			found.Renewed = append(found.Renewed, fmt.Sprintf("cluster %s did not have the token for the forge: it is in %s now", c.Name, strings.Join(written, ", ")))
		}
	}
	for _, program := range []struct {
		unit, token string
		used        *string
	}{{"scheduler", gitea.SchedulerToken, st.schedulerToken.Load()}, {state.Hub, gitea.HubToken, st.hubToken.Load()}} {
		token, err := os.ReadFile(st.gitea.TokenFile(program.token))
		if err != nil {
			failed = append(failed, err)
		} else if program.used != nil && *program.used != string(token) && ready(program.unit) {
			found.Renewed = append(found.Renewed, "the "+program.unit+" had an older token: it starts again with the present one")
			found.Restart = append(found.Restart, program.unit)
		}
	}
	return found, errors.Join(failed...)
}

func (st *Stack) renewOn(ctx context.Context, c workshop.Cluster, token string) ([]string, error) {
	client, err := st.client(c.Name)
	if err != nil {
		return nil, err
	}
	return st.credentialsOf(c, token).Ensure(ctx, client, st.gitea.Knows)
}

// credentialsOf are the secrets with which a cluster's reconciler reads the forge.
func (st *Stack) credentialsOf(c workshop.Cluster, token string) gitops.Credentials {
	if c.Reconciler == workshop.ArgoCD {
		return argoCDSubscription(st.state, c, token).Credentials(reconcilerUser, token, st.state.ForgeURL()+"/")
	}
	return gitops.FluxCredentials(fluxSubscriptions(st.state, c, token), c.Credentials, reconcilerUser, token, st.state.ForgeURL()+"/")
}
