package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
)

type (
	// Ways are how users can sign in.
	Ways struct {
		Ways    []Way `json:"ways"`
		Sandbox bool  `json:"sandbox" doc:"The hub is that of a sandbox: kalypso open hub signs in."`
	}
	// Way is one of them.
	Way struct {
		Name  string `json:"name"`
		Title string `json:"title"`
		Path  string `json:"path" doc:"Where a browser goes; with to, the path of the page that is shown then."`
	}
	// Me is who is signed in.
	Me struct {
		Subject string `json:"subject" doc:"The name of the token, or of the user."`
		Role    Role   `json:"role"`
		Scope   Scope  `json:"scope"`
		// CSRF is what writes by the cookie carry as X-CSRF.
		CSRF     string            `json:"csrf" doc:"Writes by the cookie carry it in the header X-CSRF; empty for a token."`
		Expires  time.Time         `json:"expires,omitzero"`
		Features Features          `json:"features"`
		Links    map[string]string `json:"links" doc:"Where the forge and Argo CD are, by name; and forgeFiles, what is between a repository and a branch in the path of a file's page."`
	}
	// Scope is what a user may see.
	Scope struct {
		Workspaces   []string `json:"workspaces" doc:"Empty: all."`
		Environments []string `json:"environments" doc:"Empty: all."`
	}
	// Features are the parts that a hub may have.
	Features struct {
		Sandbox   bool `json:"sandbox"`
		Workshop  bool `json:"workshop"`
		Proposals bool `json:"proposals"`
	}
)

func scopeDocument(s store.Scope) Scope {
	return Scope{Workspaces: orEmpty(s.Workspaces), Environments: orEmpty(s.Environments)}
}

func (a *api) identityRoutes() {
	get(a, operation{id: "getSignIn", path: "/sign-in", summary: "The ways to sign in", open: true}, func(context.Context, *struct{}) (Ways, error) {
		all := Ways{Ways: []Way{}, Sandbox: a.Sandbox != nil}
		for _, w := range a.SignIn.Ways() {
			all.Ways = append(all.Ways, Way{w.Name, w.Title, "/signin/" + w.Name})
		}
		return all, nil
	})
	a.mux.HandleFunc("GET /signin/{way}", a.begin)
	a.mux.HandleFunc("GET /signin/{way}/callback", a.callback)
	get(a, operation{id: "getMe", path: "/me", summary: "Who is signed in, and what this hub has"}, a.me)
	huma.Register(a.huma, operation{id: "deleteSession", path: "/session", summary: "Sign out", method: http.MethodDelete, status: http.StatusNoContent}.huma(), a.signOut)
}

// flowCookie is what a browser keeps while its user is at a provider. That sends it back from
// elsewhere, so it is not strict as the session's is.
func (a *api) flowCookie(rw http.ResponseWriter, r *http.Request, value string) {
	age := int(auth.FlowLimit.Seconds())
	if value == "" {
		age = -1
	}
	http.SetCookie(rw, &http.Cookie{Name: a.cookieName(r) + "_signin", Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.Secure, SameSite: http.SameSiteLaxMode})
}

// begin sends a browser to a provider.
func (a *api) begin(rw http.ResponseWriter, r *http.Request) {
	address, kept, err := a.SignIn.Start(r.Context(), r.PathValue("way"), r.URL.Query().Get("to"))
	if err != nil {
		a.showProblem(rw, r, a.waysProblem(r, err))
		return
	}
	secureHeaders(rw.Header())
	a.flowCookie(rw, r, kept)
	http.Redirect(rw, r, address, http.StatusSeeOther)
}

// callback is where a provider sends the browser back to.
func (a *api) callback(rw http.ResponseWriter, r *http.Request) {
	way := r.PathValue("way")
	q := requestOf(r.Context())
	q.audited, q.via = true, way
	if wait := a.failures.Blocked(a.address(r)); wait > 0 {
		a.showProblem(rw, r, tooMany(wait))
		return
	}
	kept := ""
	if c, err := r.Cookie(a.cookieName(r) + "_signin"); err == nil {
		kept = c.Value
		a.flowCookie(rw, r, "") // it is good for one sign-in
	}
	who, back, seals, err := a.SignIn.Finish(r.Context(), way, kept, r.URL.Query())
	if err != nil {
		a.showProblem(rw, r, a.waysProblem(r, err))
		return
	}
	q.identity = &who
	if !a.SignIn.Resolve(&who) {
		a.showProblem(rw, r, newProblemOf("no-role", text(who.Subject)+" has no role in this hub"))
		return
	}
	session, signedIn, err := a.Store.CreateSession(r.Context(), who, seals)
	if err != nil {
		a.showProblem(rw, r, asProblem(r.Context(), err))
		return
	}
	secureHeaders(rw.Header())
	a.setCookie(rw, r, session, signedIn.Expires)
	http.Redirect(rw, r, back, http.StatusSeeOther)
}

// waysProblem is the answer to a sign-in by a provider that did not succeed.
func (a *api) waysProblem(r *http.Request, err error) *Problem {
	switch {
	case errors.Is(err, auth.ErrUnknownWay):
		return newProblem(http.StatusNotFound, err.Error())
	case errors.Is(err, auth.ErrUnavailable):
		requestOf(r.Context()).log.Warn("a provider of sign-ins fails", "reason", err)
		a.metrics.signInFailures.WithLabelValues("provider").Inc()
		return newProblemOf("provider-unavailable", err.Error())
	case errors.Is(err, auth.ErrRefused):
		q := requestOf(r.Context())
		q.failedSignIn = true
		a.metrics.signInFailures.WithLabelValues("refused").Inc()
		if wait := a.failures.Wait(a.address(r)); wait > 0 {
			return tooMany(wait)
		}
		return newProblemOf("sign-in-failed", err.Error())
	}
	return asProblem(r.Context(), err)
}

func (a *api) me(ctx context.Context, _ *struct{}) (Me, error) {
	i := requestOf(ctx).identity
	links := a.Links
	if links == nil {
		links = map[string]string{}
	}
	return Me{
		Subject: i.Subject, Role: Role(i.Role), Scope: scopeDocument(i.Scope), CSRF: i.CSRF, Expires: i.Expires,
		Features: Features{Sandbox: a.Sandbox != nil, Workshop: a.Workshop != nil, Proposals: a.Proposals != nil}, Links: links,
	}, nil
}

func (a *api) signOut(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if session := requestOf(ctx).session; session != "" && a.Share == nil {
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
