package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/kalypso-dev/kalypso/hub/store"
)

// tokens is a provider that has a token endpoint alone.
type tokens struct{ url string }

func (p tokens) client(context.Context) (*oauth2.Config, error) {
	return &oauth2.Config{ClientID: "hub", Endpoint: oauth2.Endpoint{TokenURL: p.url, AuthStyle: oauth2.AuthStyleInParams}}, nil
}

func (p tokens) user(ctx context.Context, _ *oauth2.Token, _ string) (User, error) {
	return User{Name: "ann", Login: "ann", Groups: []string{"platform"}}, ctx.Err()
}

func (p tokens) lasts(*oauth2.Token) bool { return true }

// checked is a session whose provider is to be asked again, and answers with a handler.
func checked(t *testing.T, handler http.HandlerFunc) (s *SignIn, sessions *store.Store, session string, e *store.External) {
	t.Helper()
	provider := httptest.NewServer(handler)
	t.Cleanup(provider.Close)
	sessions, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sessions.Close() }) // it is asked no more
	past := time.Now().Add(-time.Minute)
	session, who, err := sessions.CreateSession(t.Context(), store.Identity{Subject: "ann", Expires: time.Now().Add(time.Hour), External: &store.External{Way: "tokens", Login: "ann", CheckAt: past}},
		func(session string) (string, error) {
			return seal(session, &oauth2.Token{AccessToken: "one", RefreshToken: "first", Expiry: past})
		})
	if err != nil {
		t.Fatal(err)
	}
	return New("http://hub.test", nil, 0, Way{Name: "tokens", Title: "Tokens", provider: tokens{provider.URL}}), sessions, session, who.External
}

// TestCheckOfARequestThatEnds: who goes on to another page while the provider is asked stays signed in
// by the tokens that it answers with: the ones before are spent.
func TestCheckOfARequestThatEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, sessions, session, e := checked(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token": "two", "refresh_token": "second", "token_type": "bearer", "expires_in": 3600}`))
	})
	if err := s.Check(ctx, sessions, session, e); err != nil {
		t.Error(err)
	}
	who, err := sessions.BySession(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	token, err := open(session, who.External.Sealed)
	if err != nil || token.RefreshToken != "second" || len(who.External.Groups) != 1 || time.Until(who.External.CheckAt) < retryEach {
		t.Errorf("%+v, %+v, %v", token, who.External, err)
	}
}

// TestCheckOfABusyProvider: only a refusal ends a session.
func TestCheckOfABusyProvider(t *testing.T) {
	for status, refused := range map[int]bool{
		http.StatusBadRequest: true, http.StatusUnauthorized: true, http.StatusRequestTimeout: false, http.StatusTooManyRequests: false, http.StatusBadGateway: false,
	} {
		s, sessions, session, e := checked(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if err := s.Check(t.Context(), sessions, session, e); errors.Is(err, ErrRefused) != refused || !refused && err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestDiscoveryIsAskedForOnce by all who wait for it, and none of them longer than it may.
func TestDiscoveryIsAskedForOnce(t *testing.T) {
	var asked atomic.Int64
	release := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-release
	}))
	defer provider.Close()
	defer close(release)
	o := &OIDC{Issuer: provider.URL, ClientID: "hub"}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var waiting sync.WaitGroup
	for range 8 {
		waiting.Go(func() {
			if _, err := o.client(ctx); !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	began := time.Now()
	waiting.Wait()
	if n := asked.Load(); n > 1 || time.Since(began) > callLimit {
		t.Errorf("asked %d times, within %s", n, time.Since(began))
	}
}
