// Package armfake is an Azure in this process for tests: the emulator of Azure
// Resource Manager with a fleet in memory, and the endpoints of Entra and of a
// managed identity that issue tokens. "docs" stands for learn.microsoft.com.
//
// It is stricter than the sandbox's: it checks whom a token is for, and refuses
// fields that the documentation does not have, or that only the service sets.
//
// It is reached by the names of all of Azure's clouds through
// [Server.Transport], over connections in memory, so that a program sends what
// it would send to Azure, and a test can run in a testing/synctest bubble.
//
// A test acts by [Server.Cluster], [Server.Follow] and the like, and makes
// requests fail by [Server.Fail].
package armfake

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/armapi"
	"github.com/kalypso-dev/kalypso/internal/armemulator"
	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
)

// Tenant is the directory of the server's accounts and subscriptions.
const Tenant = "72f988bf-0000-4000-8000-2d7cd011db47"

const emulatorToken = "emulator"

// Server is an Azure.
type Server struct {
	fleet
	login    login
	emulator http.Handler
	faults   httpfault.Faults[Call]
	conns    listener
	client   *http.Client

	mu    sync.Mutex
	calls []Call
}

// Call is a request that came.
type Call struct {
	Host   string // as the program named it
	Method string
	Path   string
	Login  bool // to an endpoint that issues tokens
}

// TB is what a server needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(do func())
}

// Start starts an Azure with subscriptions that ends with the test.
func Start(tb TB, subscriptions ...string) *Server {
	tb.Helper()
	s := &Server{conns: listener{conns: make(chan net.Conn), closed: make(chan struct{})}}
	s.login.init()
	s.fleet.configurations = map[string]*configuration{}
	o := armemulator.Options{Location: "eastus", Token: emulatorToken, Backend: &s.fleet, Log: slog.New(slog.DiscardHandler)}
	for _, id := range subscriptions {
		o.Subscriptions = append(o.Subscriptions, armapi.Subscription{ID: id, Name: "Fleet " + id, State: "Enabled", Tenant: Tenant})
	}
	s.emulator = armemulator.New(o)
	transport := &http.Transport{DialContext: s.conns.dial, DialTLSContext: s.conns.dial}
	s.client = &http.Client{Transport: transport}
	server := &http.Server{Handler: s}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(&s.conns) // until Close
	}()
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-ended
	})
	return s
}

// Transport leads to the server whatever the host.
func (s *Server) Transport() *http.Client { return s.client }

// listener hands over connections in memory. TLS is left out.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "armfake"} }

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

func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	host := strings.ToLower(q.Host)
	call := Call{Host: host, Method: q.Method, Path: q.URL.Path, Login: strings.HasPrefix(host, "login.") || strings.HasPrefix(host, "169.254.")}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	run := func() httpfault.Outcome {
		recorder := httptest.NewRecorder()
		if call.Login {
			s.login.serve(recorder, q)
		} else {
			s.manage(recorder, q)
		}
		return httpfault.Outcome{Status: recorder.Code, Header: recorder.Header(), Body: recorder.Body.Bytes()}
	}
	if fault := s.faults.Next(call); fault != nil {
		fault.Serve(w, q, run)
		return
	}
	run().Write(w)
}

// manage lets the emulator answer what Azure would not refuse before.
func (s *Server) manage(w http.ResponseWriter, q *http.Request) {
	err := s.login.authorize(q)
	if err == nil {
		err = checkBody(q)
	}
	if err != nil {
		err.Write(w)
		return
	}
	q.Header.Set("Authorization", "Bearer "+emulatorToken)
	q.TLS = &tls.ConnectionState{} // for the links in answers
	s.emulator.ServeHTTP(w, q)
}

// readOnly are the properties that only the service sets, patchless those that a
// patch cannot change.
var (
	readOnly  = []string{"statuses", "repositoryPublicKey", "sourceSyncedCommitId", "sourceUpdatedAt", "statusUpdatedAt", "complianceState", "provisioningState", "errorMessage"}
	patchless = []string{"scope", "namespace"}
)

// checkBody refuses in a write what the specification does not have
// (github.com/Azure/azure-rest-api-specs, kubernetesconfiguration,
// fluxConfigurations, stable/2025-04-01), and all nulls in a PUT: some have a
// default, and then null is none of their values.
func checkBody(q *http.Request) *armemulator.Error {
	if q.Method != http.MethodPut && q.Method != http.MethodPatch {
		return nil
	}
	var typed struct {
		Properties *armapi.Properties `json:"properties"`
	}
	var plain struct{ Properties map[string]any }
	b, err := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(b))
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = errors.Join(err, d.Decode(&typed), json.Unmarshal(b, &plain))
	for key := range plain.Properties {
		if slices.Contains(readOnly, key) || q.Method == http.MethodPatch && slices.Contains(patchless, key) {
			err = errors.Join(err, fmt.Errorf("property %s is read-only", key))
		}
	}
	if q.Method == http.MethodPut && hasNull(plain.Properties) {
		err = errors.Join(err, errors.New("converting value {null}"))
	}
	if err != nil {
		return armemulator.Errorf(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", err)
	}
	return nil
}

func hasNull(m map[string]any) bool {
	for _, v := range m {
		inner, _ := v.(map[string]any)
		if v == nil || hasNull(inner) {
			return true
		}
	}
	return false
}
