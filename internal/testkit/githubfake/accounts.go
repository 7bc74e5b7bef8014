package githubfake

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// User is an account.
type User struct {
	Login string
	Token string

	id           int64
	bot          bool
	organisation bool
	scopes       []string          // of the token
	rights       map[string]Rights // by repository in lower case; others are Admin
}

// Rights are what an account may do with a repository.
type Rights int

// Each includes those before it.
const (
	None Rights = iota // it does not even learn that the repository exists
	Read
	Write
	Admin
)

// grant is a token.
type grant struct {
	user    *User
	expires time.Time // zero: never
}

// User makes an account with a token that has scopes; repo and workflow when
// none are named. It may do everything with every repository, see Allow.
func (s *Server) User(login string, scopes ...string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(scopes) == 0 {
		scopes = []string{"repo", "workflow"}
	}
	u := s.user(login, scopes)
	u.Token = "ghp_" + login + strconv.FormatInt(s.id(), 36)
	s.tokens[u.Token] = &grant{user: u}
	return u
}

func (s *Server) user(login string, scopes []string) *User {
	u := &User{Login: login, id: s.id(), scopes: scopes, rights: map[string]Rights{}}
	s.users[strings.ToLower(login)] = u
	return u
}

// Allow says what an account may do with a repository.
func (s *Server) Allow(u *User, repo string, r Rights) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.rights[strings.ToLower(repo)] = r
}

// Revoke makes all tokens of an account worthless.
func (s *Server) Revoke(u *User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, g := range s.tokens {
		if g.user == u {
			delete(s.tokens, token)
		}
	}
}

// authenticate returns whose request it is; nil for nobody's. A token that is
// none is refused also where none is needed.
func (s *Server) authenticate(q *http.Request) (*User, *app, error) {
	kind, token, ok := strings.Cut(q.Header.Get("Authorization"), " ")
	if !ok {
		return nil, nil, nil
	}
	bad := refuse(http.StatusUnauthorized, "Bad credentials")
	switch strings.ToLower(kind) {
	case "basic":
		_, token, _ = q.BasicAuth()
	case "bearer", "token":
	default:
		return nil, nil, bad
	}
	if g, ok := s.tokens[token]; ok && (g.expires.IsZero() || s.now().Before(g.expires)) {
		return g.user, nil, nil
	}
	if a := s.appOf(token); a != nil {
		return nil, a, nil
	}
	return nil, nil, bad
}

func (u *User) kind() string {
	switch {
	case u.bot:
		return "Bot"
	case u.organisation:
		return "Organization"
	}
	return "User"
}

// may returns what an account may do with a repository.
func (u *User) may(r *repository) Rights {
	public := None
	if !r.private {
		public = Read
	}
	if u == nil {
		return public
	}
	if !u.bot && !u.has("repo") {
		return public
	}
	if rights, ok := u.rights[r.key()]; ok {
		return max(rights, public)
	}
	return Admin
}

func (u *User) has(scope string) bool {
	for _, s := range u.scopes {
		if s == scope {
			return true
		}
	}
	return false
}

type app struct {
	id, installation int64
	slug             string
	key              *rsa.PrivateKey
	user             *User
}

// App makes a GitHub App that is installed once and returns its private key in
// PEM. What it opens is by slug[bot].
func (s *Server) App(slug string, id, installation int64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	u := s.user(slug+"[bot]", nil)
	u.bot = true
	s.apps[id] = &app{id: id, installation: installation, slug: slug, key: key, user: u}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// appOf returns the App that has signed a token as the docs want it
// (apps/creating-github-apps/authenticating-with-a-github-app).
func (s *Server) appOf(token string) *app {
	var found *app
	var claims jwt.RegisteredClaims
	_, err := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"})).ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) {
		id, err := strconv.ParseInt(claims.Issuer, 10, 64)
		if a, ok := s.apps[id]; ok && err == nil {
			found = a
			return &a.key.PublicKey, nil
		}
		return nil, fmt.Errorf("no App %q", claims.Issuer)
	})
	if err != nil || claims.ExpiresAt == nil || claims.ExpiresAt.Sub(s.now()) > 10*time.Minute {
		return nil
	}
	return found
}

func (s *Server) appRoutes() {
	s.handle("GET /app", func(c *call) (any, error) {
		if c.app == nil {
			return nil, refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
		return c.app.json(c.server), nil
	})
	s.handle("POST /app/installations/{id}/access_tokens", func(c *call) (any, error) {
		if c.app == nil {
			return nil, refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
		if c.param("id") != strconv.FormatInt(c.app.installation, 10) {
			return nil, notFound()
		}
		token := "ghs_" + strconv.FormatInt(c.server.id(), 36)
		expires := c.server.now().Add(time.Hour)
		c.server.tokens[token] = &grant{user: c.app.user, expires: expires}
		return created{object{"token": token, "expires_at": expires, "permissions": appPermissions, "repository_selection": "all"}}, nil
	})
	s.handle("GET /user", func(c *call) (any, error) {
		switch {
		case c.user == nil:
			return nil, refuse(http.StatusUnauthorized, "Requires authentication")
		case c.user.bot:
			return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
		}
		return c.server.ownJSON(c.user), nil
	})
}
