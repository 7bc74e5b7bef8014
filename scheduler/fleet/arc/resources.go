package arc

import (
	"context"
	"fmt"
	"net/url"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// ListResources returns the resources of all types in a resource group, or with
// "" those of the subscription, as ARM lists them: without their properties.
func (c *Client) ListResources(ctx context.Context, resourceGroup string) ([]map[string]any, error) {
	path := armapi.SubscriptionID(c.subscription)
	if resourceGroup != "" {
		path += "/resourceGroups/" + url.PathEscape(resourceGroup)
	}
	all, err := list[map[string]any](ctx, c, path+"/resources", resourcesVersion)
	if err != nil {
		return nil, fmt.Errorf("resources: %w", err)
	}
	return all, nil
}

// ManagedCluster returns a cluster of AKS as ARM shows it.
func (c *Client) ManagedCluster(ctx context.Context, resourceGroup, name string) (map[string]any, error) {
	var out map[string]any
	id := armapi.Cluster{Subscription: c.subscription, ResourceGroup: resourceGroup, Type: ManagedClusters, Name: name}.ID()
	if err := c.get(ctx, id, managedVersion, &out); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return out, nil
}
