package gitea_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
)

// TestMergeAsAllowed merges as the settings of a repository allow it.
func TestMergeAsAllowed(t *testing.T) {
	for name, test := range map[string]struct {
		repo      string // its settings
		protected bool
		want      error
	}{
		"squash alone":          {`{"allow_squash_merge": true}`, false, nil},
		"a protected branch":    {`{"allow_merge_commits": true}`, true, forge.ErrQueued},
		"nothing that is known": {`{}`, false, forge.ErrNotYet},
	} {
		merged := false
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(q.URL.Path, "/merge"):
				var in struct {
					Do    string
					Later bool `json:"merge_when_checks_succeed"`
				}
				if err := json.NewDecoder(q.Body).Decode(&in); err != nil {
					t.Error(err)
				}
				switch allowed := in.Do == "squash" == strings.Contains(test.repo, "squash") && test.repo != "{}"; {
				case allowed && test.protected && in.Later:
					w.WriteHeader(http.StatusCreated)
				case allowed && !test.protected:
					merged = true
				default:
					w.WriteHeader(http.StatusMethodNotAllowed)
				}
			case strings.HasSuffix(q.URL.Path, "/pulls/3"):
				fmt.Fprintf(w, `{"number": 3, "mergeable": true, "merged": %t, "merge_commit_sha": "c"}`, merged)
			default:
				fmt.Fprint(w, test.repo)
			}
		}))
		f, err := gitea.New(gitea.Options{URL: s.URL, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		commit, err := f.Merge(t.Context(), "acme/x", 3, "h")
		if !errors.Is(err, test.want) || (commit == "c") != (test.want == nil) {
			t.Errorf("%s: %q, %v", name, commit, err)
		}
		s.Close()
	}
}
