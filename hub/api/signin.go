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
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// Role is what a user may do. Each may do what those before it may.
type Role string

// The roles, the one that may least first.
const (
	Viewer   Role = "viewer"   // reads what is in its scope
	Proposer Role = "proposer" // opens pull requests there
	Operator Role = "operator" // reads all; tokens and the audit
	Owner    Role = "owner"    // of a sandbox: its components and clusters
)

func roles() []Role { return []Role{Viewer, Proposer, Operator, Owner} }

// includes is whether a user of the role may do what another role may. A role that is not known
// may do nothing.
func (r Role) includes(other Role) bool {
	have, need := slices.Index(roles(), r), slices.Index(roles(), other)
	return have >= 0 && need >= 0 && have >= need
}

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
	q.identity, q.via, q.session = &identity, "session", cookie.Value
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
	if wait := a.failures.wait(address(r)); wait > 0 {
		p = newProblemOf("too-many-sign-ins", fmt.Sprintf("%d sign-ins in a minute have failed from this address", failuresPerMinute))
		p.header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(wait.Seconds())))}}
		return p
	}
	p.header = http.Header{"Www-Authenticate": {"Bearer"}}
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
	if p := a.signIn(r); p != nil {
		a.refuse(rw, r, p)
		return
	}
	q := requestOf(r.Context())
	o := ctx.Operation()
	role, audited := roleOf(o), o.Metadata[metaAudited] == true
	q.audited = audited
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
	next(ctx)
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

// failuresPerMinute is how many sign-ins of one address may fail in a minute.
const failuresPerMinute = 20

// limiter counts failures by address. It forgets the addresses that have failed longest ago.
type limiter struct {
	byAddress *lru.Cache[string, *rate.Limiter]
}

func newLimiter() *limiter {
	all, _ := lru.New[string, *rate.Limiter](4096) // fails for a size below 1
	return &limiter{byAddress: all}
}

func (l *limiter) of(address string) *rate.Limiter {
	fresh := rate.NewLimiter(rate.Every(time.Minute/failuresPerMinute), failuresPerMinute)
	if known, ok, _ := l.byAddress.PeekOrAdd(address, fresh); ok {
		l.byAddress.Get(address)
		return known
	}
	return fresh
}

// allow counts a failure, and is whether it is within the limit.
func (l *limiter) allow(address string) bool { return l.of(address).Allow() }

// wait counts a failure, and is how long the address has to wait before the next; 0 within the
// limit.
func (l *limiter) wait(address string) time.Duration {
	one := l.of(address)
	if one.Allow() {
		return 0
	}
	r := one.Reserve()
	defer r.Cancel()
	return r.Delay()
}

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
		Links    map[string]string `json:"links" doc:"Where the forge and Argo CD are, by name; and forgeFiles, what is between a repository and a branch in the path of a file's page."`
	}
	// Scope is what a user may see.
	Scope struct {
		Workspaces   []string `json:"workspaces" doc:"Empty: all."`
		Environments []string `json:"environments" doc:"Empty: all."`
	}
	// Features are the parts that a hub may have.
	Features struct {
		Sandbox  bool `json:"sandbox"`
		Workshop bool `json:"workshop"`
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
		Features: Features{Sandbox: a.Sandbox != nil, Workshop: a.Workshop != nil}, Links: links,
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
