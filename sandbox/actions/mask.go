package actions

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// hidden stands in the place of a secret.
const hidden = "***"

// maxSecret bounds the secrets that are looked for: the end of a piece of
// output of this length is held back while a secret may go on after it.
const maxSecret = 32 << 10

// mask hides secrets in output. It is safe for use by several goroutines: the
// steps add to it while their output passes.
type mask struct {
	mu      sync.RWMutex
	secrets []string
	longest int
}

// add makes a value secret, in the forms in which programs print it. Of a
// value of several lines each line is secret, since output comes in lines.
func (m *mask) add(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
		m.one(line)
		m.one(strings.ReplaceAll(line, "'", `'\''`)) // bash, by set -x
	}
	if strings.TrimSpace(value) == "" {
		return
	}
	for _, form := range slices.Concat(base64Forms(value), jsonForms(value)) {
		m.one(form)
	}
	m.one(url.QueryEscape(value))
	m.one(url.PathEscape(value))
}

// minPart is how long a part of an encoded secret must be to be looked for:
// a shorter one could stand in the middle of common text.
const minPart = 6

// base64Forms are a value in base64, by itself and within a longer text, like
// the password of a basic authorization. What stands before the value decides
// where its bytes fall into the groups of three, and its neighbours share the
// characters at its edges: these are left out. A form that is broken into lines,
// as base64 does with a long one, is not found, on GitHub neither.
func base64Forms(value string) []string {
	forms := []string{base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value))}
	for shift := range 3 {
		shifted := append(make([]byte, shift), value...)
		from, to := (shift*8+5)/6, len(shifted)*8/6
		if to-from < minPart {
			continue
		}
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, alphabet.EncodeToString(shifted)[from:to])
		}
	}
	return forms
}

// jsonForms are a value within a text of JSON: some programs escape what means
// something in HTML, too.
func jsonForms(value string) []string {
	var forms []string
	for _, html := range []bool{true, false} {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(html)
		if encoder.Encode(value) == nil {
			quoted := strings.TrimSuffix(b.String(), "\n")
			forms = append(forms, quoted[1:len(quoted)-1])
		}
	}
	return forms
}

func (m *mask) one(s string) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxSecret || slices.Contains(m.secrets, s) {
		return
	}
	m.secrets = append(m.secrets, s)
	m.longest = max(m.longest, len(s))
}

// hide replaces the secrets in a whole text.
func (m *mask) hide(s string) string {
	out, _ := m.part(s, true)
	return out
}

// reveals tells whether a text has a secret in it.
func (m *mask) reveals(s string) bool { return m.hide(s) != s }

// part hides the secrets in a piece of a text that goes on unless it is the
// last, and returns what must be put before the next piece.
func (m *mask) part(s string, last bool) (out, rest string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	spans := m.find(s)
	end := len(s)
	if !last {
		end = max(0, len(s)-m.longest+1)
		for _, span := range slices.Backward(spans) {
			if span.from < end && end < span.to {
				end = span.from
			}
		}
		if end == 0 && len(spans) > 0 && spans[0].from == 0 {
			end = spans[0].to // a run of secrets nearly as long as the piece
		}
	}
	var b strings.Builder
	at := 0
	for _, span := range spans {
		if span.from >= end {
			break
		}
		b.WriteString(s[at:span.from])
		b.WriteString(hidden)
		at = span.to
	}
	if at < end {
		b.WriteString(s[at:end])
		at = end
	}
	return b.String(), s[at:]
}

type span struct{ from, to int }

// find returns where secrets stand, in order, those that overlap or touch as
// one: so nothing is left of two secrets that share some characters.
func (m *mask) find(s string) []span {
	var all []span
	for _, secret := range m.secrets {
		for at := 0; ; {
			i := strings.Index(s[at:], secret)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(secret)})
			at += i + 1
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	var merged []span
	for _, sp := range all {
		if n := len(merged); n > 0 && sp.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, sp.to)
			continue
		}
		merged = append(merged, sp)
	}
	return merged
}
