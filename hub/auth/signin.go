package auth

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/kalypso-dev/kalypso/hub/store"
)

const (
	// DefaultSession is how long a session is valid.
	DefaultSession = 12 * time.Hour
	// FlowLimit is how long somebody may take at the provider.
	FlowLimit = 10 * time.Minute
	// callLimit is for one request to a provider.
	callLimit = 10 * time.Second
	// checkLimit is for all that a provider is asked when it is asked again.
	checkLimit = 20 * time.Second
	// checkEach is how often a provider is asked again who somebody is.
	checkEach = 15 * time.Minute
	// retryEach is when that is done again which the provider had no answer to.
	retryEach = time.Minute
	// expiresSoon is what an access token has left at least after a check, so that it lasts until
	// the next.
	expiresSoon = checkEach + 5*time.Minute
)

var (
	// ErrUnavailable is wrapped where a provider does not answer, or not as one.
	ErrUnavailable = errors.New("does not answer as it should")
	// ErrRefused is wrapped where a sign-in is not one: the provider has refused it, or it was not
	// begun in this browser, or what the provider has signed is not for this hub.
	ErrRefused = errors.New("refused")
	// ErrUnknownWay is returned for a way to sign in that the hub has not.
	ErrUnknownWay = errors.New("there is no such way to sign in")
)

// User is who a provider says that somebody is.
type User struct {
	Name   string // that is shown, and in the audit
	Login  string // that a Rule's User names: it is the user's alone
	Groups []string
}

// provider is where users sign in.
type provider interface {
	// client is the hub at the provider. It may ask the provider where its endpoints are.
	client(ctx context.Context) (*oauth2.Config, error)
	// user asks who a token is of. A nonce that is not "" has to be in what the provider has signed.
	user(ctx context.Context, token *oauth2.Token, nonce string) (User, error)
	// lasts is whether the provider can be asked again later by a token.
	lasts(token *oauth2.Token) bool
}

// Way is one way to sign in.
type Way struct {
	Name  string // in paths, such as oidc
	Title string // of its button
	// Forge is whether the token is one of the forge that the platform is on.
	Forge    bool
	provider provider
}

// SignIn is how users sign in to a hub.
type SignIn struct {
	ways    []Way
	rules   Rules
	base    string // the hub's URL
	session time.Duration
	http    *http.Client
}

// New makes a SignIn of a hub at a URL. A session of zero is DefaultSession.
func New(base string, rules Rules, session time.Duration, ways ...Way) *SignIn {
	return &SignIn{ways, rules, strings.TrimSuffix(base, "/"), cmp.Or(session, DefaultSession), &http.Client{Timeout: callLimit}}
}

// Ways are all ways.
func (s *SignIn) Ways() []Way {
	if s == nil {
		return nil
	}
	return s.ways
}

func (s *SignIn) way(name string) (Way, error) {
	if s != nil {
		if i := slices.IndexFunc(s.ways, func(w Way) bool { return w.Name == name }); i >= 0 {
			return s.ways[i], nil
		}
	}
	return Way{}, ErrUnknownWay
}

// flow is a sign-in that somebody is at the provider for. The browser keeps it, in a cookie that
// only the hub is sent, so that another hub on the same database can finish it.
type flow struct {
	Way      string    `json:"way"`
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Back     string    `json:"back"`     // the page that is shown then
	Expires  time.Time `json:"expires"`
}

// Start begins a sign-in: the URL of the provider to send the browser to, and what the browser
// keeps meanwhile. back is the path of the page that is shown then.
func (s *SignIn) Start(ctx context.Context, name, back string) (address, kept string, err error) {
	w, err := s.way(name)
	if err != nil {
		return "", "", err
	}
	client, err := w.provider.client(s.with(ctx))
	if err != nil {
		return "", "", err
	}
	f := flow{Way: name, State: secret(), Nonce: secret(), Verifier: oauth2.GenerateVerifier(), Back: localPath(back), Expires: time.Now().Add(FlowLimit)}
	text, err := json.Marshal(f)
	if err != nil {
		return "", "", err
	}
	at := *client
	at.RedirectURL = s.callback(name)
	return at.AuthCodeURL(f.State, oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("nonce", f.Nonce)), base64.RawURLEncoding.EncodeToString(text), nil
}

