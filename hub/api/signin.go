package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
)

// Role is what a user may do, see auth.Role.
type Role auth.Role

// The roles, the one that may least first. Agent is apart from them.
const (
	Viewer   = Role(auth.Viewer)
	Proposer = Role(auth.Proposer)
	Operator = Role(auth.Operator)
	Owner    = Role(auth.Owner)
	Agent    = Role(auth.Agent)
)

// includes is whether a user of the role may do what another role may.
func (r Role) includes(other Role) bool { return auth.Role(r).Includes(auth.Role(other)) }

// signIn finds out who sends a request. A problem is the answer to who cannot be let in.
//
// What was given is looked up before the limit is: tokens and tickets cannot be guessed, so the
// limit saves work, and a script with an old token must not keep out another at its address.
func (a *api) signIn(r *http.Request) *Problem {
	if a.Share != nil {
		return a.shareSignIn(r)
	}
	q := requestOf(r.Context())
	if secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if cluster, ok := a.ClusterTokens.Cluster(secret); ok {
			q.identity, q.via = &store.Identity{Subject: cluster, Role: string(auth.Agent), Cluster: cluster}, "token"
			return nil
		}
		identity, err := a.Store.ByToken(r.Context(), secret)
		if err != nil {
			return a.signInFailed(r, "token", newProblem(http.StatusUnauthorized, "the token is not valid, revoked, or has ended"), err)
		}
		q.identity, q.via = &identity, "token"
		return nil
	}
	p := newProblem(http.StatusUnauthorized, "nobody is signed in")
	p.header = http.Header{"Www-Authenticate": {"Bearer"}}
	cookie, err := r.Cookie(a.cookieName(r))
	if err != nil {
		a.metrics.signInFailures.WithLabelValues("missing").Inc()
		return p
	}
	identity, err := a.Store.BySession(r.Context(), cookie.Value)
	if errors.Is(err, store.ErrNotFound) {
		// An open page asks again and again after its session has ended, so this counts for no limit.
		a.metrics.signInFailures.WithLabelValues("session").Inc()
		p.Detail = "the session has ended"
		return p
	}
	if err != nil {
		return asProblem(r.Context(), err)
	}
	q.via, q.session = "session", cookie.Value
	if identity.External != nil {
		if p := a.external(r, &identity); p != nil {
			return p
		}
	}
	q.identity = &identity
	return nil
}

// external gives who has signed in by a provider their role, and asks the provider again when that
// is due.
func (a *api) external(r *http.Request, who *store.Identity) *Problem {
	q := requestOf(r.Context())
	err := a.SignIn.Check(r.Context(), a.Store, q.session, who.External)
	if errors.Is(err, auth.ErrRefused) {
		a.metrics.signInFailures.WithLabelValues("session").Inc()
		q.log.Info("a session has ended: its provider has refused it", "user", who.Subject, "reason", err)
		if err := a.Store.EndSession(r.Context(), q.session); err != nil {
			return asProblem(r.Context(), err)
		}
		return newProblem(http.StatusUnauthorized, "the session has ended: "+err.Error())
	}
	if err != nil {
		return asProblem(r.Context(), err)
	}
	if !a.SignIn.Resolve(who) {
		q.identity = who // for the audit
		return newProblemOf("no-role", text(who.Subject)+" has no role in this hub")
	}
	return nil
}

// signInFailed is the answer to a token or a ticket that is not valid, unless it is the store
// that has failed.
func (a *api) signInFailed(r *http.Request, reason string, p *Problem, err error) *Problem {
	if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrSpent) {
		return asProblem(r.Context(), err)
	}
	q := requestOf(r.Context())
	q.failedSignIn, q.via = true, reason
	a.metrics.signInFailures.WithLabelValues(reason).Inc()
	if wait := a.failures.Wait(a.address(r)); wait > 0 {
		return tooMany(wait)
	}
	p.header = http.Header{"Www-Authenticate": {"Bearer"}}
	return p
}

func tooMany(wait time.Duration) *Problem {
	p := newProblemOf("too-many-sign-ins", fmt.Sprintf("%d sign-ins in a minute have failed from this address", auth.FailuresPerMinute))
	p.header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(wait.Seconds())))}}
	return p
}

func asProblem(ctx context.Context, err error) *Problem {
	var p *Problem
	errors.As(failed(ctx, err), &p)
	return p
}

