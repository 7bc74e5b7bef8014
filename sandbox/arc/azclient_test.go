package arc

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// bearer is a policy that sends the emulator's token, on plain HTTP as well.
type bearer struct{}

func (bearer) Do(r *policy.Request) (*http.Response, error) {
	r.Raw().Header.Set("Authorization", "Bearer "+token)
	return r.Next()
}

// azureClient sends what Microsoft's Go clients send, through the core that they are
// generated for, and follows operations by its pollers.
type azureClient struct {
	*testing.T
	runtime.Pipeline
	url string
}

func (c azureClient) send(method, path string, body any) *http.Response {
	c.Helper()
	r, err := runtime.NewRequest(c.Context(), method, c.url+path)
	if err == nil && body != nil {
		err = runtime.MarshalAsJSON(r, body)
	}
	if err != nil {
		c.Fatal(err)
	}
	r.Raw().Header.Set("Accept", "application/json")
	response, err := c.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	return response
}

// finish follows an operation to its end.
func (c azureClient) finish(response *http.Response) armapi.Configuration {
	c.Helper()
	if !runtime.HasStatusCode(response, http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent) {
		c.Fatal(runtime.NewResponseError(response))
	}
	poller, err := runtime.NewPoller[armapi.Configuration](response, c.Pipeline, nil)
	if err != nil {
		c.Fatal(err)
	}
	result, err := poller.PollUntilDone(c.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Second})
	if err != nil {
		c.Fatal(err)
	}
	return result
}

// get reads a resource, or a list of them.
func (c azureClient) get(path string) map[string]any {
	c.Helper()
	response := c.send(http.MethodGet, path+version, nil)
	if !runtime.HasStatusCode(response, http.StatusOK) {
		c.Fatal(runtime.NewResponseError(response))
	}
	var body map[string]any
	if err := runtime.UnmarshalAsJSON(response, &body); err != nil {
		c.Fatal(err)
	}
	return body
}

// TestMicrosoftsCore creates, replaces, reads, lists, patches and deletes a
// configuration with the core of Microsoft's clients.
func TestMicrosoftsCore(t *testing.T) {
	w := newFixture(t)
	c := azureClient{t, runtime.NewPipeline("test", "v1", runtime.PipelineOptions{PerRetry: []policy.Policy{bearer{}}}, nil), w.url}
	one := configurations + "/platform-qa"
	for _, path := range []string{"./qa", "./other"} {
		properties := wanted()
		k := properties.Kustomizations
		for name, value := range k {
			value.Path = path
			k[name] = value
		}
		got := c.finish(c.send(http.MethodPut, one+version, map[string]any{"properties": properties}))
		if got.Properties.ProvisioningState != "Succeeded" || got.Type != armapi.ConfigurationType {
			t.Errorf("%+v", got)
		}
		for name, value := range got.Properties.Kustomizations {
			if value.Path != path {
				t.Errorf("kustomization %s has the path %s", name, value.Path)
			}
		}
	}
	if got := c.finish(c.send(http.MethodPatch, one+version, map[string]any{"properties": map[string]any{"suspend": true}})); !got.Properties.Suspend {
		t.Errorf("%+v", got.Properties)
	}
	if got := c.get(one); got["name"] != "platform-qa" || !strings.HasSuffix(got["id"].(string), one) {
		t.Errorf("%v", got)
	}
	for _, list := range []string{configurations, base1[:strings.LastIndex(base1, "/")]} {
		body := c.get(list)
		if all, _ := body["value"].([]any); len(all) != 1 || len(body) != 1 {
			t.Errorf("%s: %v", list, body)
		}
	}
	c.finish(c.send(http.MethodDelete, one+version+"&forceDelete=true", nil))
	if body := c.get(configurations); len(body["value"].([]any)) > 0 {
		t.Errorf("left: %v", body)
	}
}

// TestShapeOfACluster looks at what Azure's types say of a cluster.
func TestShapeOfACluster(t *testing.T) {
	w := newFixture(t)
	w.api.Put(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: kube-system}
data:
  ca.crt: |
    -----BEGIN CERTIFICATE-----
    AQID
    -----END CERTIFICATE-----
`)
	_, body := w.request(t, http.MethodGet, base1+version, "")
	properties, _ := body["properties"].(map[string]any)
	got := []any{body["type"], body["id"], properties["agentPublicKeyCertificate"]}
	if diff := cmp.Diff([]any{"Microsoft.Kubernetes/connectedClusters", base1, "AQID"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, body)
	}
}
