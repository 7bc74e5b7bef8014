package api

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

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
