package platform

import (
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

const secret = "s3cret"

// privatePlatform is a control plane and its GitOps repository on a server that asks
// for the user ann and the secret. The Environment objects are on the branch platform.
func privatePlatform(t *testing.T) (server *url.URL, control string) {
	t.Helper()
	root := t.TempDir()
	handler := gitkit.Handler(t, root)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "ann" || password != secret {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	const version = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	for name, branches := range map[string]map[string]map[string]string{
		"control": {
			"main":     {"README.md": "# Nothing\n"},
			"platform": {"environments/dev.yaml": version + "kind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: " + s.URL + "/acme/control, branch: dev}}\n"},
			"dev": {
				"gitops-repo.yaml": version + "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: " + s.URL + "/acme/state, branch: dev, path: fleet}\n",
				"base-repo.yaml":   version + "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: " + s.URL + "/acme/control, branch: main, path: .}\n",
				"drone.yaml":       version + "kind: ClusterType\nmetadata: {name: drone}\nspec: {reconciler: flux, namespaceService: default}\n",
				"flux.yaml":        version + "kind: Template\nmetadata: {name: flux}\nspec:\n  type: reconciler\n  manifests: ['apiVersion: source.toolkit.fluxcd.io/v1']\n",
			},
		},
		"state": {"dev": {"README.md": "# State\n"}},
	} {
		work := t.TempDir()
		gitkit.Run(t, work, "init", "--quiet", "--initial-branch", "main")
		for branch, files := range branches {
			gitkit.Run(t, work, "checkout", "--quiet", "--orphan", branch)
			for file, content := range files {
				at := filepath.Join(work, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			gitkit.Run(t, work, "add", "--all")
			gitkit.Run(t, work, "commit", "--quiet", "-m", "Start")
			gitkit.Run(t, work, "rm", "-r", "--quiet", ".")
		}
		gitkit.Run(t, work, "clone", "--quiet", "--bare", work, filepath.Join(root, "acme", name+".git"))
		if name == "control" {
			gitkit.Run(t, filepath.Join(root, "acme", "control.git"), "symbolic-ref", "HEAD", "refs/heads/main")
		}
	}
	server, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return server, s.URL + "/acme/control.git"
}

// TestFromWithCredentials copies private repositories: with a password in the URL, and
// with git's credential helper. The password is nowhere in the copy.
func TestFromWithCredentials(t *testing.T) {
	server, control := privatePlatform(t)
	withUser := strings.Replace(control, "://", "://ann:"+secret+"@", 1)
	helper := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(helper, []byte("[credential]\n\thelper = \"!f() { echo username=ann; echo password="+secret+"; }; f\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ location, config string }{
		"in the URL":  {withUser, os.DevNull},
		"by a helper": {control, helper},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GIT_CONFIG_GLOBAL", c.config)
			out := filepath.Join(t.TempDir(), "copy")
			said := map[string]bool{} // which repository git speaks of
			report, err := From(t.Context(), Options{
				ControlPlane: c.location, Branch: "platform", ClusterTypes: []string{"drone"}, Out: out,
				Progress: func(line string) { said[strings.SplitN(line, ":", 2)[0]] = true },
			})
			if err != nil {
				t.Fatal(err)
			}
			if !said["control"] || !said["state"] {
				t.Errorf("progress of %v", said)
			}
			if _, ok := report.Workshop.Repository("state"); !ok {
				t.Errorf("repositories %+v, notes %v", report.Workshop.Repositories, report.Notes)
			}
			// a sandbox's scheduler reads the default branch
			if head := gitkit.Run(t, filepath.Join(out, "repositories", "control.git"), "symbolic-ref", "HEAD"); head != "refs/heads/platform" {
				t.Errorf("the default branch is %s", head)
			}
			err = filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				content, err := os.ReadFile(path)
				for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte("ann:" + secret))} {
					if strings.Contains(string(content), form) {
						t.Errorf("%s has the password", path)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, wrong := range []string{strings.Replace(control, "://", "://bob:"+secret+"@", 1), strings.Replace(withUser, "control", "none", 1), strings.Replace(withUser, server.Host, "127.0.0.1:1", 1)} {
		_, err := From(t.Context(), Options{ControlPlane: wrong, Out: filepath.Join(t.TempDir(), "copy")})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
