package propose

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
)

// Key signs what the text of a pull request says of who has proposed it: many may edit that text,
// and none of them may make a proposal somebody else's. Nil signs nothing.
type Key []byte

// NewKey is the key of all who know the secret of the forge's webhooks: of each hub of a platform, and
// of commands that have the scheduler's configuration. Nil for an empty secret.
func NewKey(secret string) Key {
	if secret == "" {
		return nil
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "kalypso hub: authors of proposals", sha256.Size)
	if err != nil {
		panic(err) // of a length that cannot be had
	}
	return key
}

// marker is the comment at the end of a proposal's text by which it is known again.
type marker struct {
	environment, author, text string
	id                        string // of the author, see Author
	own                       bool   // the pull request is its author's
	at                        int64  // when it was opened, in seconds since 1970
	mac                       string
}

// clocksApart is how far the clocks of the forge and of who opens a pull request may be apart. The marker
// of a pull request of before, with the same edits, is no marker of one that was opened later than that.
const clocksApart = 10 * time.Minute

var markers = regexp.MustCompile(`(?m)^<!-- kalypso:proposal ([^ \r\n]*) -->\r?$`)

func (m marker) values() url.Values {
	values := url.Values{"environment": {m.environment}, "author": {m.author}, "text": {m.text}, "at": {strconv.FormatInt(m.at, 10)}}
	if m.id != m.author {
		values.Set("id", m.id)
	}
	if m.own {
		values.Set("own", "true")
	}
	return values
}

func (m marker) String() string {
	values := m.values()
	if m.mac != "" {
		values.Set("mac", m.mac)
	}
	return fmt.Sprintf("<!-- kalypso:proposal %s -->\n", strings.ReplaceAll(values.Encode(), "--", "-%2D"))
}

// findMarker is the last marker of a text, zero where there is none. It is only what the text says.
func findMarker(text string) (m marker) {
	for _, match := range markers.FindAllStringSubmatch(text, -1) {
		if values, err := url.ParseQuery(match[1]); err == nil {
			m = marker{
				environment: values.Get("environment"), author: values.Get("author"), text: values.Get("text"), id: values.Get("id"), own: values.Get("own") == "true", mac: values.Get("mac"),
			}
			if m.id == "" {
				m.id = m.author
			}
			m.at, _ = strconv.ParseInt(values.Get("at"), 10, 64) // 1970 for what is no number
		}
	}
	return m
}

// sign signs a marker for the pull request of a branch of a repository.
func (k Key) sign(m marker, repo string, pr forge.PullRequest) marker {
	if k == nil {
		return m
	}
	mac := hmac.New(sha256.New, k)
	fmt.Fprintf(mac, "%q %q %q %q", strings.ToLower(repo), pr.Head, pr.Base, m.values().Encode())
	m.mac = hex.EncodeToString(mac.Sum(nil))
	return m
}

// signed is whether a marker was signed for a pull request, and not changed since.
func (k Key) signed(m marker, repo string, pr forge.PullRequest) bool {
	return k != nil && hmac.Equal([]byte(k.sign(m, repo, pr).mac), []byte(m.mac)) && pr.Created.Sub(time.Unix(m.at, 0)).Abs() <= clocksApart
}

// marker is what is known of a pull request by its marker, as the account sees it that the hub has on
// the forge; zero for one that is no proposal. One that another account has opened is of that account.
// Whose it is that the hub has opened is not known where the marker is not as it was signed.
func (k Key) marker(repo string, pr forge.PullRequest) marker {
	m := findMarker(pr.Body)
	switch {
	case m.environment == "", k.signed(m, repo, pr):
	case !pr.Own:
		m.author, m.id, m.own = pr.Author, pr.Author, true
	default:
		m.author, m.id, m.own = "", "", false
	}
	return m
}

// again is the marker of a pull request that is there already, for who proposes the same once more: it
// stays its first author's. Where that is not known any more it is the new one's.
func (k Key) again(repo string, pr forge.PullRequest, author Author, fresh marker) marker {
	was := findMarker(pr.Body)
	switch {
	case was.environment == "":
		return fresh
	case k == nil, k.signed(was, repo, pr):
		return was
	case !author.Own && !pr.Own: // neither the hub's nor of who proposes
		was.author, was.id, was.own = pr.Author, pr.Author, true
	case author.Own && !pr.Own: // it may be the hub's, which judges it: nothing is said of it here
		was.author, was.id, was.own, was.mac = "", "", true, ""
		return was
	default:
		fresh.text, fresh.at = was.text, pr.Created.Unix()
		was = fresh
	}
	return k.sign(was, repo, pr)
}
