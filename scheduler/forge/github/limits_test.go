package github_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/githubfake"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// inProcess calls a GitHub without a network, so that hours pass in no time.
type inProcess struct {
	*githubfake.Server
	mu    sync.Mutex
	posts []time.Time
}

func (p *inProcess) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	if q.Body == nil {
		q.Body = http.NoBody
	}
	if q.Method == http.MethodPost {
		p.mu.Lock()
		p.posts = append(p.posts, time.Now())
		p.mu.Unlock()
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, q)
	answer := w.Result()
	answer.Request = q
	return answer, nil
}

func (p *inProcess) forge(t *testing.T, o github.Options) *github.Forge {
	t.Helper()
	o.URL, o.HTTP, o.Log = p.URL, &http.Client{Transport: p}, slog.New(slog.DiscardHandler)
	f, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestContentLimits opens more issues than GitHub takes in an hour.
func TestContentLimits(t *testing.T) {
	w := newFixture(t)
	w.Repo("gitops")
	synctest.Test(t, func(t *testing.T) {
		p := &inProcess{Server: w.Server}
		f := p.forge(t, github.Options{Token: w.bot.Token, User: w.bot.Login})
		for range 620 {
			if _, err := f.SaveIssue(t.Context(), "acme/gitops", forge.Issue{Title: "t"}); err != nil {
				t.Fatal(err)
			}
		}
		for limit, window := range map[int]time.Duration{80: time.Minute, 500: time.Hour} {
			for i := limit; i < len(p.posts); i++ {
				if took := p.posts[i].Sub(p.posts[i-limit]); took < window {
					t.Fatalf("%d requests within %s", limit+1, took)
				}
			}
		}
	})
}

// TestTokenAfterTheWait lets an App's tokens expire while requests are delayed.
func TestTokenAfterTheWait(t *testing.T) {
	w := newFixture(t)
	w.Repo("gitops")
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, w.App("kalypso", 7, 99), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := &inProcess{Server: w.Server}
		f := p.forge(t, github.Options{App: &github.App{ID: 7, Installation: 99, KeyFile: key}})
		for range 2 {
			// at first for a token itself, then for what is asked with it
			w.SetRate(0, time.Now().Add(63*time.Minute))
			if _, err := f.Issues(t.Context(), "acme/gitops"); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range w.Calls() {
			if c.Status == http.StatusUnauthorized {
				t.Errorf("%s with a token that has expired", c.Kind)
			}
		}
	})
}

// TestTokenIsReplaced has GitHub refuse an App's token ahead of its time.
func TestTokenIsReplaced(t *testing.T) {
	w := newFixture(t)
	w.Push("acme/gitops", "dev", map[string]string{"a": "b"})
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, w.App("kalypso", 7, 99), 0o600); err != nil {
		t.Fatal(err)
	}
	f := w.connect(t, github.Options{App: &github.App{ID: 7, Installation: 99, KeyFile: key}, User: "kalypso[bot]"})
	bad := githubfake.Status(http.StatusUnauthorized, "Bad credentials")
	for _, on := range []func(githubfake.Call) bool{githubfake.Kinds("POST /repos"), githubfake.Kinds("refs")} {
		w.Fail(githubfake.Fault{On: on, Answer: bad})
		if _, err := f.SaveIssue(t.Context(), "acme/gitops", forge.Issue{Title: "t"}); err != nil {
			t.Error(err)
		}
		if _, err := f.Read(t.Context(), model.Reference{Repo: w.CloneURL("acme/gitops"), Branch: "dev"}); err != nil {
			t.Error(err)
		}
	}
	if kinds, _ := githubfake.Count(w.Calls()); kinds["POST /app/installations/{id}/access_tokens"] != 3 {
		t.Errorf("requests %v", kinds)
	}
	w.Fail(githubfake.Fault{On: githubfake.Kinds("POST /repos"), Times: 2, Answer: bad})
	if _, err := f.SaveIssue(t.Context(), "acme/gitops", forge.Issue{Title: "t"}); err == nil {
		t.Error("no error although the new token is not taken either")
	}
}
