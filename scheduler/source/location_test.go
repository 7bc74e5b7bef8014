package source_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// TestInvalidLocations wants each mistake to be said with what it was about
// and what to do.
func TestInvalidLocations(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	server := serve(t, root, nil)
	for name, c := range map[string]struct {
		options source.Options
		says    []string
		hint    string
	}{
		"nothing":          {source.Options{}, []string{"control plane: there is no folder"}, "name a folder or the URL"},
		"no folder":        {source.Options{ControlPlane: filepath.Join(root, "nope")}, []string{"control plane: there is no folder " + root + "/nope"}, "name a folder or the URL"},
		"no scheme":        {source.Options{ControlPlane: "github.com/acme/cp"}, []string{"there is no folder github.com/acme/cp"}, "did you mean https://github.com/acme/cp?"},
		"a dot":            {source.Options{ControlPlane: "control.plane"}, []string{"there is no folder control.plane"}, "name a folder or the URL"},
		"a file":           {source.Options{ControlPlane: filepath.Join(cp, "templates.yaml")}, []string{"templates.yaml is a file"}, "name a folder or the URL"},
		"ssh":              {source.Options{ControlPlane: "git@github.com:acme/cp.git"}, []string{"git@github.com:acme/cp.git cannot be read", "not over ssh"}, "name https://github.com/acme/cp, or a folder that you have cloned it to"},
		"ssh URL":          {source.Options{ControlPlane: "ssh://git@github.com:22/acme/cp"}, []string{"not over ssh"}, "https://github.com/acme/cp"},
		"ssh secret":       {source.Options{ControlPlane: "ssh://git:secret@github.com/acme/cp"}, []string{"ssh://github.com/acme/cp cannot be read"}, "https://github.com/acme/cp"},
		"git":              {source.Options{ControlPlane: "git://github.com/acme/cp"}, []string{"not over git"}, "https://github.com/acme/cp"},
		"base":             {source.Options{ControlPlane: cp, Base: "nope"}, []string{"base repository: there is no folder nope"}, "name a folder or the URL"},
		"GitOps":           {source.Options{ControlPlane: cp, GitOps: "nope"}, []string{"GitOps repository: there is no folder nope"}, "name a folder or the URL"},
		"workload":         {source.Options{ControlPlane: cp, Workloads: map[string]string{"hello": "nope"}}, []string{"workload hello: there is no folder nope"}, "name a folder or the URL"},
		"file URL":         {source.Options{ControlPlane: "file://" + root + "/nope"}, []string{"control plane: repository file://" + root + "/nope: not found"}, ""},
		"file URL, no git": {source.Options{ControlPlane: "file://" + root}, []string{"not found"}, ""},
		"no repository":    {source.Options{ControlPlane: server + "/nope"}, []string{"control plane: repository " + server + "/nope: not found"}, ""},
		"no server":        {source.Options{ControlPlane: "http://127.0.0.1:1/cp"}, []string{"control plane: repository http://127.0.0.1:1/cp", "refused"}, ""},
		"secret":           {source.Options{ControlPlane: "http://u:secret@127.0.0.1:1/cp"}, []string{"http://127.0.0.1:1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := source.Open(t.Context(), c.options)
			mustFail(t, err, c.says...)
			if c.hint != "" {
				mustHint(t, err, c.hint)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%v has the password", err)
			}
		})
	}
}

