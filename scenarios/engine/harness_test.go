package engine

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"code.gitea.io/sdk/gitea"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-dev/kalypso/internal/testkit/giteafake"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/workshop"
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
	os.Exit(m.Run())
}

// fakeForge is a Gitea with the repositories of a sandbox, and a cluster that has
// at once what is on the GitOps branch.
type fakeForge struct {
	*giteafake.Server
	t               *testing.T
	home            string // of the sandbox
	control, gitops *giteafake.Repository
}

const (
	controlPlane = "kalypso-control-plane"
	gitopsRepo   = "kalypso-platform-gitops"
)

// newFakeForge has a scheduler that answers every push.
func newFakeForge(t *testing.T) *fakeForge {
	t.Helper()
	f := forgeWithoutScheduler(t)
	f.OnPush = func(repo string) { f.schedule(repo, nil) }
	return f
}

func forgeWithoutScheduler(t *testing.T) *fakeForge {
	t.Helper()
	f := &fakeForge{Server: giteafake.Start(t), t: t, home: t.TempDir()}
	f.control, f.gitops = f.Create("kalypso/"+controlPlane, "main"), f.Create("kalypso/"+gitopsRepo, "dev")
	f.control.Push("main", nil)
	f.gitops.Push("dev", nil)
	return f
}

func (f *fakeForge) access() Access {
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	writeFile(f.t, f.home, "kubeconfig", f.gitops.Dir)
	return Access{
		ForgeURL: f.URL, Organisation: "kalypso", User: giteafake.User, Token: giteafake.Token, Home: f.home,
		Kubeconfig: filepath.Join(f.home, "kubeconfig"), Kubectl: Program{Path: self, Name: "kubectl"}, Kalypso: Program{Path: self, Name: "kalypso"},
	}
}

func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open makes the scheduler's pull request to dev, or brings it to new files.
func (f *fakeForge) open(files map[string]string, labels ...*gitea.Label) *gitea.PullRequest {
	f.t.Helper()
	head := f.gitops.Push("kalypso/dev", files)
	f.Lock()
	defer f.Unlock()
	p := f.gitops.Open("Kalypso: dev: change", "dev", "kalypso/dev", head)
	p.Labels = labels
	return p
}

var promoted = &gitea.Label{Name: promotedLabel}

// schedule asks, after a push to the control plane, for what the first scenario
// expects, with some files changed; a file of "" is left out.
func (f *fakeForge) schedule(repo string, changed map[string]string) {
	if repo != "kalypso/"+controlPlane {
		return
	}
	files := map[string]string{
		"dev/README.md":                       "This is synthetic.\n",
		".github/tracking/Promoted_Commit_Id": f.control.Git("rev-parse", "main") + "\n",
	}
	for _, name := range []string{"namespace", "platform-config", "reconciler"} {
		files["dev/basic-inference-dev/"+name+".yaml"] = scenarioFile(f.t, name+".yaml", f.access())
	}
	maps.Copy(files, changed)
	maps.DeleteFunc(files, func(_, content string) bool { return content == "" })
	f.open(files, promoted)
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
	names, err := gitkit.Git(string(repo), "", "ls-tree", "-r", "--name-only", "dev")
	if err != nil {
		return fail("The connection to the server was refused")
	}
	present := map[string]any{}
	for _, name := range strings.Fields(names) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		content, _ := gitkit.Git(string(repo), "", "show", "dev:"+name)
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

// tutorial is the scenarios of a workshop that comes with kalypso.
func tutorial(name string) scenarios.Library {
	w, err := workshop.OpenBuiltin(name)
	if err != nil {
		panic(err)
	}
	l, err := scenarios.Of(w)
	if err != nil {
		panic(err)
	}
	return l
}

// library makes scenarios of files WORKSHOP/NAME.txtar, in the order that
// WORKSHOP/order has.
func library(files fstest.MapFS) scenarios.Library {
	l := scenarios.Library{Addresses: tutorial("hello-world").Addresses}
	for name, file := range files {
		switch path.Base(name) {
		case "order":
			l.Workshop, l.Ordered = path.Dir(name), strings.Fields(string(file.Data))
		case "apart":
			l.Apart = strings.Fields(string(file.Data))
		}
	}
	l.Files, _ = fs.Sub(files, l.Workshop)
	return l
}
