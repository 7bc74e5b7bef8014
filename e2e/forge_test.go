//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
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

// forge calls Gitea's API as the person.
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
