package arc

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kalypso-dev/kalypso/internal/armapi"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// ConnectedCluster returns a cluster that Azure Arc manages.
func (c *Client) ConnectedCluster(ctx context.Context, resourceGroup, name string) (*ConnectedCluster, error) {
	var out ConnectedCluster
	id := armapi.Cluster{Subscription: c.subscription, ResourceGroup: resourceGroup, Type: ConnectedClusters, Name: name}.ID()
	if err := c.get(ctx, id, connectedVersion, &out); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &out, nil
}

// ListConnectedClusters returns those of a resource group, or with "" those of
// the subscription.
func (c *Client) ListConnectedClusters(ctx context.Context, resourceGroup string) ([]ConnectedCluster, error) {
	path := armapi.SubscriptionID(c.subscription)
	if resourceGroup != "" {
		path += "/resourceGroups/" + url.PathEscape(resourceGroup)
	}
	all, err := list[ConnectedCluster](ctx, c, path+"/providers/Microsoft.Kubernetes/connectedClusters", connectedVersion)
	if err != nil {
		return nil, fmt.Errorf("connected clusters: %w", err)
	}
	return all, nil
}

// list reads all pages of a list. Part of a list is an error.
func list[T any](ctx context.Context, c *Client, path, version string) ([]T, error) {
	r, err := c.request(ctx, http.MethodGet, path, version, nil)
	if err != nil {
		return nil, err
	}
	all, followed := []T{}, map[string]bool{}
	for {
		var page struct {
			Value    []T     `json:"value"`
			NextLink *string `json:"nextLink"`
		}
		if err := c.call(r, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		if page.NextLink == nil || *page.NextLink == "" {
			return all, nil
		}
		if followed[*page.NextLink] {
			return nil, fmt.Errorf("the pages of the list lead in a circle after %d entries", len(all))
		}
		followed[*page.NextLink] = true
		if r, err = runtime.NewRequest(ctx, http.MethodGet, *page.NextLink); err != nil {
			return nil, fmt.Errorf("link to the next page: %w", err)
		}
	}
}
