package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Identity is who asks.
type Identity struct {
	Subject string
	Role    string // viewer, proposer, operator or owner
	Scope   Scope
	CSRF    string    // of a session, for the header of its writes
	Expires time.Time // zero for never
	Cluster string    // whose agent it is, "" for others
	// External is who a provider has said that it is, nil where the hub itself has let it in. Role
	// and Scope are empty then: they follow from the groups.
	External *External
}

// External is who a provider, such as an OpenID server, has said that somebody is.
type External struct {
	Way    string // the provider's name in the hub
	Login  string // the account's name there
	Groups []string
	Sealed string // the provider's tokens, encrypted with a key of the session's secret
	// CheckAt is when the provider is asked again, zero for never.
	CheckAt time.Time
}

// Token is for scripts, and for agents.
type Token struct {
	Name, Role        string
	Scope             Scope
	Cluster           string    // that its holder may report of, "" for scripts
	Expires           time.Time // zero for never
	Created, LastUsed time.Time // filled by reads; LastUsed is exact to a minute
}

const (
	tokenPrefix = "kht_"
	secretBytes = 32
	// sessionLimit is how long a session is valid whose ticket does not say.
	sessionLimit = 12 * time.Hour
	// usedEach is how often the use of a token is noted.
	usedEach = time.Minute
)

// newSecret makes a secret, and the digest that is kept of it.
func newSecret(prefix string) (secret, digest string) {
	raw := make([]byte, secretBytes)
	rand.Read(raw) // never fails
	secret = prefix + hex.EncodeToString(raw)
	return secret, secretDigest(secret)
}

func secretDigest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// csrfOf is a session's value against forged requests. It says nothing about the session's secret.
func csrfOf(session string) string { return secretDigest("csrf " + session) }

// CreateToken makes a token and returns its secret, of which only the SHA-256 is kept. The error
// wraps ErrExists for a name that another token has.
func (s *Store) CreateToken(ctx context.Context, token Token) (secret string, err error) {
	secret, digest := newSecret(tokenPrefix)
	err = s.write(ctx, func(t tx) error {
		done, err := t.exec(`INSERT INTO api_token (digest, name, role, scope, cluster, created_at, expires_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (name) DO NOTHING`,
			digest, token.Name, token.Role, encode(token.Scope), token.Cluster, millis(time.Now()), millis(token.Expires))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("token %s: %w", token.Name, ErrExists))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Tokens are all tokens by name, those that have expired, too.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	all := []Token{}
	err := s.read(ctx, func(t tx) error {
		return t.each(func(rows *sql.Rows) error {
			token, err := scanToken(rows)
			all = append(all, token)
			return err
		}, `SELECT `+tokenColumns+` FROM api_token ORDER BY name`)
	})
	return all, err
}

const tokenColumns = `name, role, scope, cluster, created_at, expires_at, used_at`

func scanToken(row interface{ Scan(...any) error }) (token Token, err error) {
	var scope string
	var created, expires, used int64
	if err := row.Scan(&token.Name, &token.Role, &scope, &token.Cluster, &created, &expires, &used); err != nil {
		return token, err
	}
	token.Created, token.Expires, token.LastUsed = timeOf(created), timeOf(expires), timeOf(used)
	return token, json.Unmarshal([]byte(scope), &token.Scope)
}

// RevokeToken ends a token. The error wraps ErrNotFound where there is none of that name.
func (s *Store) RevokeToken(ctx context.Context, name string) error {
	return s.write(ctx, func(t tx) error {
		done, err := t.exec(`DELETE FROM api_token WHERE name = ?`, name)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("token %s: %w", name, ErrNotFound))
		}
		return nil
	})
}

// ByToken is who has a token. The error wraps ErrNotFound for one that is not valid.
func (s *Store) ByToken(ctx context.Context, secret string) (Identity, error) {
	digest := secretDigest(secret)
	var token Token
	if err := s.read(ctx, func(t tx) (err error) {
		token, err = scanToken(t.row(`SELECT `+tokenColumns+` FROM api_token WHERE digest = ?`, digest))
		return err
	}); err != nil {
		return Identity{}, notFound(err, "token")
	}
	now := time.Now()
	if expired(token.Expires, now) {
		return Identity{}, fmt.Errorf("token %s has expired: %w", token.Name, ErrNotFound)
	}
	if now.Sub(token.LastUsed) >= usedEach {
		// who may read must not depend on whether the disk has room
		_ = s.write(ctx, func(t tx) error {
			_, err := t.exec(`UPDATE api_token SET used_at = ? WHERE digest = ?`, millis(now), digest)
			return err
		})
	}
	return Identity{Subject: token.Name, Role: token.Role, Scope: token.Scope, Expires: token.Expires, Cluster: token.Cluster}, nil
}

