// Package endpoint observes a fleet by one HTTP request, of whatever serves it with
// [Handler]. It is for fleets that neither Azure nor an API of Kubernetes knows.
//
//	GET URL?repository=https://github.com/o/gitops&branch=dev
//	Authorization: Bearer TOKEN
//
//	{"configurations": [{"cluster": "store-001", "name": "dev", "commit": "4f1d...", "state": "Compliant"}]}
//
// Without the parameters the answer is a [fleet.Snapshot], with all that the clusters
// follow.
package endpoint

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	// limit is how long an answer may take.
	limit = 30 * time.Second
	// maxAnswer is enough for a hundred thousand configurations.
	maxAnswer = 64 << 20
)

// answer is the body of a response.
type answer struct {
	Configurations []fleet.Configuration `json:"configurations"`
}

// Client is a [fleet.Observer] of the fleet at a URL.
type Client struct {
	URL   string // http or https
	Token string // the bearer token
}

var (
	_ fleet.Observer = Client{}
	_ fleet.Reader   = Client{}
)

// Observe asks for all configurations that follow the branch. An answer that is not
// whole is an error.
func (c Client) Observe(ctx context.Context, s fleet.Source) ([]fleet.Configuration, error) {
	a, err := get[answer](ctx, c, "?"+url.Values{"repository": {s.Repo}, "branch": {s.Branch}}.Encode())
	return a.Configurations, err
}

// Inventory asks for all that the clusters follow.
func (c Client) Inventory(ctx context.Context) (fleet.Snapshot, error) {
	return get[fleet.Snapshot](ctx, c, "")
}

func get[T any](ctx context.Context, c Client, query string) (a T, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+query, nil)
	if err != nil {
		return a, fmt.Errorf("fleet: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, fmt.Errorf("fleet: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return a, fmt.Errorf("fleet at %s: http status %d: %s", c.URL, response.StatusCode, strings.TrimSpace(string(b)))
	}
	var whole T
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&whole); err != nil {
		return a, fmt.Errorf("fleet at %s: its answer: %w", c.URL, err)
	}
	return whole, nil
}

// Handler serves a fleet to those who have the token, which is not empty. One that is a
// [fleet.Reader] is served whole, too.
func Handler(o fleet.Observer, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		repository, branch := r.URL.Query().Get("repository"), r.URL.Query().Get("branch")
		reader, isReader := o.(fleet.Reader)
		switch {
		case !ok || token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			http.Error(w, "the bearer token is missing or wrong", http.StatusUnauthorized)
			return
		case r.Method != http.MethodGet:
			http.Error(w, "the fleet can only be read", http.StatusMethodNotAllowed)
			return
		case isReader && r.URL.RawQuery == "":
			all, err := reader.Inventory(r.Context())
			respond(w, all, err)
			return
		case repository == "" || branch == "":
			http.Error(w, "which branch of which repository? Give the parameters repository and branch", http.StatusBadRequest)
			return
		}
		all, err := o.Observe(r.Context(), fleet.Source{Repo: repository, Branch: branch})
		respond(w, answer{append([]fleet.Configuration{}, all...)}, err)
	})
}

func respond(w http.ResponseWriter, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}