func TestUnknownEnvironments(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	_, err := open(t, source.Options{ControlPlane: cp}).Load(t.Context(), "deb")
	mustFail(t, err, "there is no environment deb: choose one of dev, qa")
	mustHint(t, err, "did you mean dev?")
	_, err = open(t, source.Options{ControlPlane: cp}).Load(t.Context(), "production")
	mustFail(t, err, "there is no environment production: choose one of dev, qa")

	s := open(t, source.Options{ControlPlane: cp, Branch: "nope"})
	_, err = s.Environments(t.Context())
	mustFail(t, err, "has no branch nope")
	mustHint(t, err, "branch that has the Environment objects")

	t.Log("an object that cannot be read may be the one that is asked for")
	write(t, cp, "-- .environments/dev.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: 1\n")
	s = open(t, source.Options{ControlPlane: cp})
	_, err = s.Load(t.Context(), "dev")
	mustFail(t, err, "there is no environment dev, as far as branch main of "+cp+" can be read: cp@main:.environments/dev.yaml:4: spec must be an object")
	all, err := s.Environments(t.Context())
	if err != nil || len(all.Objects) != 0 || len(all.Diagnostics) != 1 {
		t.Errorf("%v %v", all, err)
	}

	t.Log("a branch without any is no control plane, unless it was asked for")
	remove(t, cp, ".environments/dev.yaml")
	_, err = open(t, source.Options{ControlPlane: cp}).Load(t.Context(), "dev")
	mustFail(t, err, "there is no environment dev: branch main of "+cp+" has no Environment objects")
	has(t, open(t, source.Options{ControlPlane: cp, Branch: "dev", Base: cp}).load("anything"), "cluster type small", "template committed", bye, hello)
}

// TestFeatureBranch is how somebody sees what a branch of an environment's
// branch would do.
func TestFeatureBranch(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	git(t, cp, "remote", "add", "origin", "file://"+root+"/cp")
	git(t, cp, "checkout", "-q", "-b", "feature", "dev")
	write(t, cp, "-- cluster.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: feature}\nspec: {reconciler: r, namespaceService: n}\n")
	s := open(t, source.Options{ControlPlane: cp})
	has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
	s.load("qa")
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "branch feature, which is checked out in "+cp+", is no environment's and not read") {
		t.Errorf("notes: %q", s.notes)
	}
	for _, branch := range []string{"feature", "HEAD"} {
		s = open(t, source.Options{ControlPlane: cp, Branch: branch})
		has(t, s.load("dev"), "cluster type feature", "template committed", bye, hello)
		if len(s.notes) != 0 {
			t.Errorf("notes: %q", s.notes)
		}
	}
	t.Log("nobody needs to hear notes")
	deaf, err := source.Open(t.Context(), source.Options{ControlPlane: cp})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deaf.Load(t.Context(), "dev"); err != nil {
		t.Error(err)
	}
	git(t, cp, "checkout", "-q", "--detach")
	s = open(t, source.Options{ControlPlane: cp})
	has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "what is checked out in "+cp+" is on no branch and not read") {
		t.Errorf("notes: %q", s.notes)
	}
	has(t, open(t, source.Options{ControlPlane: cp, Branch: "HEAD"}).load("dev"), "cluster type feature", "template committed", bye, hello)
}

// TestFeatureBranchOfTheBase is how somebody sees what a branch of the base
// repository, which mostly is the control plane's main branch, would do to all
// environments.
func TestFeatureBranchOfTheBase(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	git(t, cp, "checkout", "-q", "-b", "feature", "main")
	write(t, cp, "-- templates.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: feature}\nspec: {type: config, manifests: [a]}\n")
	for _, checkout := range []string{"feature", "--detach"} {
		git(t, cp, "checkout", "-q", checkout)
		s := open(t, source.Options{ControlPlane: cp, Base: cp})
		has(t, s.load("dev"), "cluster type small", "template feature", bye, hello)
		has(t, s.load("qa"), "template feature", bye, hello)
		if len(s.notes) != 0 {
			t.Errorf("after checkout %s what is read is said not to be: %q", checkout, s.notes)
		}
	}

	t.Log("a base elsewhere does not make this one be read")
	other := filepath.Join(root, "other")
	git(t, root, "clone", "-q", cp, other)
	s := open(t, source.Options{ControlPlane: cp, Base: other})
	s.load("dev")
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "what is checked out in "+cp+" is on no branch and not read") {
		t.Errorf("notes: %q", s.notes)
	}
}

