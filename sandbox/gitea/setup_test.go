package gitea

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"code.gitea.io/sdk/gitea"
	"github.com/google/go-cmp/cmp"
)

// A sandbox of an older kalypso has a webhook for each receiver, and the user may
// have made others.
func TestOneWebhookReplacesThoseOfAnOlderSandbox(t *testing.T) {
	hooks := map[string]string{"1": "http://old", "2": "http://users", "3": "http://older"}
	mux := http.NewServeMux()
	const path = "/api/v1/orgs/kalypso/hooks"
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		var all []gitea.Hook
		for id, url := range hooks {
			h := gitea.Hook{Config: map[string]string{"url": url}}
			_, _ = fmt.Sscan(id, &h.ID)
			all = append(all, h)
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var o gitea.CreateHookOption
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil || !o.Active || o.Config["secret"] != "s" || !slices.Equal(o.Events, []string{"push"}) {
			t.Errorf("%+v, %v", o, err)
		}
		hooks[fmt.Sprint(len(hooks)+1)] = o.Config["url"]
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("{}"))
	})
	mux.HandleFunc("DELETE "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		delete(hooks, r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c, err := Server{URL: server.URL}.client("token")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ensureHook(c, "kalypso", Hook{URL: "http://one", Secret: "s", Events: []string{"push"}, Replaces: []string{"http://old", "http://older"}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"http://one", "http://users"}, slices.Sorted(maps.Values(hooks))); diff != "" {
			t.Error(diff)
		}
	}
}
