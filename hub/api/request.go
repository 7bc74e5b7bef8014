package api

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// auditTimeout is how long a line of the audit may take to be written.
const auditTimeout = 5 * time.Second

// request is what is known of a request while it is answered.
type request struct {
	id       string
	identity *store.Identity // nil before sign-in
	via      string          // "token", "session", "ticket" or a way of auth.SignIn; "" before sign-in
	session  string          // the cookie's value
	log      *slog.Logger
	schemas  huma.Registry // of the API that answers
	// unlimited ends with the client's connection only, not with a timeout.
	unlimited context.Context
	// audited says that the request belongs into the audit, whatever becomes of it. Writes and
	// refusals do in any case.
	audited bool
	// quiet says that the request does not, unless it is refused.
	quiet bool
	// hidden says that what is not found is there, and out of the user's scope.
	hidden bool
	// failedSignIn says that a token or ticket was given, and was not valid.
	failedSignIn bool
	detail       string // for the audit: a refusal's reason, or what was made
}

type requestKey struct{}

// requestOf is the request that a context belongs to.
func requestOf(ctx context.Context) *request {
	q, _ := ctx.Value(requestKey{}).(*request)
	if q == nil {
		return &request{log: slog.Default()}
	}
	return q
}

// actor tells a user from all others. Names that are shown do not: an OpenID provider may give two
// users the same.
func (q *request) actor() string {
	if e := q.identity.External; e != nil {
		return e.Way + ":" + e.Login
	}
	return q.identity.Subject
}

// scopeOf is what the user of a request may see.
func scopeOf(ctx context.Context) store.Scope {
	return requestOf(ctx).identity.Scope
}

// newID is unguessable and unique.
func newID() string { return strings.ToLower(rand.Text()) }

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int // 0 before the header is written
}

func (rw *recorder) WriteHeader(code int) {
	if rw.status == 0 {
		rw.status = code
	}
	rw.ResponseWriter.WriteHeader(code)
}

func (rw *recorder) Write(b []byte) (int, error) {
	if rw.status == 0 {
		rw.status = http.StatusOK
	}
	return rw.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (rw *recorder) Unwrap() http.ResponseWriter { return rw.ResponseWriter }

// ServeHTTP is around every request: its ID, who is answered at all, metrics, the audit.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	q := &request{id: newID(), schemas: a.huma.OpenAPI().Components.Schemas}
	q.log = a.Log.With("request", q.id)
	ctx := context.WithValue(r.Context(), requestKey{}, q)
	q.unlimited = ctx
	if !streams(r) {
		limit := readTimeout
		switch {
		case writes(r):
			limit = changeTimeout
		case r.URL.Path == prefix+deploymentPath:
			limit += maxWait
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	r = r.WithContext(ctx)
	rw := &recorder{ResponseWriter: w}
	rw.Header().Set("X-Request-Id", q.id)
	a.answer(rw, r)
	if rw.status == 0 {
		rw.status = http.StatusOK // what net/http sends for an answer without one
	}
	a.metrics.observe(r, rw.status, time.Since(began))
	a.audit(r, rw.status)
}

func (a *api) answer(rw *recorder, r *http.Request) {
	defer func() {
		failure := recover()
		if failure == nil {
			return
		}
		if err, ok := failure.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(failure)
		}
		requestOf(r.Context()).log.Error("a request has failed", "path", r.URL.Path, "panic", failure, "stack", string(debug.Stack()))
		if rw.status == 0 {
			a.refuse(rw, r, internalProblem())
		}
	}()
	probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz" // their callers know addresses, not names
	if !probe && !a.knownHost(r.Host) {
		a.refuse(rw, r, newProblem(http.StatusMisdirectedRequest, "the hub does not answer for host "+text(r.Host)))
		return
	}
	if err := a.crossOrigin.Check(r); err != nil {
		a.refuse(rw, r, newProblemOf("cross-origin", "the request comes from a page of another origin"))
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/enter" && r.Method == http.MethodPost {
		secureHeaders(rw.Header())
	}
	if streams(r) {
		a.mux.ServeHTTP(rw, r)
		return
	}
	a.handler.ServeHTTP(rw, r)
}

// secureHeaders keep a browser from taking an answer of the API for anything else.
func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

func (a *api) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return slices.ContainsFunc(a.Hosts, func(known string) bool {
		return strings.EqualFold(known, host) || strings.EqualFold(known, name) || strings.EqualFold(strings.Trim(known, "[]"), name)
	})
}

