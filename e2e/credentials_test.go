//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox"
)

// lostCredentials: users revoke the sandbox's tokens and change the password that
// came with it. `up` and `restart` mend that and say so, and the next commit is on
// every cluster.
func lostCredentials(t *testing.T, m *machine) {
	first := m.credentials()
	const another = "An0ther-passw0rd"
	m.revoke(first.User, first.Password, first.User, "flux-")
	m.revoke(first.User, first.Password, "kalypso-scheduler", "scheduler-")
	m.setPassword(another)
	defer func() {
		m.known = nil // the token may be another one now
		m.setPassword(first.Password)
	}()
	out := m.up()
	var renewed []string
	for line := range strings.Lines(out.stderr) {
		if strings.HasPrefix(line, "Credentials renewed: ") {
			renewed = append(renewed, line)
		}
	}
	for _, name := range []string{"flux", "scheduler", "drone", "large"} {
		if !strings.Contains(strings.Join(renewed, ""), name) {
			t.Errorf("up does not say that credentials of %s were renewed:\n%s", name, out.stderr)
		}
	}
	m.followed(t, "after up")
	if out := m.up(); !strings.Contains(out.stderr, "nothing changed") {
		t.Errorf("up once more says %q", out.stderr)
	}
	m.run("plan", "-e", "dev")
	m.run("restart", "images")
	var now sandbox.Credentials
	m.decode(m.run("credentials", "-o", "json").stdout, &now)
	if !now.PasswordChanged || now.Token != first.Token {
		t.Errorf("password changed: %v; another token: %v", now.PasswordChanged, now.Token != first.Token)
	}

	m.revoke(first.User, another, first.User, "flux-")
	m.revoke(first.User, another, first.User, "platform-")
	m.run("restart", "scheduler")
	m.known = nil
	m.followed(t, "after restart")
	if m.credentials().Token == first.Token {
		t.Error("a revoked token is still shown")
	}
}

// followed pushes a commit to the GitOps repository and waits until every cluster
// and the scheduler have it.
func (m *machine) followed(t *testing.T, when string) {
	t.Helper()
	commit := m.push(m.platform(), "dev", map[string]string{"NOTES.md": when + "\n"})
	for _, c := range []struct{ cluster, path, object string }{
		{"drone", "{.status.artifact.revision}", "gitrepository/dev"},
		{"large", "{.status.sync.revision}", "application/dev"},
	} {
		namespace := map[string]string{"drone": "flux-system", "large": "argocd"}[c.cluster]
		began := time.Now()
		waitFor(t, "commit on "+c.cluster+" "+when, 30*time.Second, func() error {
			out, err := m.try("kubectl", "--context", c.cluster, "--namespace", namespace, "get", c.object, "-o", "jsonpath="+c.path)
			if err == nil && !strings.Contains(out.stdout, commit) {
				err = fmt.Errorf("it has %s, not %s", out.stdout, commit)
			}
			return err
		})
		t.Logf("commit on %s %s: %.2f s", c.cluster, when, time.Since(began).Seconds())
	}
	waitFor(t, "the scheduler "+when, 30*time.Second, func() error {
		s := m.scheduler()
		if s.ControlPlane.Error != "" {
			return errors.New(s.ControlPlane.Error)
		}
		for _, e := range s.Environments {
			if e.Error != "" || e.Runs == 0 {
				return fmt.Errorf("environment %s after %d runs: %s", e.Name, e.Runs, e.Error)
			}
		}
		return nil
	})
}

// setPassword changes that of the user as the page of the account does.
func (m *machine) setPassword(password string) {
	m.t.Helper()
	user := m.credentials().User
	m.forge(http.MethodPatch, "admin/users/"+user, fmt.Sprintf(`{"login_name": %q, "source_id": 0, "password": %q, "must_change_password": false}`, user, password))
}

// revoke removes the tokens of an account whose names begin so, by an
// administrator's password, as the forge wants it for that.
func (m *machine) revoke(admin, password, user, prefix string) {
	m.t.Helper()
	call := func(method, path string, into any) {
		m.t.Helper()
		r, err := http.NewRequestWithContext(m.t.Context(), method, m.credentials().URL+"/api/v1/users/"+user+"/tokens"+path, bytes.NewReader(nil))
		if err != nil {
			m.t.Fatal(err)
		}
		r.SetBasicAuth(admin, password)
		response, err := (&http.Client{Timeout: 15 * time.Second}).Do(r)
		if err != nil {
			m.t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode >= http.StatusBadRequest {
			m.t.Fatalf("%s %s: %s", method, path, response.Status)
		}
		if into != nil {
			if err := json.NewDecoder(response.Body).Decode(into); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	var tokens []struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	call(http.MethodGet, "?limit=50", &tokens)
	revoked := 0
	for _, token := range tokens {
		if strings.HasPrefix(token.Name, prefix) {
			call(http.MethodDelete, fmt.Sprintf("/%d", token.ID), nil)
			revoked++
		}
	}
	if revoked == 0 {
		m.t.Fatalf("%s has no token %s* among %+v", user, prefix, tokens)
	}
}
