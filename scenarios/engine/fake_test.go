package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	testUser  = "platform"
	testToken = "s3cret-t0ken"
)

// The test binary is also the kubectl of the fake access.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case "kubectl":
		os.Exit(fakeKubectl(os.Args[1:]))
	case "kalypso":
		if os.Args[1] == "status" {
			status, _ := os.ReadFile(filepath.Join(os.Getenv("KALYPSO_HOME"), "status"))
			fmt.Println(string(status))
			os.Exit(0)
		}
		file, _ := strings.CutPrefix(os.Args[len(os.Args)-1], "@")
		token, err := os.ReadFile(file)
		if err != nil || slices.ContainsFunc(os.Args, func(a string) bool { return strings.Contains(a, string(token)) }) {
			fmt.Println("no token, or one that everybody sees:", err)
			os.Exit(1)
		}
		fmt.Println("token: " + string(token[:6]))
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "scenarios-test-")
	if err != nil {
		panic(err)
	}
	testDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// fakeWorld is a forge with real git over http, as much of Gitea's API as
// scenarios use, and a cluster that has at once what is on the GitOps branch.
type fakeWorld struct {
	t    *testing.T
	root string
	url  string

	mu     sync.Mutex
	pulls  []*fakePull
	busy   int // how often a merge is put off
	issues []*fakeIssue
	runs   []*fakeRun
	status map[string][]map[string]any     // by commit
	onPush func(f *fakeWorld, repo string) // the scheduler
}

type fakePull struct {
	number             int
	base, branch, head string
	merged, closed     bool
	body               string
	labels             []map[string]any
}

const (
	controlPlane = "kalypso-control-plane"
	gitopsRepo   = "kalypso-platform-gitops"
)