func expired(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

func notFound(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return err
}

// CreateTicket makes a ticket that is valid for a while, once, and becomes a session of the
// identity. The session ends when the identity expires, or after 12 hours.
func (s *Store) CreateTicket(ctx context.Context, who Identity, valid time.Duration) (secret string, err error) {
	secret, digest := newSecret("")
	err = s.write(ctx, func(t tx) error {
		_, err := t.exec(`INSERT INTO ticket (digest, subject, role, scope, session_expires_at, expires_at, spent_at) VALUES (?, ?, ?, ?, ?, ?, 0)`,
			digest, who.Subject, who.Role, encode(who.Scope), millis(who.Expires), millis(time.Now().Add(valid)))
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// SpendTicket makes a session of a ticket, and returns the session's secret. The error wraps
// ErrSpent for a ticket that is not valid, or not any more.
func (s *Store) SpendTicket(ctx context.Context, secret string) (session string, who Identity, err error) {
	session, digest := newSecret("")
	now := time.Now()
	err = s.write(ctx, func(t tx) error {
		var scope string
		var expires int64
		err := t.row(`UPDATE ticket SET spent_at = ? WHERE digest = ? AND spent_at = 0 AND expires_at > ? RETURNING subject, role, scope, session_expires_at`,
			millis(now), secretDigest(secret), millis(now)).Scan(&who.Subject, &who.Role, &scope, &expires)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrSpent
		}
		if err != nil {
			return err
		}
		if expires == 0 {
			expires = millis(now.Add(sessionLimit))
		}
		who.Expires, who.CSRF = timeOf(expires), csrfOf(session)
		if err := json.Unmarshal([]byte(scope), &who.Scope); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO session (digest, subject, role, scope, expires_at) VALUES (?, ?, ?, ?, ?)`, digest, who.Subject, who.Role, scope, expires)
		return err
	})
	if err != nil {
		return "", Identity{}, err
	}
	return session, who, nil
}

// CreateSession makes a session of who has signed in by a provider, until the identity expires.
// seal encrypts the provider's tokens with a key of the session's secret.
func (s *Store) CreateSession(ctx context.Context, who Identity, seal func(session string) (string, error)) (session string, _ Identity, err error) {
	session, digest := newSecret("")
	sealed, err := seal(session)
	if err != nil {
		return "", Identity{}, err
	}
	e := *who.External
	e.Sealed = sealed
	who.External, who.CSRF = &e, csrfOf(session)
	err = s.write(ctx, func(t tx) error {
		_, err := t.exec(`INSERT INTO session (digest, subject, role, scope, expires_at, way, login, member_of, sealed, check_at) VALUES (?, ?, '', '{}', ?, ?, ?, ?, ?, ?)`,
			digest, who.Subject, millis(who.Expires), e.Way, e.Login, encode(e.Groups), sealed, millis(e.CheckAt))
		return err
	})
	if err != nil {
		return "", Identity{}, err
	}
	return session, who, nil
}

// BySession is who has a session. The error wraps ErrNotFound for one that has ended.
func (s *Store) BySession(ctx context.Context, session string) (who Identity, err error) {
	var scope, groups string
	var expires, check int64
	var e External
	if err := s.read(ctx, func(t tx) error {
		return t.row(`SELECT subject, role, scope, expires_at, way, login, member_of, sealed, check_at FROM session WHERE digest = ? AND expires_at > ?`, secretDigest(session), millis(time.Now())).
			Scan(&who.Subject, &who.Role, &scope, &expires, &e.Way, &e.Login, &groups, &e.Sealed, &check)
	}); err != nil {
		return Identity{}, notFound(err, "session")
	}
	who.Expires, who.CSRF = timeOf(expires), csrfOf(session)
	if e.Way != "" {
		e.CheckAt = timeOf(check)
		who.External = &e
		return who, json.Unmarshal([]byte(groups), &e.Groups)
	}
	return who, json.Unmarshal([]byte(scope), &who.Scope)
}

// ClaimCheck is whether the caller is to ask the provider about a session, because that is due.
// Nobody else is told so until again: a provider may take a refresh token once only.
func (s *Store) ClaimCheck(ctx context.Context, session string, again time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(t tx) error {
		done, err := t.exec(`UPDATE session SET check_at = ? WHERE digest = ? AND check_at > 0 AND check_at <= ?`, millis(again), secretDigest(session), millis(time.Now()))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
	return claimed, err
}

// UpdateSession keeps what a provider has said of a session's user now.
func (s *Store) UpdateSession(ctx context.Context, session string, e External) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE session SET login = ?, member_of = ?, sealed = ?, check_at = ? WHERE digest = ?`,
			e.Login, encode(e.Groups), e.Sealed, millis(e.CheckAt), secretDigest(session))
		return err
	})
}

// EndSession ends a session, if there is one.
func (s *Store) EndSession(ctx context.Context, session string) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`DELETE FROM session WHERE digest = ?`, secretDigest(session))
		return err
	})
}

