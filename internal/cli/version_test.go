package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/cli/version"
)

// callAs runs kalypso as if it had been built with a version.
func callAs(t *testing.T, built string, args ...string) (code int, out, talk string) {
	t.Helper()
	t.Setenv("KALYPSO_HOME", filepath.Join(t.TempDir(), "home"))
	var stdout, stderr strings.Builder
	code = Run(t.Context(), built, args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestVersionCheck(t *testing.T) {
	for name, c := range map[string]struct {
		built, served string
		status        int
		want          version.Check
		code          int // with --exit-code
	}{
		"the latest":            {built: "v0.2.0", served: "v0.2.0\n", want: version.Check{Latest: "v0.2.0"}},
		"an older one":          {built: "v0.9.0", served: "v0.10.0\n", want: version.Check{Latest: "v0.10.0", Newer: true, Install: "install.sh"}, code: cmdutil.ExitChanges},
		"before the release":    {built: "v0.2.0-rc.1", served: "v0.2.0\n", want: version.Check{Latest: "v0.2.0", Newer: true, Install: "install.sh"}, code: cmdutil.ExitChanges},
		"ahead of what is out":  {built: "v0.3.0", served: "v0.2.0\n", want: version.Check{Latest: "v0.2.0"}},
		"a commit after one":    {built: "v0.2.0-5-g0123abc", served: "v0.3.0\n", want: version.Check{Latest: "v0.3.0"}},
		"built without git":     {built: "unknown", served: "v0.3.0\n", want: version.Check{Latest: "v0.3.0"}},
		"nothing is released":   {built: "v0.2.0", status: http.StatusNotFound, want: version.Check{Unreachable: "404"}, code: cmdutil.ExitFailure},
		"a portal's login page": {built: "v0.2.0", served: "<html>", want: version.Check{Unreachable: "is no version"}, code: cmdutil.ExitFailure},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/releases/latest/download/VERSION" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				_, _ = w.Write([]byte(c.served))
			}))
			defer server.Close()
			t.Setenv("KALYPSO_RELEASES", server.URL+"/releases/")
			code, out, _ := callAs(t, c.built, "version", "--check", "-o", "json")
			var got struct{ Check version.Check }
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != cmdutil.ExitOK {
				t.Fatalf("exit code %d, %q: %v", code, out, err)
			}
			if got.Check.Latest != c.want.Latest || got.Check.Newer != c.want.Newer ||
				!strings.Contains(got.Check.Unreachable, c.want.Unreachable) || (got.Check.Unreachable == "") != (c.want.Unreachable == "") ||
				!strings.Contains(got.Check.Install, c.want.Install) || (got.Check.Install == "") != (c.want.Install == "") {
				t.Errorf("found %+v, want %+v", got.Check, c.want)
			}
			if code, _, _ := callAs(t, c.built, "version", "--check", "--exit-code"); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
		})
	}
}

func TestVersionCheckWithoutNetwork(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close() // nothing answers there now
	t.Setenv("KALYPSO_RELEASES", server.URL)
	code, out, talk := callAs(t, "v0.1.0", "version", "--check")
	if code != cmdutil.ExitOK || !strings.Contains(out, "v0.1.0") || !strings.Contains(talk, server.URL) {
		t.Errorf("exit code %d, %q, says %q", code, out, talk)
	}
	if code, _, _ := callAs(t, "v0.1.0", "version", "--check", "--exit-code"); code != cmdutil.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if code, _, _ := callAs(t, "v0.1.0", "version", "--exit-code"); code != cmdutil.ExitUsage {
		t.Errorf("exit code %d without --check", code)
	}
}

func TestManualPages(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "man"), filepath.Join(t.TempDir(), "man")
	for _, dir := range []string{first, second} {
		if code, out, talk := callAs(t, "v0.1.0", "man", dir); code != cmdutil.ExitOK || out+talk != "" {
			t.Fatalf("exit code %d, %q, %q", code, out, talk)
		}
	}
	for _, name := range []string{"kalypso.1", "kalypso-up.1", "kalypso-plan.1", "kalypso-ci-promote.1"} {
		page, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(filepath.Join(second, name)); err != nil || string(again) != string(page) {
			t.Errorf("%s is not the same a second time: %v", name, err)
		}
		if !strings.HasPrefix(string(page), ".nh\n.TH \"KALYPSO") {
			t.Errorf("%s begins with %.40q", name, page)
		}
	}
}
