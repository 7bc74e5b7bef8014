package gitea_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
)

// A forge that hangs is given up, and named.
func TestSilentForge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := gitea.New(gitea.Options{URL: "http://forge.example", Token: "t", User: "u", HTTP: &http.Client{Transport: httpfault.Silent{}}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = f.PullRequests(t.Context(), "o/r", "", "dev")
		if !errors.Is(err, gitclient.ErrNetwork) || !strings.Contains(err.Error(), "forge.example") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("given up after %s", took)
		}
	})
}

// slow answers every request with a pull request, after a time.
type slow time.Duration

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(time.Duration(s)):
	}
	const pull = `{"number": 7, "state": "open", "user": {"login": "u"}, "head": {"ref": "kalypso/x"}, "base": {"ref": "dev"}}`
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(pull)), Request: r}, nil
}

// A forge on a busy machine is waited for: the request is in its hands, and
// may have opened the pull request already.
func TestSlowForge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := gitea.New(gitea.Options{URL: "http://forge.example", Token: "t", User: "u", HTTP: &http.Client{Transport: slow(20 * time.Second)}})
		if err != nil {
			t.Fatal(err)
		}
		pull, err := f.SavePullRequest(t.Context(), "o/r", forge.PullRequest{Head: "kalypso/x", Base: "dev", Title: "x"})
		if err != nil || pull.Number != 7 {
			t.Errorf("%+v, %v", pull, err)
		}
	})
}
