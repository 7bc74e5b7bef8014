package cli

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
)

var updateTranscripts = flag.Bool("update", false, "rewrite golden files")

func writeFile(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeWorkshop makes the repositories of the basic-inference workshop below a
// folder, each with its first branch checked out. They name each other below
// forge.
func writeWorkshop(t *testing.T, root, forge string) {
	t.Helper()
	for _, r := range workshoptest.Load(t, "basic-inference", forge).Repositories {
		dir := filepath.Join(root, r.Name)
		gitkit.Run(t, root, "init", "-q", "-b", r.Branches[0].Name, r.Name)
		for i, b := range r.Branches {
			if i > 0 {
				gitkit.Run(t, dir, "checkout", "-q", "--orphan", b.Name)
				gitkit.Run(t, dir, "rm", "-rfq", ".")
			}
			for name, content := range b.Files {
				writeFile(t, filepath.Join(dir, name), content)
			}
			gitkit.Run(t, dir, "add", "-A")
			gitkit.Run(t, dir, "commit", "-qm", "start")
		}
		gitkit.Run(t, dir, "checkout", "-q", r.Branches[0].Name)
	}
}

// serveGit makes the repositories below a folder readable over http, for
// those who send the password, if there is one.
func serveGit(t *testing.T, root, password string) string {
	t.Helper()
	backend := gitkit.Handler(t, root)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, sent, _ := r.BasicAuth(); sent != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// withoutSandbox keeps the sandbox and the credentials of the user who runs the tests out
// of them.
func withoutSandbox(t *testing.T) {
	t.Helper()
	t.Setenv("KALYPSO_HOME", filepath.Join(t.TempDir(), "home"))
	for _, variable := range []string{"KALYPSO_GIT_USER", "KALYPSO_GIT_TOKEN", "GITHUB_TOKEN"} {
		t.Setenv(variable, "")
	}
}

// TestTranscripts runs the sessions in testdata: txtar archives whose comment
// is a list of commands, and whose file "transcript" is what they say. Lines
// on stderr begin with "! ". The commands are
//
//	# a remark
//	kalypso ARGUMENTS
//	git DIR ARGUMENTS    run git in a folder
//	put NAME FILE        copy a file of the archive
//	apply DIR            apply what the last kalypso has printed with git apply
//
// ROOT is the folder with the workshop's repositories.
func TestTranscripts(t *testing.T) {
	sessions, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(sessions) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range sessions {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			withoutSandbox(t)
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			writeWorkshop(t, root, "file://"+root)
			got := transcript(t, root, archive)
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "transcript" })
			if *updateTranscripts {
				if i < 0 {
					i, archive.Files = len(archive.Files), append(archive.Files, txtar.File{Name: "transcript"})
				}
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if i < 0 {
				t.Fatal("no transcript: run with -update")
			}
			if diff := cmp.Diff(strings.Split(string(archive.Files[i].Data), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// transcript runs the commands of a session.
func transcript(t *testing.T, root string, archive *txtar.Archive) string {
	var all strings.Builder
	var last string
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		words := strings.Fields(strings.ReplaceAll(line, "ROOT", root))
		if len(words) == 0 {
			continue
		}
		fmt.Fprintf(&all, "$ %s\n", line)
		switch words[0] {
		case "#":
		case "kalypso":
			var out, talk bytes.Buffer
			code := Run(t.Context(), testVersion, words[1:], strings.NewReader(""), &out, &talk)
			last = out.String()
			for line := range strings.Lines(last + prefixed(talk.String())) {
				if strings.Contains(line, "   REPOSITORY   ") || strings.Contains(line, "/"+filepath.Base(root)+"/") {
					line = manySpaces.ReplaceAllString(line, "   ") // how long ROOT is must not matter
				}
				all.WriteString(strings.ReplaceAll(line, root, "ROOT"))
			}
			if code != 0 {
				fmt.Fprintf(&all, "exit %d\n", code)
			}
		case "git":
			gitkit.Run(t, words[1], words[2:]...)
		case "put":
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == words[1] })
			if i < 0 {
				t.Fatalf("there is no file %s in the archive", words[1])
			}
			writeFile(t, words[2], bytes.ReplaceAll(archive.Files[i].Data, []byte("ROOT"), []byte(root)))
		case "apply":
			patch := filepath.Join(t.TempDir(), "patch")
			writeFile(t, patch, []byte(last))
			gitkit.Run(t, words[1], "apply", patch)
		default:
			t.Fatalf("there is no command %s", words[0])
		}
	}
	return all.String()
}

var manySpaces = regexp.MustCompile(`   +`)

func prefixed(talk string) string {
	var all strings.Builder
	for line := range strings.Lines(talk) {
		all.WriteString("! " + line)
	}
	return all.String()
}

// TestSandboxThatIsDown wants its forge's credentials to be used without it,
// and nothing else of it.
func TestSandboxThatIsDown(t *testing.T) {
	withoutSandbox(t)
	writeFile(t, filepath.Join(os.Getenv("KALYPSO_HOME"), "sandbox.json"),
		[]byte(`{"workshop": "basic-inference", "ports": {"gitea": 2}, "admin": {"user": "platform", "password": "hush"}}`))
	code, out, talk := call(t, "plan")
	if code != cmdutil.ExitUsage || out != "" || !strings.Contains(talk, "the sandbox is down: which control plane?") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	writeFile(t, filepath.Join(os.Getenv("KALYPSO_HOME"), "sandbox.json"), []byte(`{`))
	if code, _, talk := call(t, "plan"); code != cmdutil.ExitFailure || !strings.Contains(talk, "sandbox.json") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}
