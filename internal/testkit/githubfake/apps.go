package githubfake

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

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
		return object{"id": c.app.id, "slug": c.app.slug, "name": c.app.slug}, nil
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
		return created{object{"token": token, "expires_at": expires}}, nil
	})
	s.handle("GET /user", func(c *call) (any, error) {
		switch {
		case c.user == nil:
			return nil, refuse(http.StatusUnauthorized, "Requires authentication")
		case c.user.bot:
			return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
		}
		return c.user.json(), nil
	})
}
