package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/store"
)

// TestTargetHistory: a name that there is not is 404, with the nearest, and so is one out of scope.
func TestTargetHistory(t *testing.T) {
	h := newHub(t)
	var all api.List[api.TargetEvent]
	a := h.do(http.MethodGet, "/api/v1/targets/web-east/history?env=dev", "")
	if err := json.Unmarshal(a.body, &all); err != nil {
		t.Fatalf("%s: %s: %v", a.Status, a.body, err)
	}
	if len(all.Items) == 0 || all.Items[0].Kind != "transition" || all.Items[0].Environment != "dev" || all.Items[0].Cluster == "" || all.Items[0].ToState != "ok" || all.AsOf.IsZero() {
		t.Errorf("%+v", all)
	}
	for path, code := range map[string]int{
		"/targets/web-esat/history": http.StatusNotFound, "/targets/web-east/history?env=none": http.StatusNotFound, "/targets/web-east/history?cluster=none": http.StatusNotFound,
		"/targets/web-east/history?sort=at": http.StatusUnprocessableEntity,
	} {
		if a := h.do(http.MethodGet, "/api/v1"+path, ""); a.StatusCode != code {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
	}
	others := h.token("others", api.Viewer, store.Scope{Workspaces: []string{"nobody"}})
	if a := h.do(http.MethodGet, "/api/v1/targets/web-east/history", "", as(others)); a.StatusCode != http.StatusNotFound {
		t.Errorf("out of scope: %s: %s", a.Status, a.body)
	}
}
