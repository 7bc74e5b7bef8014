package arc

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

var drone = armapi.Cluster{Subscription: "sub", ResourceGroup: "rg", Type: armapi.ConnectedClusters, Name: "drone"}

// newService is a client of a service that the handler is.
func newService(t *testing.T, h http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := Settings{Endpoint: server.URL, Token: "t0ken", Subscription: "sub"}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return c, server
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func TestRequestsAreWhatARMWants(t *testing.T) {
	var got []string
	c, _ := newService(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
		write(w, 200, `{"value": []}`)
	})
	if _, err := c.List(t.Context(), drone); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListConnectedClusters(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListConnectedClusters(t.Context(), "a b"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), armapi.Cluster{ResourceGroup: "rg", Type: armapi.ManagedClusters, Name: "aks"}, "x", true, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"GET /subscriptions/sub/resourceGroups/rg/providers/Microsoft.Kubernetes/connectedClusters/drone/providers/Microsoft.KubernetesConfiguration/fluxConfigurations?api-version=2025-04-01 Bearer t0ken",
		"GET /subscriptions/sub/providers/Microsoft.Kubernetes/connectedClusters?api-version=2024-01-01 Bearer t0ken",
		"GET /subscriptions/sub/resourceGroups/a%20b/providers/Microsoft.Kubernetes/connectedClusters?api-version=2024-01-01 Bearer t0ken",
		"DELETE /subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/x?api-version=2025-04-01&forceDelete=true Bearer t0ken",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestListReadsAllPages(t *testing.T) {
	var server *httptest.Server
	c, server := newService(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "2" {
			write(w, 200, `{"value": [{"name": "b"}], "nextLink": ""}`)
			return
		}
		write(w, 200, `{"value": [{"name": "a"}], "nextLink": "`+server.URL+`/next?page=2"}`)
	})
	all, err := c.List(t.Context(), drone)
	if err != nil || len(all) != 2 || all[1].Name != "b" {
		t.Errorf("%+v %v", all, err)
	}
}

// The token would go along to wherever a page leads.
func TestListDoesNotFollowALinkToAnotherServer(t *testing.T) {
	var asked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer other.Close()
	c, _ := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		write(w, 200, `{"value": [], "nextLink": "`+other.URL+`/x"}`)
	})
	if _, err := c.List(t.Context(), drone); err == nil || asked.Load() {
		t.Errorf("asked %v, %v", asked.Load(), err)
	}
}

func TestObserveReadsAllPagesOfTheGraph(t *testing.T) {
	const row = `{"id": "/subscriptions/sub/resourceGroups/rg/providers/%P/x/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/%N", "name": "%N",
		"properties": {"gitRepository": {"url": "https://h/o/r"}, "complianceState": "%S", "sourceSyncedCommitId": "dev/abc"}}`
	rowOf := func(provider, name, state string) string {
		return strings.NewReplacer("%P", provider, "%N", name, "%S", state).Replace(row)
	}
	c, _ := newService(t, func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Query   string
			Options map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if !strings.Contains(q.Query, `branch == 'it\'s'`) {
			t.Errorf("query %s", q.Query)
		}
		if q.Options["$skipToken"] == "more" {
			write(w, 200, `{"totalRecords": 3, "data": [`+rowOf("Microsoft.HybridContainerService/provisionedClusters", "b", "Melting")+`]}`)
			return
		}
		write(w, 200, `{"totalRecords": 3, "$skipToken": "more", "data": [`+rowOf("Microsoft.Kubernetes/connectedClusters", "a", "Compliant")+`,{"id": "/other", "name": "blob", "properties": {}}]}`)
	})
	all, err := c.Observe(t.Context(), fleet.Source{Repo: "https://h/o/r.git", Branch: "it's"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]fleet.Configuration{
		{Cluster: "x", Name: "a", Commit: "abc", State: fleet.Compliant},
		// a cluster of another type counts, and a state that is new proves nothing
		{Cluster: "x", Name: "b", Commit: "abc", State: fleet.Unknown},
	}, all); diff != "" {
		t.Error(diff)
	}
}

func TestPutWaitsForTheOperation(t *testing.T) {
	for name, c := range map[string]struct {
		end  string
		fine bool
	}{
		"succeeded": {`{"status": "Succeeded"}`, true},
		"failed":    {`{"status": "Failed", "error": {"code": "AgentError", "message": "no agent"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var polls atomic.Int32
			var server *httptest.Server
			client, server := newService(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After-Ms", "10")
				switch {
				case r.Method == http.MethodPut:
					w.Header().Set("Azure-AsyncOperation", server.URL+"/operation")
					write(w, 201, `{"name": "x", "properties": {"provisioningState": "Creating"}}`)
				case r.URL.Path == "/operation" && polls.Add(1) < 3:
					write(w, 200, `{"status": "InProgress"}`)
				case r.URL.Path == "/operation":
					write(w, 200, c.end)
				default:
					write(w, 200, `{"name": "x", "properties": {"provisioningState": "Succeeded"}}`)
				}
			})
			made, err := client.Put(t.Context(), drone, "x", armapi.Properties{}, true)
			if c.fine && (err != nil || made.Properties.ProvisioningState != "Succeeded") {
				t.Errorf("%+v %v", made, err)
			}
			if !c.fine && (err == nil || Message(err) != "(AgentError) no agent") {
				t.Errorf("%v", Message(err))
			}
			if polls.Load() != 3 {
				t.Errorf("%d polls", polls.Load())
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for status, want := range map[int][2]bool{404: {true, false}, 401: {false, true}, 403: {false, true}, 409: {false, false}} {
		c, _ := newService(t, func(w http.ResponseWriter, _ *http.Request) {
			write(w, status, `{"error": {"code": "Code", "message": "the message"}}`)
		})
		_, err := c.Get(t.Context(), drone, "x")
		if err == nil || IsNotFound(err) != want[0] || IsDenied(err) != want[1] || Message(err) != "(Code) the message" {
			t.Errorf("%d: %v", status, err)
		}
	}
}
