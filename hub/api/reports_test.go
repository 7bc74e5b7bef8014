package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/auth"
	"github.com/kalypso-dev/kalypso/hub/store"
)

func TestReports(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents")
	inFile := strings.Repeat("ab", 32)
	if err := os.WriteFile(file, []byte("store-18 "+inFile+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.ReadClusterTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	var woken atomic.Int32
	h := newHub(t, func(o *api.Options) { o.ClusterTokens, o.Reported = tokens, func() { woken.Add(1) } })
	secret, err := h.store.CreateToken(t.Context(), store.Token{Name: "agent-store-17", Role: "agent", Cluster: "store-17"})
	if err != nil {
		t.Fatal(err)
	}
	agent := as(secret)
	post := func(body string, who func(*http.Request)) (answer, api.ReportAnswer) {
		t.Helper()
		a := h.do(http.MethodPost, "/api/v1/reports", body, who)
		var d api.ReportAnswer
		if a.StatusCode == http.StatusOK {
			if err := json.Unmarshal(a.body, &d); err != nil {
				t.Fatalf("%v: %s", err, a.body)
			}
		}
		return a, d
	}
	body := func(cluster, at, reason string) string {
		text, err := json.Marshal(map[string]any{
			"cluster": cluster, "at": time.Now(), "intervalSeconds": 60, "later": "field",
			"subscriptions": []map[string]any{{"kind": "Kustomization", "name": "dev", "repo": "https://forge/gitops", "branch": "dev", "state": "Compliant", "reason": reason, "at": at, "editedAt": at, "later": 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)

	before := h.audit(1)
	if a, d := post(body("store-17", past, reason), agent); a.StatusCode != http.StatusOK || !d.Changed || d.Clamped != 0 || woken.Load() != 1 {
		t.Fatalf("%s %+v: %s", a.Status, d, a.body)
	}
	if a, d := post(body("store-17", past, reason), agent); a.StatusCode != http.StatusOK || d.Changed || woken.Load() != 1 {
		t.Errorf("the same again: %s %+v", a.Status, d)
	}
	if a, d := post(body("store-18", past, ""), as(inFile)); a.StatusCode != http.StatusOK || !d.Changed {
		t.Errorf("a token of the file: %s: %s", a.Status, a.body)
	}
	if after := h.audit(1); len(before) != len(after) {
		t.Errorf("reports are in the audit: %+v", after)
	}
	all, err := h.store.Reports().Read(t.Context())
	if one := all["store-17"]; err != nil || len(all) != 2 || one.Interval != time.Minute || strings.Contains(one.Subscriptions[0].Reason, "\x1b") {
		t.Errorf("%+v, %v", all, err)
	}

	// a clock that is ahead
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if a, d := post(body("store-17", future, ""), agent); a.StatusCode != http.StatusOK || d.Clamped != 2 {
		t.Errorf("%s %+v: %s", a.Status, d, a.body)
	}
	all, err = h.store.Reports().Read(t.Context())
	for _, at := range []time.Time{all["store-17"].Subscriptions[0].At, all["store-17"].Subscriptions[0].EditedAt} {
		if err != nil || at.After(time.Now()) || time.Since(at) > deadline {
			t.Errorf("%s, %v", at, err)
		}
	}
	if n, err := testutil.GatherAndCount(h.registry, "kalypso_hub_report_times_clamped_total"); n != 1 || err != nil {
		t.Errorf("%d metrics, %v", n, err)
	}

	// another cluster's name
	for _, token := range []string{secret, inFile} {
		a, _ := post(body("store-19", past, ""), as(token))
		if e := h.audit(1)[0]; a.StatusCode != http.StatusForbidden || e.Outcome != "refused" || e.RequestID != a.problem().Instance || !strings.HasPrefix(e.Actor, map[string]string{secret: "agent-store-17", inFile: "store-18"}[token]) {
			t.Errorf("%s: %s: audit %+v", a.Status, a.body, e)
		}
	}

	// what agents may do besides, and who else may report
	for _, path := range []string{"/me", "/placements", "/tokens", "/audit"} {
		if a := h.do(http.MethodGet, "/api/v1"+path, "", agent); a.StatusCode != http.StatusForbidden {
			t.Errorf("an agent reads %s: %s", path, a.Status)
		}
	}
	for _, role := range []api.Role{api.Viewer, api.Operator, api.Owner} {
		if a, _ := post(body("store-17", past, ""), as(h.token("other "+string(role), role, store.Scope{}))); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s reports: %s", role, a.Status)
		}
	}
	if a, _ := post(body("store-17", past, ""), nobody); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody reports: %s", a.Status)
	}

	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"malformed": {`{"cluster"`, 400}, "no subscriptions": {`{"cluster": "store-17", "at": "` + past + `", "intervalSeconds": 60}`, 422},
		"an interval that never ends": {strings.Replace(body("store-17", past, ""), `"intervalSeconds":60`, `"intervalSeconds":99999`, 1), 422},
		"too large":                   {body("store-17", past, strings.Repeat("x", 9<<20)), 413},
	} {
		if a, _ := post(c.body, agent); a.StatusCode != c.status {
			t.Errorf("%s: %s: %.200s", name, a.Status, a.body)
		}
	}
	if a, _ := post(body("store-17", past, strings.Repeat("x", 2<<20)), agent); a.StatusCode != http.StatusOK {
		t.Errorf("2 MiB: %s: %.200s", a.Status, a.body)
	}
	if a := newHub(t).do(http.MethodPost, "/api/v1/reports", "{}"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a hub that observes no agents: %s", a.Status)
	}
}
