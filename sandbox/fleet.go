package sandbox

import (
	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/endpoint"
)

// Fleet is the sandbox's clusters, also those that are stopped, and the virtual ones. It
// makes no request yet.
func Fleet(h Home) (fleet.Reader, error) {
	s, err := h.Load()
	if err != nil {
		return nil, err
	}
	return ci.Environment{
		Kubeconfig: h.Kubeconfig(),
		Fleet:      endpoint.Client{URL: s.FleetURL(), Token: s.ArmToken()},
	}.Observer()
}