// Entry is what somebody has done, or has tried to.
type Entry struct {
	At        time.Time
	Actor     string
	Via       string // how the actor has signed in
	Action    string
	Subject   string // what it was done to
	Outcome   string
	RequestID string
	Detail    string
}

// Audit writes an entry.
func (s *Store) Audit(ctx context.Context, e Entry) error {
	return s.write(ctx, func(t tx) error {
		id, err := t.next("audit", 1)
		if err != nil {
			return err
		}
		return t.insert("audit", "id, at, actor, via, action, subject, outcome, request_id, detail", "",
			[][]any{{id, millis(e.At), clean(e.Actor), clean(e.Via), clean(e.Action), clean(e.Subject), clean(e.Outcome), clean(e.RequestID), clean(e.Detail)}})
	})
}

// AuditLog lists the entries, the newest first.
func (s *Store) AuditLog(ctx context.Context, p Page) (list List[Entry], err error) {
	if p.Sort != "" {
		return list, fmt.Errorf("%w: %q", ErrSort, p.Sort)
	}
	err = s.read(ctx, func(t tx) error {
		q := listQuery{of: []any{"audit"}, by: []order{{column: "id", down: true}}, text: `SELECT id, at, actor, via, action, subject, outcome, request_id, detail FROM audit`}
		list, err = page(t, q, p, func(rows *sql.Rows) (Entry, []any, error) {
			var e Entry
			var id, at int64
			err := rows.Scan(&id, &at, &e.Actor, &e.Via, &e.Action, &e.Subject, &e.Outcome, &e.RequestID, &e.Detail)
			e.At = timeOf(at)
			return e, []any{id}, err
		})
		return err
	})
	return list, err
}

// idempotencyLimit is how long the answer to a request that made something is kept.
const idempotencyLimit = 24 * time.Hour

// Answer is what a request got that made something.
type Answer struct {
	Digest string // of the request
	Status int
	Body   string
}

// Answer is what somebody's request with a key got. The error wraps ErrNotFound where there was
// none within a day.
func (s *Store) Answer(ctx context.Context, actor, key string) (a Answer, err error) {
	err = s.read(ctx, func(t tx) error {
		return t.row(`SELECT digest, status, body FROM idempotency WHERE actor = ? AND request_key = ? AND expires_at > ?`, actor, key, millis(time.Now())).Scan(&a.Digest, &a.Status, &a.Body)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("key %s: %w", key, ErrNotFound)
	}
	return a, err
}

// KeepAnswer keeps the first answer to a request with a key for a day.
func (s *Store) KeepAnswer(ctx context.Context, actor, key string, a Answer) error {
	now := time.Now()
	return s.write(ctx, func(t tx) error {
		_, err := t.exec(`INSERT INTO idempotency (actor, request_key, digest, status, body, expires_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (actor, request_key) DO UPDATE SET digest = excluded.digest, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at
			WHERE idempotency.expires_at <= ?`, actor, key, a.Digest, int64(a.Status), a.Body, millis(now.Add(idempotencyLimit)), millis(now))
		return err
	})
}
