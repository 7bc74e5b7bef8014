package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kalypso-dev/kalypso/internal/testkit/daemontest"
	"github.com/kalypso-dev/kalypso/internal/testkit/files"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/doctor"
	"github.com/kalypso-dev/kalypso/sandbox/state"
	"github.com/kalypso-dev/kalypso/workshop"
)

// kata writes a workshop with clusters to a folder.
func kata(t *testing.T, dir, name string, clusters ...string) {
	t.Helper()
	text := "apiVersion: kalypso.dev/v1alpha1\nkind: Workshop\nname: " + name + "\ncontrolPlane: {repository: control, environments: [dev]}\nrepositories:\n- {name: control, branches: [main, dev]}\nclusters:\n"
	for _, c := range clusters {
		text += fmt.Sprintf("- {name: %s, reconciler: flux, follows: [{name: dev, repository: control, branch: dev}]}\n", c)
	}
	files.Fill(t, dir, map[string]string{
		workshop.File: text, "repositories/control/main/README.md": "# main\n", "repositories/control/dev/README.md": "# dev\n",
		"repositories/control/main/.github/workflows/ci.yaml": "on: push\n",
	})
}

// ofFolder makes a sandbox of a workshop in a folder.
func ofFolder(t *testing.T, h Home, dir string) Choice {
	t.Helper()
	c := Choice{Workshop: dir}
	err := c.Open(t.Context(), t.TempDir())
	if err == nil {
		_, err = h.Ensure(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func loaded(t *testing.T, h Home) *state.State {
	t.Helper()
	s, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRenew begins again with a folder that was changed. A reset goes back to what the
// sandbox was made of, and a snapshot to the workshop that there was.
func TestRenew(t *testing.T) {
	for name, runs := range map[string]bool{"running": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			h, dir := Home(t.TempDir()), t.TempDir()
			kata(t, dir, "kata", "shop", "depot")
			ofFolder(t, h, dir)
			if runs {
				daemontest.Serve(t, h, daemontest.Steady("gitea")).Settle(t)
			}
			files.Fill(t, string(h), map[string]string{"gitea/db": "used"})
			if _, err := SaveSnapshot(t.Context(), h, "before", "v1"); err != nil {
				t.Fatal(err)
			}
			if loaded(t, h).IsOutdated() {
				t.Error("the folder is said to have changed")
			}
			is := func(name string, clusters ...string) {
				t.Helper()
				if s := loaded(t, h); s.Workshop != name || s.Spec().Name != name || !slices.Equal(s.ClusterNames(), clusters) {
					t.Errorf("workshop %s with %q, want %s with %q", s.Workshop, s.ClusterNames(), name, clusters)
				}
			}

			kata(t, dir, "kata-two", "shop", "harbour")
			var mistake *usage.Error
			again := Choice{Workshop: dir}
			if err := errors.Join(again.Open(t.Context(), t.TempDir()), again.Check(h)); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "kalypso reset --workshop "+dir) {
				t.Errorf("up again: %v", err)
			}
			if !loaded(t, h).IsOutdated() {
				t.Error("the folder is not said to have changed")
			}
			if _, err := Reset(t.Context(), h, nil); err != nil {
				t.Fatal(err)
			}
			is("kata", "shop", "depot")

			other := t.TempDir()
			kata(t, other, "kata", "shop")
			declined := errors.New("declined")
			for wrong, o := range map[string]Options{
				"another workshop":       {Choice: Choice{Workshop: other}, Trust: func(*workshop.Workshop) error { return nil }},
				"one that is not wanted": {Choice: Choice{Workshop: dir}, Trust: func(*workshop.Workshop) error { return declined }},
			} {
				o.Home = h
				if _, err := Renew(t.Context(), o); !errors.As(err, &mistake) && !errors.Is(err, declined) {
					t.Errorf("%s: %v", wrong, err)
				}
			}
			is("kata", "shop", "depot")

			files.Fill(t, string(h), map[string]string{"gitea/db": "used"})
			var workflows []string
			ran, err := Renew(t.Context(), Options{Home: h, Choice: Choice{Workshop: dir}, Trust: func(w *workshop.Workshop) (err error) {
				workflows, err = w.WorkflowFiles()
				return err
			}})
			if err != nil || ran != runs {
				t.Fatalf("ran %v, %v", ran, err)
			}
			is("kata-two", "shop", "harbour")
			if !slices.Equal(workflows, []string{"control/.github/workflows/ci.yaml"}) {
				t.Errorf("asked for %q", workflows)
			}
			if got := files.Contents(t, string(h))["gitea/db"]; got != "" {
				t.Errorf("the data is still %q", got)
			}
			if s := loaded(t, h); s.IsOutdated() || runs && (s.Ports["harbour"] == 0 || s.Ports["depot"] != 0) {
				t.Errorf("outdated %v, ports %v", s.IsOutdated(), s.Ports)
			}

			if _, err := LoadSnapshot(t.Context(), h, "before", nil); err != nil {
				t.Fatal(err)
			}
			is("kata", "shop", "depot")
			if got := files.Contents(t, string(h))["gitea/db"]; got != "used" {
				t.Errorf("the snapshot's data is %q", got)
			}
		})
	}
}

// TestOriginWithoutCredentials keeps what a URL has of them out of the state.
func TestOriginWithoutCredentials(t *testing.T) {
	h, dir := Home(t.TempDir()), t.TempDir()
	kata(t, dir, "kata", "shop")
	url := served(t, dir, "ann", "s3cret")
	ofFolder(t, h, strings.Replace(url, "http://", "http://ann:s3cret@", 1)+"#main:sub")
	for file, content := range files.Contents(t, string(h)) {
		if strings.Contains(content, "s3cret") {
			t.Errorf("%s has the password", file)
		}
	}
	if s := loaded(t, h); s.Origin != url+"#main:sub" {
		t.Errorf("origin %s", s.Origin)
	}
}

// served is the URL of a git repository that has a folder as sub, for a user with a
// password.
func served(t *testing.T, dir, user, password string) string {
	t.Helper()
	root := t.TempDir()
	repo := filepath.Join(root, "kata")
	if err := os.CopyFS(filepath.Join(repo, "sub"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, repo, "init", "--quiet", "--initial-branch", "main")
	gitkit.Run(t, repo, "add", "--all")
	gitkit.Run(t, repo, "commit", "--quiet", "-m", "start")
	gitkit.Run(t, root, "clone", "--quiet", "--bare", repo, "kata.git")
	handler := gitkit.Handler(t, root)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/kata.git"
}

// TestNoMemoryForAnotherCluster is about real ones: virtual ones need none to speak of.
func TestNoMemoryForAnotherCluster(t *testing.T) {
	h := Home(t.TempDir())
	twoClusters(t, h)
	one, virtual := []workshop.Cluster{{Name: "a"}}, []workshop.Cluster{{Name: "v", Kind: workshop.VirtualCluster}}
	machine := func(mib int) *doctor.System {
		m := doctor.Machine()
		m.Files = fstest.MapFS{"proc/meminfo": {Data: fmt.Appendf(nil, "MemTotal: 8388608 kB\nMemAvailable: %d kB\nSwapFree: 0 kB\n", mib<<10)}}
		m.RealNode = func(string) error { return nil }
		return m
	}
	warned := 0
	warn := func(doctor.Finding) { warned++ }
	var refused *PreflightError
	if err := checkMemory(h, one, machine(300), warn); !errors.As(err, &refused) || warned > 0 {
		t.Errorf("with 300 MiB: %v", err)
	}
	if err := checkMemory(h, one, machine(600), warn); err != nil || warned != 1 {
		t.Errorf("with 600 MiB: %v, %d warnings", err, warned)
	}
	if err := errors.Join(checkMemory(h, one, machine(1100), warn), checkMemory(h, virtual, machine(100), warn)); err != nil || warned != 1 {
		t.Errorf("%v, %d warnings", err, warned)
	}
}
