package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/workshop"

	"github.com/kalypso-dev/kalypso/sandbox/gitea"
	"github.com/kalypso-dev/kalypso/sandbox/gitops"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// credentialsLimit is for a look at all credentials, and for making them all anew.
const credentialsLimit = time.Minute

// RenewedCredentials is the answer to PathCredentials.
type RenewedCredentials struct {
	Renewed []string `json:"renewed"` // what was mended, for messages
	// restart are the components that read their credentials when they start.
	restart []string
}

// CredentialsFunc looks whether the forge knows what the sandbox's parts have as
// their credentials, and mends what it does not know. ready tells which
// components there are to look at.
type CredentialsFunc func(ctx context.Context, ready func(component string) bool) (RenewedCredentials, error)

// renewCredentials handles PathCredentials. Where data is being replaced there is
// nothing to do: what starts after that looks at its credentials itself.
func (s *Server) renewCredentials(w http.ResponseWriter, r *http.Request) {
	var answer RenewedCredentials
	now := s.current()
	release, busy := s.supervisors.reserve("credentials are looked at")
	if busy == nil {
		defer release()
	}
	if busy == nil && now.credentials != nil {
		var err error
		ctx, cancel := context.WithTimeout(r.Context(), credentialsLimit)
		defer cancel()
		answer, err = now.credentials(ctx, func(component string) bool { return isReady(now.Status(), component) })
		for _, component := range answer.restart {
			err = errors.Join(err, now.Restart(ctx, component))
		}
		for _, what := range answer.Renewed {
			s.Log.Info("credentials renewed", "what", what)
		}
		if err != nil {
			s.Log.Warn("credentials not renewed", "reason", err)
			http.Error(w, "credentials: "+err.Error(), http.StatusConflict)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func isReady(all []supervisor.Status, component string) bool {
	for _, s := range all {
		if s.Name == component {
			return s.State == supervisor.Ready && !s.Held
		}
	}
	return false
}

// renewCredentials is the CredentialsFunc of all components. A token that users
// have revoked is made again, and everybody who has it gets the new one.
func (st *Stack) renewCredentials(ctx context.Context, ready func(string) bool) (found RenewedCredentials, err error) {
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
	token, err = os.ReadFile(st.gitea.TokenFile(gitea.SchedulerToken))
	if used := st.schedulerToken.Load(); err == nil && ready("scheduler") && used != nil && *used != string(token) {
		found.Renewed = append(found.Renewed, "the scheduler had an older token: it starts again with the present one")
		found.restart = append(found.restart, "scheduler")
	}
	return found, errors.Join(append(failed, err)...)
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
