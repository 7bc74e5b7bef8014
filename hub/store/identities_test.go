package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

func testOutbox(t *testing.T, o store.Options) {
	s := open(t, o)
	woken := s.Wait(t.Context())
	p := assigned("dev", "drone", "edge", "a")
	applyTo(t, s, noon, "dev", p)
	select {
	case <-woken:
	default:
		t.Error("readers were not woken")
	}
	all, err := s.Outbox(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(m store.Message) bool { return m.Topic == "placement" })
	if i < 0 {
		t.Fatalf("%+v", all)
	}
	m := all[i]
	var payload struct {
		Cluster, Target, Version string
		State                    placement.State
		Since                    time.Time
	}
	if err := json.Unmarshal(m.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	if m.Environment != "dev" || m.Workspace != "kaizen-app-team" || !m.At.Equal(noon) || payload.Cluster != "drone" || payload.Target != p.Target ||
		payload.State != placement.OK || payload.Version != "1.0.0" || !payload.Since.Equal(p.Since) {
		t.Errorf("%+v: %s", m, m.Payload)
	}
	last, err := s.LastMessage(t.Context())
	if err != nil || last != all[len(all)-1].ID || last != int64(len(all)) {
		t.Errorf("last %d, %v, of %+v", last, err, all)
	}
	if rest, err := s.Outbox(t.Context(), last-1, 100); err != nil || len(rest) != 1 || rest[0].ID != last {
		t.Errorf("%+v, %v", rest, err)
	}
	if rest, err := s.Outbox(t.Context(), last, 100); err != nil || len(rest) != 0 {
		t.Errorf("%+v, %v", rest, err)
	}
	if _, err := s.Outbox(t.Context(), last+1, 100); !errors.Is(err, store.ErrGone) {
		t.Errorf("error %v", err)
	}
	woken = s.Wait(t.Context())
	applyTo(t, s, after(1), "dev", p)
	select {
	case <-woken:
		t.Error("readers were woken by nothing")
	default:
	}
	if err := s.Prune(t.Context(), noon.Add(25*time.Hour), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Outbox(t.Context(), 0, 100); !errors.Is(err, store.ErrGone) {
		t.Errorf("error %v", err)
	}
	if rest, err := s.Outbox(t.Context(), last, 100); err != nil || len(rest) != 0 {
		t.Errorf("%+v, %v", rest, err)
	}
}

// noSecret fails for a secret that the database has.
func noSecret(t *testing.T, o store.Options, table, secret string) {
	t.Helper()
	rows, err := raw(t, o).QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; rows.Next(); n++ {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if strings.Contains(fmt.Sprint(*v.(*any)), secret) {
				t.Errorf("%s.%s has a secret", table, columns[i])
			}
		}
	}
	if n == 0 || rows.Err() != nil {
		t.Errorf("%d rows in %s, %v", n, table, rows.Err())
	}
}

func testTokens(t *testing.T, o store.Options) {
	s := open(t, o)
	token := store.Token{Name: "ci", Role: "viewer", Scope: store.Scope{Workspaces: []string{"kaizen-app-team"}}, Expires: time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()}
	secret, err := s.CreateToken(t.Context(), token)
	if err != nil || !strings.HasPrefix(secret, "kht_") || len(secret) < 64 {
		t.Fatalf("%d characters, %v", len(secret), err)
	}
	noSecret(t, o, "api_token", secret)
	if _, err := s.CreateToken(t.Context(), token); !errors.Is(err, store.ErrExists) {
		t.Errorf("error %v", err)
	}
	who, err := s.ByToken(t.Context(), secret)
	if diff := cmp.Diff(store.Identity{Subject: "ci", Role: "viewer", Scope: token.Scope, Expires: token.Expires}, who); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := s.CreateToken(t.Context(), store.Token{Name: "always", Role: "operator"}); err != nil {
		t.Error(err)
	}
	old, err := s.CreateToken(t.Context(), store.Token{Name: "old", Role: "viewer", Expires: time.Now().Add(-time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Tokens(t.Context())
	if err != nil || len(all) != 3 || all[0].Name != "always" || !all[0].Expires.IsZero() || all[1].LastUsed.IsZero() || all[1].Created.IsZero() || !all[2].LastUsed.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if err := s.RevokeToken(t.Context(), "ci"); err != nil {
		t.Error(err)
	}
	for _, secret := range []string{secret, old, "", "kht_"} {
		if who, err := s.ByToken(t.Context(), secret); !errors.Is(err, store.ErrNotFound) || who.Role != "" {
			t.Errorf("%+v, error %v", who, err)
		}
	}
	if err := s.RevokeToken(t.Context(), "ci"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("mistakes of callers make it not ready: %v", err)
	}
}

func testTickets(t *testing.T, o store.Options) {
	s := open(t, o)
	who := store.Identity{Subject: "ada", Role: "owner"}
	ticket, err := s.CreateTicket(t.Context(), who, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	noSecret(t, o, "ticket", ticket)
	session, got, err := s.SpendTicket(t.Context(), ticket)
	if err != nil || got.Subject != "ada" || got.Role != "owner" || got.CSRF == "" || got.CSRF == session || time.Until(got.Expires) < 11*time.Hour {
		t.Fatalf("%+v, %v", got, err)
	}
	noSecret(t, o, "session", session)
	noSecret(t, o, "session", got.CSRF)
	again, err := s.BySession(t.Context(), session)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Error(err, diff)
	}
	expired, err := s.CreateTicket(t.Context(), who, -time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"spent": ticket, "expired": expired, "never was": "x", "session": session} {
		if session, who, err := s.SpendTicket(t.Context(), secret); !errors.Is(err, store.ErrSpent) || session != "" || who.Role != "" {
			t.Errorf("%s: %+v, error %v", name, who, err)
		}
	}
	short := who
	short.Expires = time.Now().Add(-time.Minute)
	ticket, err = s.CreateTicket(t.Context(), short, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ended, _, err := s.SpendTicket(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EndSession(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"ended": session, "expired": ended, "never was": "", "ticket": ticket} {
		if who, err := s.BySession(t.Context(), secret); !errors.Is(err, store.ErrNotFound) || who.Role != "" {
			t.Errorf("%s: %+v, error %v", name, who, err)
		}
	}
	// of many who spend a ticket at once, one gets a session
	ticket, err = s.CreateTicket(t.Context(), who, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	const tries = 8
	results := make(chan error, tries)
	for range tries {
		go func() {
			_, _, err := s.SpendTicket(t.Context(), ticket)
			results <- err
		}()
	}
	spent := 0
	for range tries {
		if err := <-results; err == nil {
			spent++
		} else if !errors.Is(err, store.ErrSpent) {
			t.Error(err)
		}
	}
	if spent != 1 {
		t.Errorf("spent %d times", spent)
	}
}

func testAudit(t *testing.T, o store.Options) {
	s := open(t, o)
	var want []store.Entry
	for i := range 5 {
		e := store.Entry{At: after(i), Actor: "ada", Via: "token", Action: "token.create", Subject: "ci", Outcome: "denied", RequestID: fmt.Sprint(i), Detail: "viewer"}
		if err := s.Audit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		want = append([]store.Entry{e}, want...)
	}
	got := inPages(t, 2, "", func(p store.Page) (store.List[store.Entry], error) { return s.AuditLog(t.Context(), p) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func testRetention(t *testing.T, o store.Options) {
	s := open(t, o)
	// more than one slice of events that are old, and some that are not
	const targets = 110
	all := make([]store.Placement, targets)
	for i := range all {
		all[i] = assigned("dev", "drone", "edge", fmt.Sprint(i))
	}
	rounds := 0
	for ; rounds < 100; rounds++ {
		for i := range all {
			all[i].Actual.Version = fmt.Sprint(rounds)
		}
		applyTo(t, s, noon.Add(time.Duration(rounds)*time.Minute), "dev", all...)
	}
	for i := range 3 {
		if err := s.Audit(t.Context(), store.Entry{At: after(i * 60)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Prune(t.Context(), noon.Add(24*time.Hour), store.Retention{Events: 23 * time.Hour, Audit: 23 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := raw(t, o).QueryRowContext(t.Context(), `SELECT count(*) FROM placement_event`).Scan(&n); err != nil || n != (rounds-60)*targets {
		t.Errorf("%d events, %v", n, err)
	}
	if list, err := s.AuditLog(t.Context(), store.Page{}); err != nil || len(list.Items) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := s.PlacementEvents(t.Context(), store.Scope{}, "dev", "drone", "kaizen-app-7", store.Page{Limit: 100}); err != nil || len(list.Items) != rounds-60 {
		t.Errorf("%d events, %v", len(list.Items), err)
	}
}
