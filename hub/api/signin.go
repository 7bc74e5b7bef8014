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

// Share is the sign-in of a hub that is shown to others on a network for a while: by a link
// that any number of them may use, to look and no more. It knows nobody else: tickets,
// sessions and tokens of the hub itself are worth nothing there, nor is the link here.
type Share struct {
	// Token is the secret in the link.
	Token string
}

// guest is who comes by the link.
func (s *Share) guest() store.Identity {
	return store.Identity{Subject: "guest", Role: string(Viewer)}
}

// enter makes a session of the link's token. Sessions end with the share, which alone
// knows it: what a browser keeps is the token itself.
func (s *Share) enter(_ context.Context, token string) (session string, who store.Identity, err error) {
	if !s.knows(token) {
		return "", store.Identity{}, fmt.Errorf("the link of the share: %w", store.ErrNotFound)
	}
	who = s.guest()
	who.Expires = time.Now().Add(shareSession)
	return s.Token, who, nil
}

// shareSession is for how long a browser keeps that it has come by the link.
const shareSession = 12 * time.Hour

func (s *Share) knows(token string) bool {
	return s.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1
}

// shareSignIn is signIn for who comes by the link.
func (a *api) shareSignIn(r *http.Request) *Problem {
	q := requestOf(r.Context())
	cookie, err := r.Cookie(a.cookieName(r))
	switch {
	case r.Header.Get("Authorization") != "":
		return a.signInFailed(r, "token", newProblem(http.StatusUnauthorized, "tokens are not taken where the hub is shared: open the link of `kalypso up --share`"), store.ErrNotFound)
	case err != nil:
		a.metrics.signInFailures.WithLabelValues("missing").Inc()
		return newProblem(http.StatusUnauthorized, "nobody is signed in")
	case !a.Share.knows(cookie.Value):
		// an open page asks again and again after its share has ended, so this counts for no limit
		a.metrics.signInFailures.WithLabelValues("session").Inc()
		return newProblem(http.StatusUnauthorized, "the share has ended")
	}
	who := a.Share.guest()
	q.identity, q.via, q.session = &who, "share", cookie.Value
	return nil
}