// localPath is a path of the hub itself, or its first page's.
func localPath(back string) string {
	u, err := url.Parse(back)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n\t") {
		return "/"
	}
	return back
}

func (s *SignIn) callback(name string) string { return s.base + "/signin/" + name + "/callback" }

// with makes requests of package oauth2 and oidc have a deadline.
func (s *SignIn) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.http)
}

// Finish ends a sign-in with what the provider has sent the browser back with. It returns who that
// is, and what encrypts the tokens for a session.
func (s *SignIn) Finish(ctx context.Context, name, kept string, query url.Values) (who store.Identity, back string, seals func(session string) (string, error), err error) {
	w, err := s.way(name)
	if err != nil {
		return who, "", nil, err
	}
	f, err := readFlow(kept)
	if err != nil || f.Way != name || subtle.ConstantTimeCompare([]byte(f.State), []byte(query.Get("state"))) != 1 {
		return who, "", nil, fmt.Errorf("%w: the sign-in was not begun in this browser, or more than %s ago", ErrRefused, FlowLimit)
	}
	if reason := query.Get("error"); reason != "" {
		return who, f.Back, nil, fmt.Errorf("%w by %s: %s", ErrRefused, w.Title, cmp.Or(query.Get("error_description"), reason))
	}
	if query.Get("code") == "" {
		return who, f.Back, nil, fmt.Errorf("%w: %s has sent no code", ErrRefused, w.Title)
	}
	ctx = s.with(ctx)
	client, err := w.provider.client(ctx)
	if err != nil {
		return who, f.Back, nil, err
	}
	at := *client
	at.RedirectURL = s.callback(name)
	token, err := at.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return who, f.Back, nil, exchangeError(w.Title, err)
	}
	p, err := w.provider.user(ctx, token, f.Nonce)
	if err != nil {
		return who, f.Back, nil, err
	}
	now := time.Now()
	e := &store.External{Way: name, Login: p.Login, Groups: p.Groups}
	if w.provider.lasts(token) {
		e.CheckAt = now.Add(checkEach)
	}
	who = store.Identity{Subject: p.Name, Expires: now.Add(s.session), External: e}
	return who, f.Back, func(session string) (string, error) { return seal(session, token) }, nil
}

func readFlow(kept string) (f flow, err error) {
	text, err := base64.RawURLEncoding.DecodeString(kept)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && (f.State == "" || time.Now().After(f.Expires)) {
		err = ErrRefused
	}
	f.Back = localPath(f.Back) // another server on the machine may have written the cookie
	return f, err
}

// exchangeError says whether a provider has refused a code or a refresh token, or has failed.
func exchangeError(title string, err error) error {
	var answer *oauth2.RetrieveError
	busy := func(r *http.Response) bool {
		return r != nil && (r.StatusCode >= http.StatusInternalServerError || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout)
	}
	if errors.As(err, &answer) && !busy(answer.Response) {
		return fmt.Errorf("%w by %s: %s", ErrRefused, title, cmp.Or(answer.ErrorDescription, answer.ErrorCode, "the code is not valid"))
	}
	return fmt.Errorf("%s %w: %w", title, ErrUnavailable, err)
}

// Resolve gives who has signed in by a provider the role and the scope that the rules have for
// them, false where there is none.
func (s *SignIn) Resolve(who *store.Identity) bool {
	if s == nil {
		return false
	}
	if _, err := s.way(who.External.Way); err != nil {
		return false // the configuration has this way no more
	}
	role, scope, ok := s.rules.Grant(who.External.Login, who.External.Groups)
	who.Role, who.Scope = string(role), scope
	return ok
}

