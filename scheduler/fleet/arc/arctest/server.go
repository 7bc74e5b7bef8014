// Package arctest is an Azure in this process for tests: the part of Azure
// Resource Manager that a fleet needs, the Resource Graph, and the endpoints of
// Entra and of a managed identity that hand out tokens. It keeps state.
//
// It refuses what the documented API refuses, with the documented status and
// code, and it is stricter where Azure lets things pass: a field that the
// documentation does not have is refused, and so is one that only the service
// may set. Where a rule comes from is said where it is kept; "docs" stands for
// learn.microsoft.com.
//
// It is reached by the names of all of Azure's clouds through
// [Server.Transport], over TLS, so that a program asks what it would ask Azure.
//
// A test acts by [Server.Cluster], [Server.Follow] and their like, and makes
// requests fail by [Server.Fail].
package arctest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/scheduler/httpfault"
)

// Tenant is the directory of the server's accounts and subscriptions.
const Tenant = "72f988bf-0000-4000-8000-2d7cd011db47"

// Server is an Azure.
type Server struct {
	tls, plain *httptest.Server
	faults     httpfault.Faults[Call]

	mu             sync.Mutex
	secrets        map[string]string // of applications, by ID
	tokens         map[string]*token
	roles          map[string][]role        // by application
	subscriptions  map[string]*subscription // by ID in lower case
	configurations map[string]*configuration
	operations     map[string]*operation
	broken         object // see Break
	pageSize       int
	quota          int // Resource Graph queries that are left; -1 for no end
	calls          []Call
	next           int
}

// Call is a request that came.
type Call struct {
	Host   string // as the program named it
	Method string
	Path   string
	Status int
	Login  bool // to an endpoint that hands out tokens
}

// TB is what a server needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(do func())
}

// Start starts an Azure that ends with the test.
func Start(tb TB) *Server {
	tb.Helper()
	s := &Server{
		secrets: map[string]string{}, tokens: map[string]*token{}, roles: map[string][]role{},
		subscriptions: map[string]*subscription{}, configurations: map[string]*configuration{}, operations: map[string]*operation{},
		pageSize: 100, quota: -1,
	}
	s.tls, s.plain = httptest.NewTLSServer(s), httptest.NewServer(s)
	tb.Cleanup(s.tls.Close)
	tb.Cleanup(s.plain.Close)
	return s
}

// Transport leads here whatever the host.
func (s *Server) Transport() *http.Client {
	trust := s.tls.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trust.ServerName = "example.com" // what the server's certificate is for
	to := func(address string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
	secure := to(s.tls.Listener.Addr().String())
	return &http.Client{Transport: &http.Transport{
		DialContext: to(s.plain.Listener.Addr().String()),
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := secure(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return tls.Client(conn, trust), nil
		},
	}}
}

// Fail makes requests fail until the fault is used up. It returns what ends it.
func (s *Server) Fail(f httpfault.Fault[Call]) (end func()) { return s.faults.Add(f) }

// Calls returns the requests since the last time, and forgets them.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.calls
	s.calls = nil
	return all
}

// Pages sets how many entries a page of a list or of the graph has.
func (s *Server) Pages(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = size
}

// Quota leaves so many queries to the Resource Graph, until they are filled up.
func (s *Server) Quota(left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = left
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	host := strings.ToLower(q.Host)
	login := strings.HasPrefix(host, "login.") || strings.HasPrefix(host, "169.254.")
	call := Call{Host: host, Method: q.Method, Path: q.URL.Path, Login: login}
	run := func() httpfault.Outcome {
		s.mu.Lock()
		defer s.mu.Unlock()
		recorder := httptest.NewRecorder()
		if login {
			s.login(recorder, q)
		} else {
			s.manage(recorder, q)
		}
		return httpfault.Outcome{Status: recorder.Code, Header: recorder.Header(), Body: recorder.Body.Bytes()}
	}
	if fault := s.faults.Next(call); fault != nil {
		s.note(call)
		fault.Serve(w, q, run)
		return
	}
	o := run()
	call.Status = o.Status
	s.note(call)
	o.Write(w)
}

func (s *Server) note(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
}