func TestFolderWithoutGit(t *testing.T) {
	root := platformRepositories(t)
	folder := filepath.Join(t.TempDir(), "all")
	for _, branch := range []string{"main", "dev"} {
		git(t, filepath.Join(root, "cp"), "checkout", "-q", branch)
		if err := os.CopyFS(filepath.Join(folder, branch), os.DirFS(filepath.Join(root, "cp"))); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(folder, branch, ".git")); err != nil {
			t.Fatal(err)
		}
	}
	if got := open(t, source.Options{ControlPlane: folder}).String(); got != folder {
		t.Errorf("it is called %q", got)
	}
	t.Log("its URLs are those that the Environment objects name")
	has(t, open(t, source.Options{ControlPlane: folder}).load("dev"), "cluster type small", "template committed", bye, hello)

	t.Log("what was read can be read again, by what the environment says")
	s := open(t, source.Options{ControlPlane: folder})
	env := s.load("dev")
	for _, ref := range env.Sources {
		tree, err := s.Read(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		_, branch := tree.Files["dev/cluster.yaml"]
		_, base := tree.Files["main/templates.yaml"]
		if !strings.HasSuffix(ref.Repo, "/apps") && (branch != base || branch != (ref.Branch == "dev")) {
			t.Errorf("%v: branch %v, base %v", ref, branch, base)
		}
	}

	t.Log("it stands for a pinned commit too, which somebody should know")
	write(t, folder, "-- dev/base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\n"+
		"spec: {repo: 'file://"+root+"/cp', branch: main, path: main, commit: '"+strings.Repeat("1", 40)+"'}\n")
	s = open(t, source.Options{ControlPlane: folder})
	has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "has no history") {
		t.Errorf("notes: %q", s.notes)
	}

	t.Log("without Environment objects it is the environment that is asked for")
	plain := filepath.Join(folder, "dev")
	write(t, plain, "-- base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: 'file://"+root+"/cp', branch: main, path: .}\n")
	s = open(t, source.Options{ControlPlane: plain})
	all, err := s.Environments(t.Context())
	if err != nil || len(all.Objects)+len(all.Diagnostics) != 0 {
		t.Errorf("%v %v", all, err)
	}
	env = s.load("whatever")
	has(t, env, "cluster type small", "template committed", bye, hello)
	if got := env.ClusterTypes[0].Position.String(); got != "dev@whatever:cluster.yaml:1" {
		t.Errorf("position %s", got)
	}
}

// TestFolderWithEnvironmentsInIt is one folder without git whose root is the
// base, and whose environments are folders in it: nothing is found twice, and
// what only begins like an environment's name is no part of it.
func TestFolderWithEnvironmentsInIt(t *testing.T) {
	dir := t.TempDir()
	base := "\n---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: https://forge.test/cp, branch: main, path: .}\n" +
		"---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {repo: https://forge.test/gitops, branch: dev, path: .}\n"
	template := func(name string) string {
		return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: " + name + "}\nspec: {type: config, manifests: [a]}\n"
	}
	environment := func(name string) string {
		return "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: " + name + "}\nspec: {controlPlane: {repo: https://forge.test/cp, branch: main, path: ./" + name + "}}\n"
	}
	write(t, dir, "-- environments.yaml --\n"+environment("dev")+environment("qa")+
		"-- template.yaml --\n"+template("shared")+
		"-- dev/dev.yaml --\n"+template("of-dev")+base+
		"-- qa/qa.yaml --\n"+template("of-qa")+base+
		"-- dev-tools/template.yaml --\n"+template("tools"))
	s := open(t, source.Options{ControlPlane: dir})
	has(t, s.load("dev"), "template of-dev", "template of-qa", "template shared", "template tools")
	has(t, s.load("qa"), "template of-dev", "template of-qa", "template shared", "template tools")

	if len(s.notes) > 0 {
		t.Errorf("notes: %q", s.notes)
	}

	t.Log("all parts of a Platform agree on the Environment objects")
	remove(t, dir, "environments.yaml")
	if all, err := s.Environments(t.Context()); err != nil || len(all.Objects) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	s.load("qa")
}