// Check asks a session's provider again who that is, where it is time to, and renews the tokens. A
// provider that does not answer is asked again a minute later, and until then what it has said
// last holds; the error wraps ErrRefused where it has ended the session.
func (s *SignIn) Check(ctx context.Context, sessions *store.Store, session string, e *store.External) error {
	if s == nil || e.CheckAt.IsZero() || time.Now().Before(e.CheckAt) {
		return nil
	}
	w, err := s.way(e.Way)
	if err != nil {
		return nil // Resolve finds no role for it
	}
	claimed, err := sessions.ClaimCheck(ctx, session, time.Now().Add(retryEach))
	if err != nil || !claimed {
		return err
	}
	token, err := open(session, e.Sealed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	// whose request it is may go on to another page meanwhile: what the provider has answered is kept,
	// since it may take a refresh token once only
	ctx, cancel := context.WithTimeout(s.with(context.WithoutCancel(ctx)), checkLimit)
	defer cancel()
	client, err := w.provider.client(ctx)
	if err != nil {
		return nil
	}
	now, err := oauth2.ReuseTokenSourceWithExpiry(token, refreshing(ctx, client, token), expiresSoon).Token()
	if err == nil {
		var p User
		if p, err = w.provider.user(ctx, now, ""); err == nil {
			e.Login, e.Groups, e.CheckAt = p.Login, p.Groups, time.Now().Add(checkEach)
		}
	} else {
		err = exchangeError(w.Title, err)
	}
	switch {
	case errors.Is(err, ErrRefused):
		return err
	case err != nil && now == nil:
		return nil
	}
	// the tokens are kept whatever became of the question: the old refresh token may be spent
	if e.Sealed, err = seal(session, now); err != nil {
		return err
	}
	if time.Now().After(e.CheckAt) {
		e.CheckAt = time.Now().Add(retryEach)
	}
	return sessions.UpdateSession(ctx, session, *e)
}

// refreshing gets a new token, also while the one that there is has not expired.
func refreshing(ctx context.Context, client *oauth2.Config, token *oauth2.Token) oauth2.TokenSource {
	if token.RefreshToken == "" {
		return oauth2.StaticTokenSource(token)
	}
	return client.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken})
}

// As returns a context that UserForge reads, for who has signed in by the forge.
func (s *SignIn) As(ctx context.Context, session string, e *store.External) context.Context {
	if e == nil {
		return ctx
	}
	w, err := s.way(e.Way)
	if err != nil || !w.Forge {
		return ctx
	}
	return context.WithValue(ctx, forgeUserKey{}, forgeUser{func() (string, error) {
		token, err := open(session, e.Sealed)
		if err != nil {
			return "", err
		}
		return token.AccessToken, nil
	}, e.Login})
}

// sealing is what the key of a session's tokens is made for.
const sealing = "kalypso hub: tokens of a session"

// The tokens of a session are encrypted with a key that is made of the session's secret. The
// secret is in the browser's cookie, and the database has only its digest: neither the database
// nor a copy of it opens the tokens, and hubs that share it need no key of their own.

func aead(session string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(session), nil, sealing, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a provider's tokens for a session.
func seal(session string, token *oauth2.Token) (string, error) {
	c, err := aead(session)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(token)
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(c.Seal(nil, nil, plain, nil)), nil
}

// open decrypts what seal has made.
func open(session, sealed string) (*oauth2.Token, error) {
	c, err := aead(session)
	if err != nil {
		return nil, err
	}
	data, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, err
	}
	plain, err := c.Open(nil, nil, data, nil)
	if err != nil {
		return nil, errors.New("the session's tokens are of another session")
	}
	var token oauth2.Token
	if err := json.Unmarshal(plain, &token); err != nil {
		return nil, fmt.Errorf("the session's tokens: %w", err)
	}
	return &token, nil
}

// secret is unguessable: of OAuth's state and of OpenID's nonce.
func secret() string { return rand.Text() }
