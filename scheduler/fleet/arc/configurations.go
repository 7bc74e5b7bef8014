package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

const (
	operationLimit = 30 * time.Minute // for a write to be on its cluster
	pollInterval   = 5 * time.Second  // where Azure does not say
)

// Get returns a configuration of a cluster.
func (c *Client) Get(ctx context.Context, cluster armapi.Cluster, name string) (*armapi.Configuration, error) {
	var out armapi.Configuration
	if err := c.get(ctx, c.own(cluster).ConfigurationID(name), configurationVersion, &out); err != nil {
		return nil, fmt.Errorf("configuration %s of cluster %s: %w", name, cluster.Name, err)
	}
	return &out, nil
}

// List returns all configurations of a cluster.
func (c *Client) List(ctx context.Context, cluster armapi.Cluster) ([]armapi.Configuration, error) {
	all, err := list[armapi.Configuration](ctx, c, c.own(cluster).ConfigurationsID(), configurationVersion)
	if err != nil {
		return nil, fmt.Errorf("configurations of cluster %s: %w", cluster.Name, err)
	}
	return all, nil
}

// Put creates the configuration or replaces the one that exists. With wait it
// returns when it is on the cluster. What it applies may take longer; see its
// ComplianceState.
func (c *Client) Put(ctx context.Context, cluster armapi.Cluster, name string, p armapi.Properties, wait bool) (*armapi.Configuration, error) {
	properties, err := settable(p)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, change{method: http.MethodPut, cluster: c.own(cluster), name: name, properties: properties}, wait)
}

// Patch changes the named properties of a configuration. They are given as the
// service's JSON has them, since null and absent differ.
func (c *Client) Patch(ctx context.Context, cluster armapi.Cluster, name string, properties map[string]any, wait bool) (*armapi.Configuration, error) {
	return c.change(ctx, change{method: http.MethodPatch, cluster: c.own(cluster), name: name, properties: properties}, wait)
}

// Delete takes a configuration off its cluster, with what it applied where its
// Kustomizations prune; with wait it returns when all of it is gone. With force
// the cluster does not clean up. One that does not exist is no error.
func (c *Client) Delete(ctx context.Context, cluster armapi.Cluster, name string, force, wait bool) error {
	_, err := c.change(ctx, change{method: http.MethodDelete, cluster: c.own(cluster), name: name, force: force}, wait)
	return err
}

// change is a write to a configuration, or its deletion.
type change struct {
	method     string
	cluster    armapi.Cluster
	name       string
	properties map[string]any
	force      bool
}

func (w change) String() string {
	verb := "write"
	if w.method == http.MethodDelete {
		verb = "delete"
	}
	return fmt.Sprintf("%s configuration %s of cluster %s", verb, w.name, w.cluster.Name)
}

func (c *Client) change(ctx context.Context, w change, wait bool) (*armapi.Configuration, error) {
	bounded, cancel := context.WithTimeout(ctx, operationLimit)
	defer cancel()
	began := time.Now()
	var last *http.Response
	out, err := c.carryOut(policy.WithCaptureResponse(bounded, &last), w, wait)
	switch {
	case err == nil || w.method == http.MethodDelete && noConfiguration(err):
		return out, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w (%s)", w, context.Cause(ctx), stateOf(last))
	case bounded.Err() != nil:
		return nil, &OperationError{What: w.String(), After: time.Since(began), Last: stateOf(last)}
	}
	return nil, fmt.Errorf("%s: %w", w, err)
}

// carryOut sends a write, and with wait polls until its operation has ended
// (learn.microsoft.com/azure/azure-resource-manager/management/async-operations).
func (c *Client) carryOut(ctx context.Context, w change, wait bool) (*armapi.Configuration, error) {
	response, err := c.begin(ctx, w)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNoContent || !wait && w.method == http.MethodDelete:
		return nil, nil
	case !wait:
		var out armapi.Configuration
		return &out, runtime.UnmarshalAsJSON(response, &out)
	}
	poller, err := runtime.NewPoller[armapi.Configuration](response, c.arm.Pipeline(), nil)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		c.report(Wait{"the operation is in progress, this is its deadline", deadline, w.String()})
	}
	for {
		out, err := poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: pollInterval})
		if err == nil {
			return &out, nil
		}
		// the operation goes on, whether or not Azure answers at the moment
		if err = c.failure(err); !isTransient(err) || retry.Sleep(ctx, pollInterval) != nil {
			return nil, err
		}
		if poller.Done() { // only the written configuration could not be read
			return c.Get(ctx, w.cluster, w.name)
		}
	}
}

// begin sends a write. While Azure is busy with an earlier one, be it of another
// client or the very same whose answer was lost, it waits and sends it again.
func (c *Client) begin(ctx context.Context, w change) (*http.Response, error) {
	for {
		var body any
		if w.properties != nil {
			body = map[string]any{"properties": w.properties}
		}
		r, err := c.request(ctx, w.method, w.cluster.ConfigurationID(w.name), configurationVersion, body)
		if err != nil {
			return nil, err
		}
		if w.force {
			r.Raw().URL.RawQuery += "&forceDelete=true"
		}
		response, err := c.send(r, http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent)
		if !hasStatus(err, http.StatusConflict) {
			return response, err
		}
		found, getErr := c.Get(ctx, w.cluster, w.name)
		if getErr != nil {
			return nil, err
		}
		switch state := found.Properties.ProvisioningState; state {
		case "", "Succeeded", "Failed", "Canceled":
			return nil, err
		default:
			c.report(Wait{"an earlier write is " + state, time.Now().Add(pollInterval), w.String()})
		}
		if err := retry.Sleep(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// stateOf is what the last answer says of an operation.
func stateOf(answer *http.Response) string {
	var body struct {
		Status     string `json:"status"`
		Properties struct {
			State string `json:"provisioningState"`
		} `json:"properties"`
	}
	if answer == nil {
		return "nothing is known of it"
	}
	if b, err := runtime.Payload(answer); err != nil || json.Unmarshal(b, &body) != nil {
		return fmt.Sprintf("the last answer had http status %d", answer.StatusCode)
	}
	return "it is " + cmp.Or(body.Status, body.Properties.State, "in progress")
}

// noConfiguration is whether an error is that the configuration itself does not
// exist; that its cluster does not is another one.
func noConfiguration(err error) bool {
	if !IsNotFound(err) {
		return false
	}
	message := Message(err)
	return strings.HasPrefix(message, "(FluxConfigurationNotFound)") ||
		strings.HasPrefix(message, "(ResourceNotFound)") && strings.Contains(strings.ToLower(message), "/fluxconfigurations/")
}

// settable leaves out what only the service sets, and what is null: not all that
// has a default may be null, and left out it has it.
func settable(p armapi.Properties) (map[string]any, error) {
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
