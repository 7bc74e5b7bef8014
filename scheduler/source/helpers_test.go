package source_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// mustFail wants an error that says all of that.
func mustFail(t *testing.T, err error, says ...string) {
	t.Helper()
	for _, s := range says {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("error %v, want one that says %q", err, s)
		}
	}
}

// mustHint wants an error that says what to do, in all of these words.
func mustHint(t *testing.T, err error, says ...string) {
	t.Helper()
	var e *source.Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("no hint with %v", err)
		return
	}
	for _, s := range says {
		if !strings.Contains(e.Hint, s) {
			t.Errorf("hint %q does not say %q", e.Hint, s)
		}
	}
}

// TestMain keeps the git configuration of the user who runs the tests out of them.
func TestMain(m *testing.M) {
	for _, variable := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "XDG_CONFIG_HOME"} {
		os.Unsetenv(variable)
	}
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// git runs git in a folder and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gitkit.Run(t, dir, append([]string{
		"-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}, args...)...)
}

// write puts the files of a txtar archive into a folder.
func write(t *testing.T, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// commit commits all that is in a working tree and returns the commit's ID.
func commit(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "change")
	return git(t, dir, "rev-parse", "HEAD")
}

// repositories makes git repositories below a folder from an archive whose
// files are named "repository@branch/path". FORGE in them becomes forge. Main
// is what is checked out in the end, when there is such a branch.
func repositories(t *testing.T, root, forge, archive string) {
	t.Helper()
	files := map[string]map[string]string{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		repo, rest, ok := strings.Cut(f.Name, "@")
		branch, path, found := strings.Cut(rest, "/")
		if !ok || !found {
			t.Fatalf("no repository@branch/path: %s", f.Name)
		}
		if files[repo+"@"+branch] == nil {
			files[repo+"@"+branch] = map[string]string{}
		}
		files[repo+"@"+branch][path] = strings.ReplaceAll(string(f.Data), "FORGE", forge)
	}
	streams, first := map[string]*strings.Builder{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		repo, branch, _ := strings.Cut(key, "@")
		if streams[repo] == nil {
			streams[repo], first[repo] = &strings.Builder{}, branch
		}
		fmt.Fprintf(streams[repo], "commit refs/heads/%s\ncommitter t <t@example.com> 1 +0000\ndata 5\nstart\n", branch)
		for _, path := range slices.Sorted(maps.Keys(files[key])) {
			fmt.Fprintf(streams[repo], "M 100644 inline %s\ndata %d\n%s\n", path, len(files[key][path]), files[key][path])
		}
	}
	for repo, stream := range streams {
		branch := first[repo]
		if files[repo+"@main"] != nil {
			branch = "main"
		}
		git(t, root, "init", "-q", "-b", branch, repo)
		dir := filepath.Join(root, repo)
		if _, err := gitkit.Git(dir, stream.String(), "-c", "fastimport.unpackLimit=1000", "fast-import", "--quiet"); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "reset", "-q", "--hard")
	}
}

// serve makes the repositories below a folder readable over http. Every request
// goes through check first, which may answer it.
func serve(t *testing.T, root string, check func(w http.ResponseWriter, r *http.Request) (done bool)) string {
	t.Helper()
	backend := gitkit.Handler(t, root)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if check == nil || !check(w, r) {
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// state is everything in a folder, to see whether something has changed.
func state(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sum := ""
		if entry.Type().IsRegular() {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		lines = append(lines, fmt.Sprint(file, info.Mode(), info.ModTime(), sum))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
