package arc

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// ShowSubscription returns the client's subscription. It is the cheapest way to
// find out whether the account can see it.
func (c *Client) ShowSubscription(ctx context.Context) (*armapi.Subscription, error) {
	return c.showSubscription(ctx, c.subscription)
}

func (c *Client) showSubscription(ctx context.Context, id string) (*armapi.Subscription, error) {
	var out armapi.Subscription
	if err := c.get(ctx, armapi.SubscriptionID(id), subscriptionVersion, &out); err != nil {
		return nil, fmt.Errorf("subscription %s: %w", id, err)
	}
	return &out, nil
}

// checkVisible is an error for a subscription that the account cannot see. The
// graph leaves it out silently, as if it were empty.
func (c *Client) checkVisible(ctx context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.ToLower(id)
	if c.visible[key] {
		return nil
	}
	if _, err := c.showSubscription(ctx, id); err != nil {
		return err
	}
	c.visible[key] = true
	return nil
}

// scope is the path of a resource group, or with "" that of the subscription.
func (c *Client) scope(resourceGroup string) string {
	path := armapi.SubscriptionID(c.subscription)
	if resourceGroup != "" {
		path += "/resourceGroups/" + url.PathEscape(resourceGroup)
	}
	return path
}

// ConnectedCluster returns a cluster that Azure Arc manages.
func (c *Client) ConnectedCluster(ctx context.Context, resourceGroup, name string) (*armapi.ConnectedCluster, error) {
	var out armapi.ConnectedCluster
	id := c.own(armapi.Cluster{ResourceGroup: resourceGroup, Type: armapi.ConnectedClusters, Name: name}).ID()
	if err := c.get(ctx, id, connectedVersion, &out); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &out, nil
}

// ListConnectedClusters returns those of a resource group, or with "" those of
// the subscription.
func (c *Client) ListConnectedClusters(ctx context.Context, resourceGroup string) ([]armapi.ConnectedCluster, error) {
	all, err := list[armapi.ConnectedCluster](ctx, c, c.scope(resourceGroup)+"/providers/Microsoft.Kubernetes/connectedClusters", connectedVersion)
	if err != nil {
		return nil, fmt.Errorf("connected clusters: %w", err)
	}
	return all, nil
}

// ManagedCluster returns a cluster of AKS as ARM shows it.
func (c *Client) ManagedCluster(ctx context.Context, resourceGroup, name string) (map[string]any, error) {
	var out map[string]any
	id := c.own(armapi.Cluster{ResourceGroup: resourceGroup, Type: armapi.ManagedClusters, Name: name}).ID()
	if err := c.get(ctx, id, managedVersion, &out); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return out, nil
}

// ListResources returns the resources of all types in a resource group, or with
// "" those of the subscription, as ARM lists them: without their properties.
func (c *Client) ListResources(ctx context.Context, resourceGroup string) ([]map[string]any, error) {
	all, err := list[map[string]any](ctx, c, c.scope(resourceGroup)+"/resources", resourcesVersion)
	if err != nil {
		return nil, fmt.Errorf("resources: %w", err)
	}
	return all, nil
}