// audit writes down who has changed something, and who was refused. What nobody has signed in
// for is limited: it must not fill the store.
func (a *api) audit(r *http.Request, status int) {
	q := requestOf(r.Context())
	switch {
	case q.identity != nil:
		if !(writes(r) && !q.quiet) && !q.audited && !q.hidden && status != http.StatusForbidden {
			return
		}
	case q.failedSignIn && status != http.StatusTooManyRequests:
	case status == http.StatusForbidden, status == http.StatusMisdirectedRequest:
		if !a.failures.Allow(a.address(r)) {
			return
		}
	default:
		return
	}
	entry := store.Entry{At: time.Now(), Via: q.via, Action: r.Method + " " + pattern(r), Subject: r.URL.Path, Outcome: "done", RequestID: q.id, Detail: q.detail}
	switch {
	case status >= http.StatusInternalServerError:
		entry.Outcome = "failed"
	case status >= http.StatusBadRequest:
		entry.Outcome = "refused"
	}
	entry.Actor = a.address(r)
	if q.identity != nil {
		entry.Actor = q.identity.Subject
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	if err := a.Store.Audit(ctx, entry); err != nil {
		q.log.Error("the audit cannot be written", "actor", entry.Actor, "action", entry.Action, "subject", entry.Subject, "outcome", entry.Outcome, "error", err)
	}
}

// writes is whether a request may change something.
func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// pattern is the route of a request, without what it names: "other" where there is none.
func pattern(r *http.Request) string {
	if r.Pattern == "" {
		return "other"
	}
	_, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		return r.Pattern
	}
	return path
}

// address is who sends a request; of IPv6 the network, which is one user's.
func (a *api) address(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := from.Addr().Unmap().WithZone("")
	if a.BehindProxy {
		// what comes before the last was sent by the client, and can be anything
		said := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
		if client, err := netip.ParseAddr(strings.TrimSpace(said[strings.LastIndex(said, ",")+1:])); err == nil {
			ip = client.Unmap().WithZone("")
		}
	}
	if ip.Is6() {
		network, _ := ip.Prefix(64) // an error needs a length that the address does not have
		return network.String()
	}
	return ip.String()
}

// metrics are what Prometheus reads of the API. Routes are patterns, so that names of clusters
// and targets make no series.
type metrics struct {
	requests       *prometheus.HistogramVec
	clients        prometheus.Gauge
	signInFailures *prometheus.CounterVec
	reports        *prometheus.CounterVec
	clampedTimes   prometheus.Counter
	proposals      *prometheus.CounterVec
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kalypso_hub_http_request_duration_seconds", Help: "How long requests took, without live events and logs.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method", "code"}),
		clients: prometheus.NewGauge(prometheus.GaugeOpts{Name: "kalypso_hub_sse_clients", Help: "Readers of live events."}),
		signInFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_auth_failures_total", Help: "Requests that nobody was signed in for: with a token, session or ticket that is not valid, or missing.",
		}, []string{"reason"}),
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_reports_total", Help: "Reports of agents that were received, or refused because the token is of another cluster.",
		}, []string{"result"}),
		clampedTimes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_hub_report_times_clamped_total", Help: "Times in reports of agents that were more than five minutes ahead of the hub's clock.",
		}),
		proposals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_hub_proposals_total", Help: "Requests for pull requests with edits: opened, repeated (it was there), closed, stale (the branch has moved), refused, failed.",
		}, []string{"result"}),
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.clients, m.signInFailures, m.reports, m.clampedTimes, m.proposals)
	}
	return m
}

func (m *metrics) observe(r *http.Request, status int, took time.Duration) {
	if streams(r) && status == http.StatusOK {
		return
	}
	method := r.Method
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}, method) {
		method = "other" // clients may send any word
	}
	m.requests.WithLabelValues(pattern(r), method, strconv.Itoa(status)).Observe(took.Seconds())
}
