package flux

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// corrected is what kustomize-controller posts, as its package runtime/events writes it.
const corrected = `{"involvedObject":{"kind":"Kustomization","namespace":"flux-system","name":"shop-test","uid":"c2f3","apiVersion":"kustomize.toolkit.fluxcd.io/v1","resourceVersion":"4711"},
"severity":"info","timestamp":"2026-03-04T12:00:05Z","message":"Deployment/shop/web configured\nService/shop/web created\nNamespace/shop unchanged",
"reason":"ReconciliationSucceeded","metadata":{"kustomize.toolkit.fluxcd.io/revision":"dev@sha1:0123456789012345678901234567890123456789"},
"reportingController":"kustomize-controller","reportingInstance":"machine"}`

func TestCorrection(t *testing.T) {
	want := Correction{
		Kustomization: Ref{Namespace: "flux-system", Name: "shop-test"}, Commit: "0123456789012345678901234567890123456789",
		At: time.Date(2026, 3, 4, 12, 0, 5, 0, time.UTC), Objects: []string{"Deployment/shop/web", "Service/shop/web"},
	}
	for name, change := range map[string]struct {
		old, new string
		is       bool
	}{
		"the controller's own":               {"", "", true},
		"notification-controller's":          {"kustomize.toolkit.fluxcd.io/revision", "revision", true},
		"of a source":                        {`"kind":"Kustomization"`, `"kind":"GitRepository"`, false},
		"an error":                           {`"severity":"info"`, `"severity":"error"`, false},
		"about health":                       {`Deployment/shop/web configured\nService/shop/web created\nNamespace/shop unchanged`, "Health check passed in 12ms", false},
		"what was removed":                   {`Deployment/shop/web configured\nService/shop/web created\nNamespace/shop unchanged`, `Deployment/shop/web deleted`, false},
		"without a revision":                 {"kustomize.toolkit.fluxcd.io/revision", "other", false},
		"a sentence that ends like a change": {`Deployment/shop/web configured\nService/shop/web created\nNamespace/shop unchanged`, "it was configured", false},
	} {
		var e Event
		if err := json.Unmarshal([]byte(strings.Replace(corrected, change.old, change.new, 1)), &e); err != nil {
			t.Fatal(err)
		}
		made, is := e.Correction()
		if is != change.is {
			t.Errorf("%s: %t", name, is)
		} else if diff := cmp.Diff(want, made); is && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
