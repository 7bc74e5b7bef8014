package arc

import (
	"context"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Get returns a configuration of a cluster.
func (c *Client) Get(ctx context.Context, cluster Cluster, name string) (*Configuration, error) {
	r, err := c.request(ctx, http.MethodGet, cluster.ConfigurationID(c.subscription, name), configurationVersion, nil)
	if err != nil {
		return nil, err
	}
	var out Configuration
	if err := c.call(r, &out, http.StatusOK); err != nil {
		return nil, fmt.Errorf("configuration %s of cluster %s: %w", name, cluster.Name, err)
	}
	return &out, nil
}

// List returns all configurations of a cluster.
func (c *Client) List(ctx context.Context, cluster Cluster) ([]Configuration, error) {
	all, err := list[Configuration](ctx, c, cluster.ConfigurationsID(c.subscription), configurationVersion)
	if err != nil {
		return nil, fmt.Errorf("configurations of cluster %s: %w", cluster.Name, err)
	}
	return all, nil
}

// Put makes the configuration, or replaces the one that is there, and waits
// until it is on the cluster. What it applies may take longer; see its
// ComplianceState.
func (c *Client) Put(ctx context.Context, cluster Cluster, name string, p Properties) (*Configuration, error) {
	return c.write(ctx, http.MethodPut, cluster, name, map[string]any{"properties": wanted(p)}, true)
}

// BeginPut is Put that does not wait.
func (c *Client) BeginPut(ctx context.Context, cluster Cluster, name string, p Properties) (*Configuration, error) {
	return c.write(ctx, http.MethodPut, cluster, name, map[string]any{"properties": wanted(p)}, false)
}

// Patch changes the named properties of a configuration and waits. They are
// given as the service's JSON has them, since null and absent differ.
func (c *Client) Patch(ctx context.Context, cluster Cluster, name string, properties map[string]any, wait bool) (*Configuration, error) {
	return c.write(ctx, http.MethodPatch, cluster, name, map[string]any{"properties": properties}, wait)
}

func (c *Client) write(ctx context.Context, method string, cluster Cluster, name string, body any, wait bool) (*Configuration, error) {
	out, err := c.begin(ctx, method, cluster, name, body, wait)
	if err != nil {
		return nil, fmt.Errorf("write configuration %s of cluster %s: %w", name, cluster.Name, err)
	}
	return out, nil
}

func (c *Client) begin(ctx context.Context, method string, cluster Cluster, name string, body any, wait bool) (*Configuration, error) {
	r, err := c.request(ctx, method, cluster.ConfigurationID(c.subscription, name), configurationVersion, body)
	if err != nil {
		return nil, err
	}
	response, err := c.arm.Pipeline().Do(r)
	if err != nil {
		return nil, err
	}
	if !runtime.HasStatusCode(response, http.StatusOK, http.StatusCreated, http.StatusAccepted) {
		return nil, runtime.NewResponseError(response)
	}
	if !wait {
		var out Configuration
		return &out, runtime.UnmarshalAsJSON(response, &out)
	}
	poller, err := runtime.NewPoller[Configuration](response, c.arm.Pipeline(), nil)
	if err != nil {
		return nil, err
	}
	out, err := poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: pollEvery})
	return &out, err
}

// Delete takes a configuration off its cluster, with what it applied where its
// Kustomizations prune; with wait it returns when all of it is gone. Force
// leaves the cluster alone that cannot do it any more. One that is not there is
// no error.
func (c *Client) Delete(ctx context.Context, cluster Cluster, name string, force, wait bool) error {
	if err := c.delete(ctx, cluster, name, force, wait); err != nil {
		return fmt.Errorf("delete configuration %s of cluster %s: %w", name, cluster.Name, err)
	}
	return nil
}

func (c *Client) delete(ctx context.Context, cluster Cluster, name string, force, wait bool) error {
	r, err := c.request(ctx, http.MethodDelete, cluster.ConfigurationID(c.subscription, name), configurationVersion, nil)
	if err != nil {
		return err
	}
	if force {
		q := r.Raw().URL.Query()
		q.Set("forceDelete", "true")
		r.Raw().URL.RawQuery = q.Encode()
	}
	response, err := c.arm.Pipeline().Do(r)
	if err != nil {
		return err
	}
	if !runtime.HasStatusCode(response, http.StatusOK, http.StatusAccepted, http.StatusNoContent) {
		return runtime.NewResponseError(response)
	}
	if !wait || response.StatusCode == http.StatusNoContent {
		return nil
	}
	poller, err := runtime.NewPoller[struct{}](response, c.arm.Pipeline(), nil)
	if err != nil {
		return err
	}
	_, err = poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: pollEvery})
	return err
}

// wanted leaves out what only the service tells.
func wanted(p Properties) map[string]any {
	m := map[string]any{
		"scope": p.Scope, "namespace": p.Namespace, "sourceKind": p.SourceKind, "suspend": p.Suspend,
		"gitRepository": p.GitRepository, "kustomizations": p.Kustomizations,
	}
	if len(p.ProtectedSettings) > 0 {
		m["configurationProtectedSettings"] = p.ProtectedSettings
	}
	return m
}
