package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
)

// TestGitHub: organisations and teams are groups, of all pages, and a token that is none is refused.
func TestGitHub(t *testing.T) {
	mux := http.NewServeMux()
	var api *httptest.Server
	down := false
	answer := func(path, text, more string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			page := text
			switch {
			case down:
				w.WriteHeader(http.StatusBadGateway)
				return
			case r.Header.Get("Authorization") != "Bearer ghu_ann":
				w.WriteHeader(http.StatusUnauthorized)
				return
			case more != "" && r.URL.Query().Get("page") == "2":
				page = more
			case more != "":
				w.Header().Set("Link", `<`+api.URL+path+`?page=2>; rel="next"`)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(page))
		})
	}
	answer("/user", `{"login": "ann", "id": 1}`, "")
	answer("/user/orgs", `[{"login": "acme"}]`, `[{"login": "other"}]`)
	answer("/user/teams", `[{"slug": "platform", "name": "The platform", "organization": {"login": "acme"}}]`, "")
	api = httptest.NewServer(mux)
	t.Cleanup(api.Close)
	f := &Forge{GitHub: true, URL: "https://github.example.com", API: api.URL, ClientID: "Iv1.0"}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, api.Client())
	p, err := f.user(ctx, &oauth2.Token{AccessToken: "ghu_ann"}, "")
	if diff := cmp.Diff(User{Name: "ann", Login: "ann", Groups: []string{"acme", "acme/platform", "other"}}, p); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	if _, err := f.user(ctx, &oauth2.Token{AccessToken: "ghu_revoked"}, ""); !errors.Is(err, ErrRefused) {
		t.Errorf("error %v", err)
	}
	down = true
	if _, err := f.user(ctx, &oauth2.Token{AccessToken: "ghu_ann"}, ""); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
