package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/pkg/client/clientset/versioned/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRefreshWhenUp(t *testing.T) {
	app := func(name string) *v1alpha1.Application {
		return &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	}
	apps := fake.NewSimpleClientset(app("dev"), app("stage"))
	asked := 0
	health := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if len(apps.Actions()) > 0 {
			t.Error("refreshed before it was up")
		}
	}))
	defer health.Close()
	if err := refreshWhenUp(t.Context(), health.URL, apps); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dev", "stage"} {
		a, err := apps.ArgoprojV1alpha1().Applications(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if asked, ok := a.IsRefreshRequested(); !ok || asked != v1alpha1.RefreshTypeNormal {
			t.Errorf("%s: refresh requested: %v %q", name, ok, asked)
		}
	}
}