// admit lets those pass who are signed in, may do the operation, and are not a page of elsewhere.
func (a *api) admit(ctx huma.Context, next func(huma.Context)) {
	r, rw := humago.Unwrap(ctx)
	o := ctx.Operation()
	if o.Metadata[metaOpen] == true {
		next(ctx)
		return
	}
	if p := a.signIn(r); p != nil {
		a.refuse(rw, r, p)
		return
	}
	q := requestOf(r.Context())
	role, audited := roleOf(o), o.Metadata[metaAudited] == true
	q.audited, q.quiet = audited, o.Metadata[metaQuiet] == true
	if !Role(q.identity.Role).includes(role) {
		p := newProblem(http.StatusForbidden, fmt.Sprintf("%s needs the role %s, this sign-in has %s", o.OperationID, role, q.identity.Role))
		a.refuse(rw, r, p)
		return
	}
	if q.via == "session" && writes(r) && subtle.ConstantTimeCompare([]byte(r.Header.Get("X-CSRF")), []byte(q.identity.CSRF)) != 1 {
		a.refuse(rw, r, newProblemOf("missing-csrf", "X-CSRF is not what /api/v1/me has"))
		return
	}
	if p := repeated(o, r); p != nil {
		a.refuse(rw, r, p)
		return
	}
	if o.Metadata[metaTagged] == true {
		tag, err := a.entityTag(r.Context())
		if err != nil {
			a.refuse(rw, r, asProblem(r.Context(), err))
			return
		}
		// Browsers keep nothing, see secureHeaders: "as of" grows without a transition, and pages
		// show it. The tag is for scripts that wait for one.
		rw.Header().Set("Etag", tag)
		rw.Header().Add("Vary", "Accept, Authorization, Cookie")
		if slices.Contains(strings.Split(strings.ReplaceAll(r.Header.Get("If-None-Match"), " ", ""), ","), tag) {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
	}
	next(huma.WithContext(ctx, a.SignIn.As(ctx.Context(), q.session, q.identity.External)))
}

// repeated is about a parameter that is given several times and takes one value: the others
// would have no effect.
func repeated(o *huma.Operation, r *http.Request) *Problem {
	query := r.URL.Query()
	for _, parameter := range o.Parameters {
		if parameter.In == "query" && parameter.Schema.Type != huma.TypeArray && len(query[parameter.Name]) > 1 {
			return newProblem(http.StatusUnprocessableEntity, "query."+parameter.Name+" is given several times and takes one value").at("query."+parameter.Name, query[parameter.Name])
		}
	}
	return nil
}

// entityTag changes with every transition that was stored, and with what a user may see.
func (a *api) entityTag(ctx context.Context) (string, error) {
	last, err := a.Store.LastMessage(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`W/"%s-%s-%d"`, a.started[:8], digest(requestOf(ctx).identity), last), nil
}

// cookieName has the port: browsers send the cookies of a host to all of its ports, and a
// machine may have several sandboxes.
func (a *api) cookieName(r *http.Request) string {
	name := "kalypso_hub"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "_" + port
	}
	if a.Secure {
		return "__Host-" + name
	}
	return name
}

func (a *api) setCookie(rw http.ResponseWriter, r *http.Request, value string, expires time.Time) {
	age := int(time.Until(expires).Seconds())
	if value == "" {
		age = -1
	}
	http.SetCookie(rw, &http.Cookie{Name: a.cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.Secure, SameSite: http.SameSiteStrictMode})
}

// enter spends a ticket for a session. It is POST: what only looks at a link spends nothing.
func (a *api) enter(rw http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		a.refuse(rw, r, newProblem(http.StatusUnsupportedMediaType, "the ticket comes as application/json"))
		return
	}
	var body struct {
		Ticket string `json:"ticket"`
	}
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(bodyTimeout)) // what has no connection has no deadline
	in := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxBody))
	in.DisallowUnknownFields()
	err := in.Decode(&body)
	if err == nil && !errors.Is(in.Decode(new(any)), io.EOF) {
		err = errors.New("there is something behind the JSON")
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		a.refuse(rw, r, newProblem(http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB"))
		return
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field"):
		a.refuse(rw, r, newProblem(http.StatusUnprocessableEntity, err.Error()).at("body", nil))
		return
	case err != nil:
		a.refuse(rw, r, newProblem(http.StatusBadRequest, "the body is no JSON object with a ticket").at("body", nil))
		return
	case body.Ticket == "":
		a.refuse(rw, r, newProblem(http.StatusUnprocessableEntity, "there is no ticket").at("body.ticket", nil))
		return
	}
	spend, spent := a.Store.SpendTicket, "the link was used, or its minute is over"
	if a.Share != nil {
		spend, spent = a.Share.enter, "the share that the link is of has ended"
	}
	session, identity, err := spend(r.Context(), body.Ticket)
	if err != nil {
		a.refuse(rw, r, a.signInFailed(r, "ticket", newProblemOf("spent-ticket", spent), err))
		return
	}
	q := requestOf(r.Context())
	q.identity, q.via = &identity, "ticket"
	a.setCookie(rw, r, session, identity.Expires)
	rw.WriteHeader(http.StatusNoContent)
}

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
