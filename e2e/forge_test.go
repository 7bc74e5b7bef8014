//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

type pull struct {
	Number int
	Title  string
	State  string
	Merged bool
	URL    string `json:"html_url"`
	Base   struct{ Ref string }
}

// pulls are a repository's pull requests, the latest first.
func (m *machine) pulls(repo string) []pull {
	m.t.Helper()
	var all []pull
	m.decode(m.forge(http.MethodGet, "repos/kalypso/"+repo+"/pulls?state=all", ""), &all)
	return all
}

// forge calls Gitea's API as the user.
func (m *machine) forge(method, path, body string) string {
	m.t.Helper()
	answer, err := m.tryForge(method, path, body)
	if err != nil {
		m.t.Fatal(err)
	}
	return answer
}

func (m *machine) tryForge(method, path, body string) (string, error) {
	m.t.Helper()
	c := m.credentials()
	r, err := http.NewRequestWithContext(m.t.Context(), method, c.URL+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "token "+c.Token)
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: 15 * time.Second}).Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s\n%s", method, path, response.Status, answer)
	}
	return string(answer), err
}

// visitor is somebody who is logged in to the forge's pages, for what these can
// do and the API cannot.
type visitor struct {
	m      *machine
	client *http.Client
}

func (m *machine) browse() visitor {
	m.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		m.t.Fatal(err)
	}
	b := visitor{m, &http.Client{Jar: jar, Timeout: 15 * time.Second}}
	c := m.credentials()
	b.post(c.URL+"/user/login", url.Values{"user_name": {c.User}, "password": {c.Password}})
	return b
}

func (b visitor) post(address string, form url.Values) {
	b.m.t.Helper()
	r, err := http.NewRequestWithContext(b.m.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.m.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := b.client.Do(r)
	if err != nil {
		b.m.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		b.m.t.Fatalf("POST %s: %s", address, response.Status)
	}
}

// schedulerOnGitea runs the tests of the scheduler that want a real Gitea or a
// real cluster, on the sandbox's: what passes on a forge in memory must be what
// Gitea does.
func schedulerOnGitea(t *testing.T, m *machine) {
	c := m.credentials()
	ctx, cancel := context.WithTimeout(t.Context(), tutorialLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "Gitea|TestContract$|TestRead|TestRights|TestCommit|TestPullRequest$|TestIssues$|TestStatuses|TestElectionOnKubernetes",
		"../scheduler/forge/gitea", "../scheduler/publish", "../scheduler/controller")
	cmd.Env = append(os.Environ(), "KALYPSO_TEST_GITEA_URL="+c.URL, "KALYPSO_TEST_GITEA_TOKEN="+c.Token,
		"KALYPSO_TEST_KUBECONFIG="+filepath.Join(m.home, "kubeconfig"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if skipped := regexp.MustCompile(`(?m)^--- SKIP.*$`).FindAllString(string(out), -1); len(skipped) > 0 {
		t.Errorf("skipped: %q", skipped)
	}
}