func newFakeWorld(t *testing.T) *fakeWorld {
	t.Helper()
	f := &fakeWorld{t: t, root: t.TempDir(), onPush: schedule(nil)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	for _, repo := range []string{controlPlane, gitopsRepo} {
		if err := os.CopyFS(f.dir(repo), os.DirFS(filepath.Join(firstRepositories(), repo))); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// firstRepositories are made once: git is slow to make them.
var firstRepositories = sync.OnceValue(func() string {
	dir := filepath.Join(testDir, "first")
	for repo, branch := range map[string]string{controlPlane: "main", gitopsRepo: "dev"} {
		bare, work := filepath.Join(dir, repo), filepath.Join(testDir, "work", repo)
		for _, args := range [][]string{
			{"init", "--quiet", "--bare", "--initial-branch", branch, bare},
			{"init", "--quiet", "--initial-branch", branch, work},
			{"-C", work, "commit", "--quiet", "--allow-empty", "--message", "first"},
			{"-C", work, "push", "--quiet", bare, branch},
		} {
			if _, err := gitIn("", args...); err != nil {
				panic(fmt.Sprintf("git %v: %v", args, err))
			}
		}
	}
	return dir
})

// testDir is for what all tests share.
var testDir string

func (f *fakeWorld) access() Access {
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	kubeconfig := filepath.Join(f.root, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(f.dir(gitopsRepo)), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return Access{
		ForgeURL: f.url, Organisation: "kalypso", User: testUser, Token: testToken,
		Kubeconfig: kubeconfig, Kubectl: Program{Path: self, Name: "kubectl"}, Kalypso: Program{Path: self, Name: "kalypso"}, Home: f.root,
	}
}

func (f *fakeWorld) dir(repo string) string { return filepath.Join(f.root, "kalypso", repo) }

func testGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitIn(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func gitIn(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t"}, gitSettings...)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// seed puts a commit with files on a branch, which it makes if need be.
func (f *fakeWorld) seed(repo, branch string, files map[string]string) string {
	t := f.t
	t.Helper()
	if _, err := os.Stat(f.dir(repo)); err != nil {
		testGit(t, f.root, "init", "--quiet", "--bare", "--initial-branch", branch, f.dir(repo))
	}
	work := t.TempDir()
	testGit(t, work, "clone", "--quiet", f.dir(repo), ".")
	if branch == "kalypso/dev" {
		testGit(t, work, "checkout", "--quiet", "-B", branch, "origin/dev")
	}
	for name, content := range files {
		writeFile(t, work, name, content)
	}
	testGit(t, work, "add", "--all")
	testGit(t, work, "commit", "--quiet", "--message", "change")
	testGit(t, work, "push", "--quiet", "--force", "origin", "HEAD:"+branch)
	return testGit(t, work, "rev-parse", "HEAD")
}

func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// open makes a pull request of the scheduler's, or brings the open one to a
// new head.
func (f *fakeWorld) open(head string) *fakePull {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pulls {
		if !p.merged && !p.closed {
			p.head = head
			return p
		}
	}
	p := &fakePull{number: len(f.pulls) + 1, base: "dev", branch: "kalypso/dev", head: head}
	f.pulls = append(f.pulls, p)
	return p
}

func (f *fakeWorld) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/") {
		f.api(w, r)
		return
	}
	user, password, _ := r.BasicAuth()
	if user != testUser || password != testToken {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	backend := &cgi.Handler{
		Path:   gitBackend(),
		Root:   "/",
		Stderr: io.Discard,
		Env:    []string{"GIT_PROJECT_ROOT=" + f.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + user},
	}
	backend.ServeHTTP(w, r)
	if repo, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/kalypso/"), "/git-receive-pack"); ok {
		f.onPush(f, repo)
	}
}

func gitBackend() string {
	out, _ := gitIn("", "--exec-path")
	return filepath.Join(out, "git-http-backend")
}

var apiPath = regexp.MustCompile(`^/api/v1/repos/kalypso/([^/]+)/(pulls|raw)(?:/(.*))?$`)

func (f *fakeWorld) api(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != "token "+testToken {
		http.Error(w, `{"message":"token is required"}`, http.StatusUnauthorized)
		return
	}
	m := apiPath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		f.moreAPI(w, r)
		return
	}
	repo, rest := m[1], m[3]
	if m[2] == "raw" {
		out, err := exec.Command("git", "-C", f.dir(repo), "show", r.URL.Query().Get("ref")+":"+rest).Output()
		if err != nil {
			http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
			return
		}
		_, _ = w.Write(out)
		return
	}
	if rest == "" {
		list := []any{}
		for _, p := range slices.Backward(f.pulls) {
			list = append(list, f.describe(p))
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	number, what, _ := strings.Cut(rest, "/")
	n, _ := strconv.Atoi(number)
	if n < 1 || n > len(f.pulls) {
		http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
		return
	}
	p := f.pulls[n-1]
	switch what {
	case "":
		_ = json.NewEncoder(w).Encode(f.describe(p))
	case "files":
		out, _ := gitIn(f.dir(repo), "diff", "--name-only", p.base+"..."+p.head)
		if p.merged {
			out, _ = gitIn(f.dir(repo), "diff", "--name-only", p.head+"~1", p.head)
		}
		files := []any{}
		for _, name := range strings.Fields(out) {
			files = append(files, map[string]any{"filename": name})
		}
		_ = json.NewEncoder(w).Encode(files)
	case "merge":
		if f.busy > 0 {
			f.busy--
			http.Error(w, `{"message":"Please try again later"}`, http.StatusMethodNotAllowed)
			return
		}
		var body struct {
			Head string `json:"head_commit_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if body.Head != p.head {
			http.Error(w, `{"message":"head out of date"}`, http.StatusConflict)
			return
		}
		if _, err := gitIn(f.dir(repo), "update-ref", "refs/heads/"+p.base, p.head); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.merged = true
	}
}

func (f *fakeWorld) describe(p *fakePull) any {
	state := "open"
	if p.merged || p.closed {
		state = "closed"
	}
	return map[string]any{
		"number": p.number, "title": "Kalypso: dev: change", "body": p.body, "labels": p.labels, "state": state, "merged": p.merged, "merge_commit_sha": p.head,
		"html_url": fmt.Sprintf("%s/kalypso/%s/pulls/%d", f.url, gitopsRepo, p.number),
		"base":     map[string]any{"label": p.base, "ref": p.base},
		"head":     map[string]any{"label": p.branch, "ref": p.branch, "sha": p.head},
	}
}

// schedule is a scheduler that asks for what the first scenario expects, with
// some files changed; a file of "" is left out.
func schedule(changed map[string]string) func(*fakeWorld, string) {
	return func(f *fakeWorld, repo string) {
		if repo != controlPlane {
			return
		}
		commit := testGit(f.t, f.dir(controlPlane), "rev-parse", "main")
		files := map[string]string{
			"dev/README.md":                       "This is synthetic.\n",
			".github/tracking/Promoted_Commit_Id": commit + "\n",
		}
		for _, name := range []string{"namespace", "platform-config", "reconciler"} {
			files["dev/basic-inference-dev/"+name+".yaml"] = scenarioFile(f.t, name+".yaml", f.access())
		}
		for name, content := range changed {
			if content == "" {
				delete(files, name)
			} else {
				files[name] = content
			}
		}
		p := f.open(f.seed(gitopsRepo, "kalypso/dev", files))
		f.mu.Lock()
		defer f.mu.Unlock()
		p.labels = []map[string]any{{"name": "promoted"}}
	}
}

// fakeKubectl serves the objects on the dev branch of the GitOps repository.
func fakeKubectl(args []string) int {
	fail := func(format string, args ...any) int {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		return 1
	}
	switch {
	case slices.Contains(args, "port-forward"):
		return fakeForward(args)
	case slices.Contains(args, "get-contexts"):
		fmt.Println("fake")
		return 0
	}
	repo, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		return fail("error: %v", err)
	}
	names, err := gitIn(string(repo), "ls-tree", "-r", "--name-only", "dev")
	if err != nil {
		return fail("The connection to the server was refused")
	}
	present := map[string]any{}
	for _, name := range strings.Fields(names) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		content, _ := gitIn(string(repo), "show", "dev:"+name)
		objects, _ := parseObjects(name, []byte(content))
		for _, o := range objects {
			o.(map[string]any)["metadata"].(map[string]any)["uid"] = "set by the cluster"
			present[identity(o)] = o
		}
	}
	var wanted []any
	for i, a := range args {
		if a != "--filename" {
			continue
		}
		content, err := os.ReadFile(args[i+1])
		if err != nil {
			return fail("error: %v", err)
		}
		objects, err := parseObjects(args[i+1], content)
		if err != nil {
			return fail("error: %v", err)
		}
		wanted = append(wanted, objects...)
	}
	switch {
	case slices.Contains(args, "nothing"):
		return fail(`Error from server (NotFound): namespaces "nothing" not found`)
	case wanted == nil:
		fmt.Println("NAME SECRETS AGE")
		return 0
	}
	var items []any
	for _, w := range wanted {
		o := present[identity(w)]
		if o == nil {
			return fail("Error from server (NotFound): %q not found", identity(w))
		}
		items = append(items, o)
	}
	b, _ := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	os.Stdout.Write(b)
	return 0
}

// fakeForward serves a page of the service page, and no other.
func fakeForward(args []string) int {
	if slices.Contains(args, "svc/nothing") {
		fmt.Fprintln(os.Stderr, `Error from server (NotFound): services "nothing" not found`)
		return 1
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "<b>Hello</b> <b>Hello from page</b> %q\n", args)
	}))
	fmt.Printf("Forwarding from %s -> 80\n", strings.TrimPrefix(server.URL, "http://"))
	select {} // until it is ended
}