// TestFolderOfSeveralRepositories has environments in different repositories:
// a folder that knows no address of its own cannot be all of them.
func TestFolderOfSeveralRepositories(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, strings.ReplaceAll(`
-- environments.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec: {controlPlane: {repo: FORGE/a, branch: main, path: .}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: qa}
spec: {controlPlane: {repo: FORGE/b, branch: main, path: .}}
`, "FORGE", "file://"+dir))
	for environment, repo := range map[string]string{"dev": "a", "qa": "b"} {
		has(t, open(t, source.Options{ControlPlane: dir}).load(environment), "error repository file://"+dir+"/"+repo+" or its branch main is not there")
	}
}

// TestMonorepo is a control plane that is a folder of a repository: Environment
// objects are looked for in the folder, and what refers to the repository means
// its root.
func TestMonorepo(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "https://forge.test/acme", strings.NewReplacer(
		"cp@main/", "cp@main/platform/", "cp@dev/", "cp@dev/platform/", "cp@qa/", "cp@qa/platform/", "path: .}", "path: platform}").Replace(platform))
	cp := filepath.Join(root, "cp")
	write(t, cp, "-- elsewhere.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: no}\nspec: {controlPlane: {repo: r, branch: b}}\n")
	git(t, cp, "remote", "add", "origin", "https://forge.test/acme/cp")
	apps := filepath.Join(root, "apps")
	s := open(t, source.Options{ControlPlane: filepath.Join(cp, "platform"), Workloads: map[string]string{"hello": apps, "bye": apps}})
	all, err := s.Environments(t.Context())
	if err != nil || len(all.Objects) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
}

// TestFolderPerEnvironment is a repository with a folder for each environment,
// and another for what they share.
func TestFolderPerEnvironment(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "https://forge.test/acme", strings.NewReplacer(
		"cp@main/", "cp@main/base/", "cp@dev/", "cp@main/dev/", "cp@qa/", "cp@main/qa/",
		"branch: main, path: .}", "branch: main, path: base}").Replace(platform))
	cp := filepath.Join(root, "cp")
	git(t, cp, "remote", "add", "origin", "https://forge.test/acme/cp")
	git(t, cp, "checkout", "-q", "-b", "feature")
	write(t, cp, "-- dev/new.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: uncommitted}\nspec: {reconciler: r, namespaceService: n}\n")
	apps := filepath.Join(root, "apps")
	s := open(t, source.Options{ControlPlane: filepath.Join(cp, "dev"), Workloads: map[string]string{"hello": apps, "bye": apps}})
	env := s.load("dev")
	has(t, env, "cluster type small", "cluster type uncommitted", "template committed", bye, hello)
	if got := env.ClusterTypes[0].Position.String(); got != "dev@feature:cluster.yaml:1" {
		t.Errorf("position %s", got)
	}
}

func TestPlaceholder(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "https://github.com/YOUR_ORG", platform)
	s := open(t, source.Options{ControlPlane: filepath.Join(root, "cp")})
	env := s.load("dev")
	has(t, env, "cluster type small", "template committed",
		"error repository https://github.com/YOUR_ORG/apps or its branch main is not there",
		"error repository https://github.com/YOUR_ORG/apps or its branch main is not there")
	if !strings.Contains(env.Diagnostics[0].Hint, "replace YOUR_ORG") {
		t.Errorf("hint %q", env.Diagnostics[0].Hint)
	}
}

