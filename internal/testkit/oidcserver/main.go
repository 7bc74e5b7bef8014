// Command oidcserver is an OpenID provider for tests: the example provider of zitadel/oidc with its
// login pages and its storage in memory, with users that have groups. It is a module of its own, so
// that the product is not built of what only this needs.
//
// It prints its issuer, and serves until its standard input ends. POST /test/groups with user and
// group changes the groups of a user, POST /test/revoke ends all refresh tokens, as an
// administrator would.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	client := flag.String("client", "hub", "client ID")
	secret := flag.String("secret", "", "secret of the client")
	redirect := flag.String("redirect", "", "URL that the client is sent back to")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	issuer := "http://" + listener.Addr().String()
	storage.RegisterClients(storage.WebClient(*client, *secret, *redirect))
	s := &groups{Storage: storage.NewStorage(users{}), of: map[string][]string{"ann": {"platform"}, "ben": {"kaizen-app", "everybody"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /test/groups", func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.set(r.FormValue("user"), r.Form["group"])
	})
	mux.HandleFunc("POST /test/revoke", func(http.ResponseWriter, *http.Request) { s.revoke() })
	mux.Handle("/", exampleop.SetupServer(issuer, s, slog.New(slog.NewTextHandler(os.Stderr, nil)), false))
	go func() { log.Fatal(http.Serve(listener, mux)) }()
	fmt.Println(issuer)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// users are those of the tests; each has the password verysecure.
type users struct{}

func (users) GetUserByID(id string) *storage.User {
	switch id {
	case "ann", "ben", "eve":
		return &storage.User{ID: id, Username: id, Password: "verysecure", FirstName: id, Email: id + "@example.com", EmailVerified: id != "eve"}
	}
	return nil
}

func (u users) GetUserByUsername(name string) *storage.User { return u.GetUserByID(name) }

func (users) ExampleClientID() string { return "" }

// groups is a storage whose users have groups.
type groups struct {
	*storage.Storage
	mu      sync.Mutex
	of      map[string][]string
	revoked bool
}

func (s *groups) set(user string, all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[user] = all
}

func (s *groups) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *groups) add(info *oidc.UserInfo, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info.AppendClaims("groups", s.of[user])
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest: the claims of ID tokens.
func (s *groups) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string) error {
	if err := s.Storage.SetUserinfoFromRequest(ctx, info, token, scopes); err != nil {
		return err
	}
	s.add(info, token.GetSubject())
	return nil
}

// SetUserinfoFromToken implements op.Storage: the answer of the UserInfo endpoint.
func (s *groups) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin); err != nil {
		return err
	}
	s.add(info, subject)
	return nil
}

// TokenRequestByRefreshToken implements op.Storage.
func (s *groups) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	s.mu.Lock()
	revoked := s.revoked
	s.mu.Unlock()
	if revoked {
		return nil, op.ErrInvalidRefreshToken
	}
	return s.Storage.TokenRequestByRefreshToken(ctx, token)
}
