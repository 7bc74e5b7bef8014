package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// Me is who is signed in.
	Me struct {
		Subject string `json:"subject" doc:"The name of the token, or of the user."`
		Role    Role   `json:"role"`
		Scope   Scope  `json:"scope"`
		// CSRF is what writes by the cookie carry as X-CSRF.
		CSRF     string            `json:"csrf" doc:"Writes by the cookie carry it in the header X-CSRF; empty for a token."`
		Expires  time.Time         `json:"expires,omitzero"`
		Features Features          `json:"features"`
		Links    map[string]string `json:"links" doc:"Where the forge and Argo CD are, by name."`
	}
	// Scope is what a user may see.
	Scope struct {
		Workspaces   []string `json:"workspaces" doc:"Empty: all."`
		Environments []string `json:"environments" doc:"Empty: all."`
	}
	// Features are the parts that a hub may have.
	Features struct {
		Sandbox bool `json:"sandbox"`
	}
)

func scopeDocument(s store.Scope) Scope {
	return Scope{Workspaces: orEmpty(s.Workspaces), Environments: orEmpty(s.Environments)}
}

// digest stands for what an identity may see.
func digest(i *store.Identity) string {
	all, err := json.Marshal(struct {
		Role  string
		Scope Scope
	}{i.Role, scopeDocument(i.Scope)})
	if err != nil {
		panic(err) // strings always can be
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:4])
}

func (a *api) identityRoutes() {
	get(a, operation{id: "getMe", path: "/me", summary: "Who is signed in, and what this hub has"}, a.me)
	huma.Register(a.huma, operation{id: "deleteSession", path: "/session", summary: "Sign out", method: http.MethodDelete, status: http.StatusNoContent}.huma(), a.signOut)
}

func (a *api) me(ctx context.Context, _ *struct{}) (Me, error) {
	i := requestOf(ctx).identity
	links := a.Links
	if links == nil {
		links = map[string]string{}
	}
	return Me{
		Subject: i.Subject, Role: Role(i.Role), Scope: scopeDocument(i.Scope), CSRF: i.CSRF, Expires: i.Expires,
		Features: Features{Sandbox: a.Sandbox != nil}, Links: links,
	}, nil
}

func (a *api) signOut(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if session := requestOf(ctx).session; session != "" {
		if err := a.Store.EndSession(ctx, session); err != nil {
			return nil, failed(ctx, err)
		}
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, rw := humago.Unwrap(c)
		a.setCookie(rw, r, "", time.Time{})
		rw.WriteHeader(http.StatusNoContent)
	}}, nil
}