func TestHTTP(t *testing.T) {
	root := t.TempDir()
	secret := ""
	asked := map[string]bool{}
	server := serve(t, root, func(w http.ResponseWriter, r *http.Request) bool {
		user, password, sent := r.BasicAuth()
		asked[strings.Split(r.URL.Path, "/")[1]] = sent
		if secret == "" || user == "me" && password == secret {
			return false
		}
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	repositories(t, root, server, platform)
	url := server + "/cp"
	has(t, open(t, source.Options{ControlPlane: url}).load("dev"), "cluster type small", "template committed", bye, hello)
	has(t, open(t, source.Options{ControlPlane: url, Branch: "main"}).load("dev"), "cluster type small", "template committed", bye, hello)

	t.Log("a folder and a server mixed")
	clone := filepath.Join(root, "clone")
	git(t, root, "clone", "-q", url, clone)
	write(t, clone, "-- templates.yaml --\n")
	s := open(t, source.Options{ControlPlane: clone})
	has(t, s.load("dev"), "cluster type small", bye, hello)
	if tree, err := s.GitOps(t.Context(), s.load("dev")); err != nil || string(tree.Files["small/README.md"]) != "small\n" {
		t.Errorf("GitOps branch: %v, %v", tree, err)
	}

	t.Log("credentials are sent, and asked for")
	secret = "hush"
	who := func(user, password string) func(string) (string, string) {
		return func(url string) (string, string) {
			if !strings.HasPrefix(url, server) {
				t.Errorf("credentials for %s", url)
			}
			return user, password
		}
	}
	has(t, open(t, source.Options{ControlPlane: url, Credentials: who("me", "hush")}).load("dev"), "cluster type small", "template committed", bye, hello)
	_, err := source.Open(t.Context(), source.Options{ControlPlane: url})
	mustFail(t, err, "control plane: repository "+url+": it asks for credentials, or does not exist")
	if !errors.Is(err, source.ErrCredentials) || errors.Is(err, model.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	_, err = source.Open(t.Context(), source.Options{ControlPlane: url, Credentials: who("me", "wrong")})
	mustFail(t, err, "it refuses the credentials")
	if !errors.Is(err, source.ErrCredentials) {
		t.Errorf("error %v", err)
	}
	_, err = open(t, source.Options{ControlPlane: clone}).Load(t.Context(), "dev")
	mustFail(t, err, "loading environment dev", server+"/apps", "asks for credentials")
	_, err = source.Open(t.Context(), source.Options{ControlPlane: url, Credentials: who("", "hush")})
	mustFail(t, err, "it refuses the credentials")
	secret = ""

	t.Log("a repository without Environment objects is no control plane")
	_, err = open(t, source.Options{ControlPlane: server + "/apps"}).Load(t.Context(), "dev")
	mustFail(t, err, "there is no environment dev: branch HEAD of "+server+"/apps has no Environment objects")

	t.Log("to be known and not admitted is as good as wrong credentials")
	forbidden := serve(t, root, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if _, err := source.Open(t.Context(), source.Options{ControlPlane: forbidden + "/cp"}); !errors.Is(err, source.ErrCredentials) {
		t.Errorf("error %v", err)
	}

	t.Log("a password in a URL is for the server alone")
	s = open(t, source.Options{ControlPlane: strings.Replace(url, "//", "//me:hush@", 1)})
	text := fmt.Sprintf("%v %+v", s, s.load("dev"))
	if strings.Contains(text, "hush") || strings.Contains(text, "me@") {
		t.Errorf("the password is shown: %s", text)
	}

	t.Log("a model from elsewhere does not reach files of this machine")
	local := t.TempDir()
	repositories(t, local, "file://"+local, platform)
	git(t, filepath.Join(root, "cp"), "fetch", "-q", "file://"+local+"/cp", "+main:local", "+dev:dev")
	env := open(t, source.Options{ControlPlane: url, Branch: "local"}).load("dev")
	if len(env.Diagnostics) != 1 || env.Diagnostics[0].Message != "repository file://"+local+"/cp or its branch dev is not there" {
		t.Errorf("diagnostics %v", env.Diagnostics)
	}
}
