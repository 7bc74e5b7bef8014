package gitea_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/httpfault"
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
