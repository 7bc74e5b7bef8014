package ci

import (
	"errors"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// Arc says where to ask about clusters: in Azure, or at an endpoint that speaks
// like it.
type Arc = arc.Settings

// azure is what knows the clusters of a fleet that Azure manages. It asks
// nothing yet.
func azure(a Arc) (fleet.Observer, error) {
	client, err := a.Connect()
	var mistake *arc.SetupError
	if errors.As(err, &mistake) {
		text := mistake.Message
		if strings.Contains(text, "--subscription") {
			text = "the clusters of which Azure subscription? Set KALYPSO_ARM_SUBSCRIPTION or AZURE_SUBSCRIPTION_ID to its ID, or give --subscription,\n" +
				"or set KALYPSO_CI_KUBECONFIG to a kubeconfig with a context for each cluster"
		}
		return nil, usage("%s", text)
	}
	if err != nil {
		return nil, err
	}
	return observer{client, a.Token != ""}, nil
}
