package arc

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// ConnectedCluster returns a cluster that Azure Arc manages.
func (c *Client) ConnectedCluster(ctx context.Context, resourceGroup, name string) (*ConnectedCluster, error) {
	id := Cluster{ResourceGroup: resourceGroup, Type: ConnectedClusters, Name: name}.ID(c.subscription)
	r, err := c.request(ctx, http.MethodGet, id, connectedVersion, nil)
	if err != nil {
		return nil, err
	}
	var out ConnectedCluster
	if err := c.call(r, &out, http.StatusOK); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &out, nil
}

// ListConnectedClusters returns those of a resource group, or with "" those of
// the subscription.
func (c *Client) ListConnectedClusters(ctx context.Context, resourceGroup string) ([]ConnectedCluster, error) {
	path := "/subscriptions/" + url.PathEscape(c.subscription)
	if resourceGroup != "" {
		path += "/resourceGroups/" + url.PathEscape(resourceGroup)
	}
	all, err := list[ConnectedCluster](ctx, c, path+"/providers/Microsoft.Kubernetes/connectedClusters", connectedVersion)
	if err != nil {
		return nil, fmt.Errorf("connected clusters: %w", err)
	}
	return all, nil
}

// list reads all pages of a list.
func list[T any](ctx context.Context, c *Client, path, version string) ([]T, error) {
	r, err := c.request(ctx, http.MethodGet, path, version, nil)
	if err != nil {
		return nil, err
	}
	all := []T{}
	for {
		var page struct {
			Value    []T     `json:"value"`
			NextLink *string `json:"nextLink"`
		}
		if err := c.call(r, &page, http.StatusOK); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		if page.NextLink == nil || *page.NextLink == "" {
			return all, nil
		}
		if err := c.mayFollow(*page.NextLink); err != nil {
			return nil, err
		}
		if r, err = runtime.NewRequest(ctx, http.MethodGet, *page.NextLink); err != nil {
			return nil, err
		}
	}
}

// mayFollow refuses a link to another server: the token would go along.
func (c *Client) mayFollow(link string) error {
	next, err := url.Parse(link)
	if err != nil {
		return fmt.Errorf("link to the next page: %w", err)
	}
	here, err := url.Parse(c.arm.Endpoint())
	if err != nil {
		return err
	}
	if next.Scheme != here.Scheme || next.Host != here.Host {
		return fmt.Errorf("the link to the next page leads to another server: %s", next.Host)
	}
	return nil
}
