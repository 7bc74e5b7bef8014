package arc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Get returns a configuration of a cluster.
func (c *Client) Get(ctx context.Context, cluster Cluster, name string) (*Configuration, error) {
	var out Configuration
	if err := c.get(ctx, c.own(cluster).ConfigurationID(name), configurationVersion, &out); err != nil {
		return nil, fmt.Errorf("configuration %s of cluster %s: %w", name, cluster.Name, err)
	}
	return &out, nil
}

// List returns all configurations of a cluster.
func (c *Client) List(ctx context.Context, cluster Cluster) ([]Configuration, error) {
	all, err := list[Configuration](ctx, c, c.own(cluster).ConfigurationsID(), configurationVersion)
	if err != nil {
		return nil, fmt.Errorf("configurations of cluster %s: %w", cluster.Name, err)
	}
	return all, nil
}

// Put makes the configuration, or replaces the one that is there, and waits
// until it is on the cluster. What it applies may take longer; see its
// ComplianceState.
func (c *Client) Put(ctx context.Context, cluster Cluster, name string, p Properties) (*Configuration, error) {
	return c.put(ctx, cluster, name, p, true)
}

// BeginPut is Put that does not wait.
func (c *Client) BeginPut(ctx context.Context, cluster Cluster, name string, p Properties) (*Configuration, error) {
	return c.put(ctx, cluster, name, p, false)
}

func (c *Client) put(ctx context.Context, cluster Cluster, name string, p Properties, wait bool) (*Configuration, error) {
	properties, err := wanted(p)
	if err != nil {
		return nil, err
	}
	return c.write(ctx, change{http.MethodPut, cluster, name, map[string]any{"properties": properties}}, wait)
}

// Patch changes the named properties of a configuration and waits. They are
// given as the service's JSON has them, since null and absent differ.
func (c *Client) Patch(ctx context.Context, cluster Cluster, name string, properties map[string]any, wait bool) (*Configuration, error) {
	return c.write(ctx, change{http.MethodPatch, cluster, name, map[string]any{"properties": properties}}, wait)
}

// change is a request that changes a configuration.
type change struct {
	method  string
	cluster Cluster
	name    string
	body    any
}

func (w change) String() string {
	verb := "write"
	if w.method == http.MethodDelete {
		verb = "delete"
	}
	return fmt.Sprintf("%s configuration %s of cluster %s", verb, w.name, w.cluster.Name)
}

// wrap says what an error is about, unless it does so itself.
func (w change) wrap(err error) error {
	if errors.As(err, new(*OperationError)) {
		return err
	}
	return fmt.Errorf("%s: %w", w, err)
}

func (c *Client) write(ctx context.Context, w change, wait bool) (*Configuration, error) {
	response, err := c.begin(ctx, w, nil, http.StatusOK, http.StatusCreated, http.StatusAccepted)
	if err != nil {
		return nil, w.wrap(err)
	}
	var out Configuration
	if !wait {
		err = runtime.UnmarshalAsJSON(response, &out)
	} else {
		err = c.follow(ctx, w, response, &out)
	}
	if err != nil {
		return nil, w.wrap(err)
	}
	return &out, nil
}

// Delete takes a configuration off its cluster, with what it applied where its
// Kustomizations prune; with wait it returns when all of it is gone. Force
// leaves the cluster alone that cannot do it any more. One that is not there is
// no error.
func (c *Client) Delete(ctx context.Context, cluster Cluster, name string, force, wait bool) error {
	w := change{http.MethodDelete, cluster, name, nil}
	var query []string
	if force {
		query = []string{"forceDelete", "true"}
	}
	response, err := c.begin(ctx, w, query, http.StatusOK, http.StatusAccepted, http.StatusNoContent)
	if err == nil && wait && response.StatusCode != http.StatusNoContent {
		err = c.follow(ctx, w, response, nil)
	}
	if err != nil && !noConfiguration(err) {
		return w.wrap(err)
	}
	return nil
}

// noConfiguration tells whether an error is that the configuration itself is not
// there; that its cluster is not there is something else.
func noConfiguration(err error) bool {
	switch codeOf(err) {
	case "FluxConfigurationNotFound":
		return true
	case "ResourceNotFound":
		return strings.Contains(strings.ToLower(Message(err)), "/fluxconfigurations/")
	}
	return false
}

// wanted leaves out what only the service tells, and what is null: not all that
// has a default may be null, and left out it has it.
func wanted(p Properties) (map[string]any, error) {
	m := map[string]any{
		"scope": p.Scope, "namespace": p.Namespace, "sourceKind": p.SourceKind, "suspend": p.Suspend,
		"gitRepository": p.GitRepository, "kustomizations": p.Kustomizations,
	}
	if len(p.ProtectedSettings) > 0 {
		m["configurationProtectedSettings"] = p.ProtectedSettings
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(b, &plain); err != nil {
		return nil, err
	}
	withoutNulls(plain)
	return plain, nil
}

func withoutNulls(m map[string]any) {
	for k, v := range m {
		if v == nil {
			delete(m, k)
		}
		if inner, ok := v.(map[string]any); ok {
			withoutNulls(inner)
		}
	}
}
