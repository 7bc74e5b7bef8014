package ci

import (
	"fmt"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

// azureARM is where Azure's public cloud answers about resources.
const azureARM = "https://management.azure.com"

// Observer is who knows the clusters: Azure Resource Manager, or the endpoint
// that speaks like it. It asks nothing yet.
func (a Arc) Observer() (fleet.Observer, error) {
	switch {
	case a.Subscription == "":
		return nil, usage("the clusters of which Azure subscription? Set KALYPSO_ARM_SUBSCRIPTION or AZURE_SUBSCRIPTION_ID to its ID,\nor KALYPSO_CI_KUBECONFIG to a kubeconfig with a context for each cluster")
	case a.Token == "":
		return nil, usage("no token for Azure Resource Manager: set KALYPSO_ARM_TOKEN. After azure/login,\n" +
			"    az account get-access-token --query accessToken --output tsv\nprints one")
	}
	endpoint := a.Endpoint
	if endpoint == "" {
		endpoint = azureARM
	}
	client, err := arc.New(arc.Token(a.Token), a.Subscription, arc.At(endpoint))
	if err != nil {
		return nil, fmt.Errorf("clusters at %s: %w", endpoint, err)
	}
	return observer{client}, nil
}
