package arc

import (
	"net/http"
	"strings"
	"testing"

	client "github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
)

func TestResourcesOfAGroup(t *testing.T) {
	w := newWorld(t)
	if _, err := w.arm.Put(t.Context(), drone, "platform-qa", wanted()); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{group, strings.ToUpper(group), ""} {
		all, err := w.arm.ListResources(t.Context(), of)
		if err != nil || len(all) != 1 || all[0]["id"] != base1 || all[0]["type"] != "Microsoft.Kubernetes/connectedClusters" || all[0]["location"] == "" {
			t.Errorf("%q: %v %v", of, all, err)
		}
	}
	if _, err := w.arm.ListResources(t.Context(), "other"); !client.IsNotFound(err) {
		t.Errorf("%v", err)
	}
	of := "/subscriptions/" + subscription + "/resourceGroups/" + group + "/resources"
	for path, status := range map[string]int{
		of + version: http.StatusOK,
		of:           http.StatusBadRequest,
		of + version + "&$filter=name%20eq%20'x'":    http.StatusBadRequest,
		of + "/more" + version:                       http.StatusNotFound,
		"/subscriptions/other/resources" + version:   http.StatusNotFound,
		strings.Replace(of, group, "x", 1) + version: http.StatusNotFound,
	} {
		if response, body := w.request(t, http.MethodGet, path, ""); response.StatusCode != status {
			t.Errorf("%s: %s %v", path, response.Status, body)
		}
	}
	if response, _ := w.request(t, http.MethodPost, of+version, ""); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%s", response.Status)
	}
}

// Clusters are connected ones, whatever their configurations are kept as.
func TestNoManagedCluster(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"drone", "other"} {
		_, err := w.arm.ManagedCluster(t.Context(), group, name)
		if !client.IsNotFound(err) || !strings.HasPrefix(client.Message(err), "(ResourceNotFound) The Resource 'Microsoft.ContainerService/managedClusters/"+name+"'") {
			t.Errorf("%v", err)
		}
	}
}
