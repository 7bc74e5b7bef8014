package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/components"
)

// checkPayload asks whether this kalypso has inside what a sandbox is made of.
func checkPayload(_ context.Context, sys *System, s *Subject) Finding {
	const lost = "there is nothing to start; only the scheduler's commands work"
	p := s.Payload
	switch platform := sys.OS + "/" + sys.Arch; {
	case errors.Is(p.Err, components.ErrNoPayload):
		return fatal("this kalypso was built without its payload of Kubernetes, Gitea and Flux", lost, "build one with it: `make build`")
	case p.Err != nil:
		return fatal(p.Err.Error(), lost, "get this kalypso anew, or build it: `make build`")
	case p.Platform != platform:
		return fatal("this kalypso has programs for "+p.Platform+" and this is "+platform, lost, "build one here: `make build`")
	}
	return ok("%s for %s, %d MiB packed", strings.Join(p.Names, ", "), p.Platform, p.Packed/mebi)
}
