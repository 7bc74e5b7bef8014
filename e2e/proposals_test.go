//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// post sends a document to the API, and returns the answer's code and what it holds.
func (h hubClient) post(method, path string, body any, into any, headers ...string) int {
	h.m.t.Helper()
	var me struct{ CSRF string }
	if err := h.get("/api/v1/me", &me); err != nil {
		h.m.t.Fatal(err)
	}
	sent, err := json.Marshal(body)
	if err != nil {
		h.m.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(h.m.t.Context(), method, h.server+path, bytes.NewReader(sent))
	if err != nil {
		h.m.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-CSRF", me.CSRF)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := h.client.Do(r)
	if err != nil {
		h.m.t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err == nil && into != nil && response.StatusCode < http.StatusBadRequest {
		err = json.Unmarshal(got, into)
	}
	if err != nil {
		h.m.t.Fatalf("%s %s: %s: %v: %s", method, path, response.Status, err, got)
	}
	if response.StatusCode >= http.StatusBadRequest {
		h.m.t.Logf("%s %s: %s", method, path, got)
	}
	return response.StatusCode
}

// changedFile is a file as a plan changes it.
type changedFile struct{ Path, Diff string }

// proposals has the hub plan and propose an edit on the sandbox's Gitea, and the command line
// another: the hub's plan is that of `kalypso plan` on a clone with the same edit, and nothing is
// pushed to the environment's branch.
func proposals(t *testing.T, m *machine) {
	h := m.hub()
	edits := []map[string]string{{"operation": "removeLabel", "kind": "ClusterType", "name": "drone", "key": "edge"}}
	var plan struct {
		Head        string
		Files       []changedFile
		Assignments struct {
			Gained, Lost []struct{ ClusterType, Target string }
		}
	}
	if code := h.post(http.MethodPost, "/api/v1/plans", map[string]any{"environment": "dev", "edits": edits, "against": "merged"}, &plan); code != http.StatusOK {
		t.Fatalf("a plan is answered with %d", code)
	}
	dir := t.TempDir()
	m.git(dir, "clone", "--quiet", "--branch", "dev", m.credentials().OrgURL+"/kalypso-control-plane", "clone")
	clone := filepath.Join(dir, "clone")
	if head := strings.TrimSpace(m.git(clone, "rev-parse", "HEAD")); plan.Head != head {
		t.Errorf("the plan is made on %s, and dev is at %s", plan.Head, head)
	}
	m.run("edit", "remove-label", "clustertype/drone", "edge", "--control-plane", clone, "--write")
	var command struct {
		Environments []struct{ Changes []changedFile }
	}
	if err := json.Unmarshal([]byte(m.run("plan", "-e", "dev", "--control-plane", clone, "--branch", "main", "-o", "json").stdout), &command); err != nil || len(command.Environments) != 1 {
		t.Fatalf("%v: %+v", err, command)
	}
	if !slices.Equal(plan.Files, command.Environments[0].Changes) {
		t.Errorf("the hub's plan changes\n%+v\nand that of the command\n%+v", plan.Files, command.Environments[0].Changes)
	}

	dev := strings.TrimSpace(m.git(clone, "ls-remote", "origin", "refs/heads/dev"))
	type proposal struct {
		ID, URL, State, Branch string
		Number                 int
		FourEyes               bool
	}
	body := map[string]any{"environment": "dev", "edits": edits, "title": "Drones are not at the edge"}
	var first, again, same proposal
	for i, one := range []struct {
		key  string
		into *proposal
		code int
	}{{"a", &first, http.StatusCreated}, {"a", &again, http.StatusCreated}, {"b", &same, http.StatusOK}} {
		if code := h.post(http.MethodPost, "/api/v1/proposals", body, one.into, "Idempotency-Key", one.key, "If-Match", plan.Head); code != one.code {
			t.Fatalf("proposed for the %d. time: %d", i+1, code)
		}
	}
	if first != again || same.Number != first.Number || first.State != "open" || !first.FourEyes {
		t.Errorf("%+v, %+v, %+v", first, again, same)
	}
	var pull struct {
		State, Title, Body string
		User               struct{ Login string }
		Head               struct{ SHA string }
	}
	m.decode(m.forge(http.MethodGet, fmt.Sprintf("repos/kalypso/kalypso-control-plane/pulls/%d", first.Number), ""), &pull)
	if pull.State != "open" || pull.User.Login != "kalypso-hub" || !strings.Contains(pull.Body, "Proposed-by: `owner`") {
		t.Errorf("%+v", pull)
	}
	status := func() (newest string) {
		for _, one := range m.statuses(pull.Head.SHA) {
			if one.Context == "kalypso/four-eyes" {
				newest = one.Status
			}
		}
		return newest
	}
	if got := status(); got != "pending" {
		t.Errorf("four eyes: %q", got)
	}
	m.forge(http.MethodPost, fmt.Sprintf("repos/kalypso/kalypso-control-plane/pulls/%d/reviews", first.Number), `{"event":"APPROVED","body":"yes"}`)
	waitFor(t, "the proposal is approved", 30*time.Second, func() error {
		if got := status(); got != "success" {
			return errors.New(got)
		}
		return nil
	})
	if code := h.post(http.MethodDelete, "/api/v1/proposals/"+first.ID, nil, nil); code != http.StatusNoContent {
		t.Errorf("closing: %d", code)
	}

	out := m.run("edit", "set-label", "clustertype/drone", "camera=true", "-e", "dev", "--propose", "--title", "Drones see")
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	type listed struct {
		Title string
		URL   string `json:"html_url"`
		User  struct{ Login string }
	}
	var pulls []listed
	m.decode(m.forge(http.MethodGet, "repos/kalypso/kalypso-control-plane/pulls?state=open", ""), &pulls)
	if i := slices.IndexFunc(pulls, func(p listed) bool { return p.URL == lines[len(lines)-1] }); i < 0 || pulls[i].Title != "Drones see" || pulls[i].User.Login != m.credentials().User {
		t.Errorf("%s: %+v", out.stdout, pulls)
	}
	if now := strings.TrimSpace(m.git(clone, "ls-remote", "origin", "refs/heads/dev")); now != dev {
		t.Errorf("dev was at %s and is at %s", dev, now)
	}
}
