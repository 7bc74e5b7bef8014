//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"time"
)

type pull struct {
	Number int
	Title  string
	State  string
	Merged bool
	URL    string `json:"html_url"`
}

// pulls are a repository's pull requests, the latest first.
func (m *machine) pulls(repo string) []pull {
	m.t.Helper()
	c := m.credentials()
	r, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, c.URL+"/api/v1/repos/kalypso/"+repo+"/pulls?state=all", nil)
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Authorization", "token "+c.Token)
	response, err := (&http.Client{Timeout: 15 * time.Second}).Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	var all []pull
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil || response.StatusCode != http.StatusOK {
		m.t.Fatalf("pull requests of %s: %s: %v", repo, response.Status, err)
	}
	return all
}
