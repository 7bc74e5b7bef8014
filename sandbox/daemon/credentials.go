package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/stack"
	"github.com/kalypso-dev/kalypso/sandbox/supervisor"
)

// credentialsLimit is for a look at all credentials, and for making them all anew.
const credentialsLimit = time.Minute

// CredentialsFunc looks whether the forge knows what the sandbox's parts have as
// their credentials, and mends what it does not know. ready tells which
// components there are to look at.
type CredentialsFunc func(ctx context.Context, ready func(component string) bool) (stack.RenewedCredentials, error)

// renewCredentials handles PathCredentials. Where data is being replaced there is
// nothing to do: what starts after that looks at its credentials itself.
func (s *Server) renewCredentials(w http.ResponseWriter, r *http.Request) {
	var answer stack.RenewedCredentials
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
		for _, component := range answer.Restart {
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
