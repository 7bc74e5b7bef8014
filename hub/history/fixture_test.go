package history_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

const password = "s3cret-of-the-forge"

// server serves repositories with git's own http backend, to who has the password.
type server struct {
	testing.TB
	root, url string
	down      atomic.Bool
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{TB: tb, root: tb.TempDir()}
	backend := gitkit.Handler(tb, s.root)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		switch {
		case s.down.Load():
			http.Error(w, "down", http.StatusBadGateway)
		case given != password:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			backend.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// client is the forge, as kalypso's own client reads it.
type client struct{ *gitclient.Client }

func (c client) Fetch(ctx context.Context, cloneURL, branch string, have []string, into gitclient.Storage) (string, error) {
	return c.Client.Fetch(ctx, gitclient.Remote{URL: cloneURL, Auth: &gitclient.Auth{User: "hub", Password: password}}, branch, have, into)
}

// repository is one with a work tree that pushes to it.
type repository struct {
	*server
	url, bare, work string
}

func (s *server) create(name string) *repository {
	s.Helper()
	r := &repository{server: s, url: s.url + "/" + name + ".git", bare: filepath.Join(s.root, name+".git"), work: s.TempDir()}
	r.git(s.root, "init", "-q", "--bare", "-b", "dev", r.bare)
	r.git(r.bare, "config", "uploadpack.allowFilter", "true")
	r.git(r.work, "init", "-q", "-b", "dev")
	r.git(r.work, "remote", "add", "origin", r.bare)
	return r
}

func (r *repository) git(dir string, args ...string) string {
	r.Helper()
	return gitkit.Run(r, dir, args...)
}

// commit writes files, removes those without content, and pushes.
func (r *repository) commit(subject string, files map[string]string) (id string) {
	r.Helper()
	for name, content := range files {
		file := filepath.Join(r.work, name)
		if content == "" {
			if err := os.RemoveAll(file); err != nil {
				r.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			r.Fatal(err)
		}
	}
	r.git(r.work, "add", "-A")
	r.git(r.work, "commit", "-q", "--allow-empty", "-m", subject)
	return r.push()
}

func (r *repository) push() (id string) {
	r.Helper()
	r.git(r.work, "push", "-q", "--force", "origin", "HEAD:refs/heads/dev")
	return r.git(r.work, "rev-parse", "HEAD")
}

// reconciler is the file of an assignment that follows a folder of the branch dev.
func reconciler(name, repo, folder string) string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec: {url: %[2]s, ref: {branch: dev}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec: {path: ./%[3]s, sourceRef: {kind: GitRepository, name: %[1]s}}
`, name, repo, folder)
}

func config(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-config}\ndata:\n  REGION: " + value + "\n"
}

func descriptor(workload, target, version, source string) string {
	return fmt.Sprintf(`apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
metadata: {name: %[1]s-%[2]s}
spec:
  workload: {name: %[1]s}
  deploymentTarget: {name: %[2]s, environment: dev}
  workloadVersion: {version: %[3]s, commit: %[4]s}
`, workload, target, version, source)
}

func openStore(tb testing.TB, file string) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), store.Options{SQLite: file})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// reader reads into a new store.
func reader(tb testing.TB) *history.Reader {
	tb.Helper()
	return readerOf(openStore(tb, filepath.Join(tb.TempDir(), "hub.db")), filepath.Join(tb.TempDir(), "mirrors"), slog.New(slog.NewTextHandler(tb.Output(), nil)))
}

func readerOf(s *store.Store, mirrors string, log *slog.Logger) *history.Reader {
	return &history.Reader{Store: s, Forge: client{gitclient.New(&http.Client{}, 1<<20)}, Folder: mirrors, Log: log}
}

func (r *repository) environment(root string) model.Reference {
	return model.Reference{Repo: r.url, Branch: "dev", Path: root}
}

// read reads, and returns what is new by repository and branch.
func read(tb testing.TB, r *history.Reader, environments ...model.Reference) map[string]history.Result {
	tb.Helper()
	results, err := r.Read(tb.Context(), environments, nil)
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]history.Result{}
	for _, one := range results {
		all[strings.TrimSuffix(filepath.Base(one.Repo), ".git")] = one
	}
	return all
}

// verified fails the test when the store differs from git.
func verified(tb testing.TB, r *history.Reader, environments ...model.Reference) history.Verification {
	tb.Helper()
	v, err := r.Verify(tb.Context(), environments, openStore(tb, filepath.Join(tb.TempDir(), "rebuilt.db")))
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range v.Differences {
		tb.Errorf("%+v", d)
	}
	return v
}

// childVariable has what a test binary is to read, until it is done or killed.
const childVariable = "KALYPSO_TEST_HISTORY_READER"

type childJob struct {
	Database, Mirrors string
	Environment       model.Reference
}

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	if err := runChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runChild reads, and prints for how long and with how much memory in KiB.
func runChild(text string) error {
	var job childJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{SQLite: job.Database})
	if err != nil {
		return err
	}
	defer s.Close()
	began := time.Now()
	if _, err := readerOf(s, job.Mirrors, slog.New(slog.DiscardHandler)).Read(ctx, []model.Reference{job.Environment}, nil); err != nil {
		return err
	}
	fmt.Println(time.Since(began).Milliseconds())
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return err
	}
	defer status.Close()
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			fmt.Println(strings.Fields(rest)[0])
		}
	}
	return lines.Err()
}

// child is this test binary, which reads.
func child(tb testing.TB, job childJob) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(job)
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), self)
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	return command
}

// generate makes a platform whose GitOps branch has a number of commits that each change one of
// many assignments, and applications whose commits change versions.
func generate(tb testing.TB, s *server, commits, types, targets, applications, releases int) *repository {
	tb.Helper()
	platform := s.create("gitops")
	var apps []*repository
	for i := range applications {
		apps = append(apps, s.create(fmt.Sprintf("app-%d", i)))
	}
	var stream strings.Builder
	begin := func(n int) {
		subject := fmt.Sprintf("Change %d (#%d)", n, n)
		fmt.Fprintf(&stream, "commit refs/heads/dev\ncommitter Bot <bot@acme.test> %d +0000\ndata %d\n%s\n", 1_700_000_000+n*60, len(subject), subject)
	}
	file := func(name, content string) {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", name, len(content), content)
	}
	for n := 1; n <= commits; n++ {
		begin(n)
		for t := range types {
			for i := range targets {
				if n > 1 && (t*targets+i) != n%(types*targets) {
					continue
				}
				folder := fmt.Sprintf("type-%d/app-%d-t%d/", t, i%applications, i)
				if n == 1 {
					file(folder+"reconciler.yaml", reconciler(fmt.Sprintf("app-%d-t%d", i%applications, i), apps[i%applications].url, "t"))
				}
				file(folder+"platform-config.yaml", config(fmt.Sprint(n)))
			}
		}
	}
	fastImport(platform, &stream)
	for i, app := range apps {
		for n := 1; n <= releases; n++ {
			begin(n)
			for t := i; t < targets; t += applications {
				file(fmt.Sprintf("descriptors/app-%d-t%d.yaml", i, t), descriptor(fmt.Sprintf("app-%d", i), fmt.Sprintf("t%d", t), fmt.Sprintf("1.0.%d", n), fmt.Sprintf("%040x", n)))
			}
		}
		fastImport(app, &stream)
	}
	return platform
}

func fastImport(r *repository, stream *strings.Builder) {
	r.Helper()
	if out, err := gitkit.Output(r.bare, stream.String(), "fast-import", "--quiet"); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	stream.Reset()
}
