package source_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// platform is a control plane with two environments and two workloads in one
// repository. FORGE is where its repositories are.
const platform = `
-- cp@main/.environments/dev.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec:
  controlPlane: {repo: FORGE/cp, branch: dev, path: .}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: qa}
spec:
  controlPlane: {repo: FORGE/cp.git, branch: qa, path: .}
-- cp@main/templates.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: committed}
spec: {type: config, manifests: ["a: b"]}
-- cp@main/workloads.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: hello}
spec:
  workload: {repo: FORGE/apps, branch: main, path: ./hello}
  workspace: w
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: bye}
spec:
  workload: {repo: FORGE/apps, branch: main, path: ./bye}
  workspace: w
-- cp@dev/base.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec: {repo: FORGE/cp, branch: main, path: .}
-- cp@dev/gitops.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: gitops}
spec: {repo: FORGE/gitops, branch: dev, path: .}
-- cp@dev/cluster.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: small}
spec: {reconciler: r, namespaceService: n}
-- cp@qa/base.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec: {repo: FORGE/cp, branch: main, path: .}
-- cp@qa/gitops.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: gitops}
spec: {repo: FORGE/gitops, branch: qa, path: .}
-- apps@main/hello/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: hello}
-- apps@main/bye/workload.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata: {name: bye}
-- gitops@dev/small/README.md --
small
`

// platformRepositories makes the platform's repositories below a folder, which is their forge
// too, and returns it.
func platformRepositories(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	repositories(t, root, "file://"+root, platform)
	return root
}

// session is a Platform with all its notes.
type session struct {
	*source.Platform
	t     *testing.T
	notes []string
}

func open(t *testing.T, o source.Options) *session {
	t.Helper()
	s := &session{t: t}
	o.Note = func(note string) { s.notes = append(s.notes, note) }
	w, err := source.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Platform = w
	return s
}

func (s *session) load(environment string) *model.Environment {
	s.t.Helper()
	env, err := s.Load(s.t.Context(), environment)
	if err != nil {
		s.t.Fatal(err)
	}
	return env
}

// has compares an environment's cluster types, templates and workloads, each
// workload with where it was read.
func has(t *testing.T, env *model.Environment, want ...string) {
	t.Helper()
	got := []string{}
	for _, o := range env.ClusterTypes {
		got = append(got, "cluster type "+o.Name)
	}
	for _, o := range env.Templates {
		got = append(got, "template "+o.Name)
	}
	for _, o := range env.Workloads {
		got = append(got, "workload "+o.Name+" at "+o.Position.String())
	}
	for _, d := range env.Diagnostics {
		if slices.Contains(env.Blank, d) {
			continue // tests take objects away by emptying their files
		}
		got = append(got, string(d.Severity)+" "+d.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment %s (-want +got):\n%s", env.Name, diff)
	}
}

const (
	hello = "workload hello at apps@main:hello/workload.yaml:1"
	bye   = "workload bye at apps@main:bye/workload.yaml:1"
)

func TestFolderWithoutRemotes(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	before := state(t, root)
	s := open(t, source.Options{ControlPlane: cp})
	all, err := s.Environments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"dev", "qa"}, all.Names()); diff != "" || len(all.Diagnostics) > 0 {
		t.Fatalf("environments: %s %v", diff, all.Diagnostics)
	}
	dev := s.load("dev")
	has(t, dev, "cluster type small", "template committed", bye, hello)
	has(t, s.load("qa"), "template committed", bye, hello)
	tree, err := s.GitOps(t.Context(), dev)
	if err != nil || string(tree.Files["small/README.md"]) != "small\n" {
		t.Errorf("GitOps branch: %v, %v", tree, err)
	}
	if tree, err := s.GitOps(t.Context(), s.load("qa")); tree != nil || err != nil {
		t.Errorf("a GitOps branch that is not there: %v, %v", tree, err)
	}
	if len(s.notes) > 0 {
		t.Errorf("notes: %q", s.notes)
	}
	if after := state(t, root); before != after {
		t.Error("a folder has been written to")
	}
}

// TestUncommitted is what users look at folders for: what they have changed
// is seen on the branch that is checked out, and on no other.
func TestUncommitted(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	write(t, cp, `
-- templates.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: changed}
spec: {type: config, manifests: ["a: b"]}
-- untracked.yaml --
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: untracked}
spec: {reconciler: r, namespaceService: n}
`)
	s := open(t, source.Options{ControlPlane: cp})
	dev := s.load("dev")
	if len(s.notes) > 0 {
		t.Errorf("notes: %q", s.notes)
	}
	has(t, dev, "cluster type small", "cluster type untracked", "template changed", bye, hello)
	for _, s := range dev.Sources {
		if dirty := s.Commit == ""; strings.HasSuffix(s.Repo, "/cp") && dirty != (s.Branch == "main") {
			t.Errorf("source %v", s)
		}
	}
	git(t, cp, "stash", "-qu")
	git(t, cp, "checkout", "-q", "dev")
	write(t, cp, "-- cluster.yaml --\n")
	has(t, open(t, source.Options{ControlPlane: cp}).load("dev"), "template committed", bye, hello)
	s = open(t, source.Options{ControlPlane: cp})
	has(t, s.load("qa"), "template committed", bye, hello)
	if len(s.notes) > 0 {
		t.Errorf("of another environment's branch: notes %q", s.notes)
	}
}

// TestRemotes is about which URLs of the model mean the folder.
func TestRemotes(t *testing.T) {
	for name, c := range map[string]struct {
		forge, remote string
		own           bool
	}{
		"the same":        {"https://forge.test/acme", "https://forge.test/acme/cp", true},
		"with .git":       {"https://forge.test/acme", "https://Forge.test/acme/cp.git", true},
		"over ssh":        {"https://forge.test/acme", "git@forge.test:acme/cp.git", true},
		"the model's ssh": {"ssh://git@forge.test/acme", "https://forge.test/acme/cp", true},
		"a fork":          {"file:///nowhere/acme", "https://forge.test/me/cp", false},
		"a secret":        {"file://me:hush@nowhere/acme", "https://forge.test/me/cp", false},
		"a second remote": {"https://forge.test/acme", "https://forge.test/me/cp\nhttps://forge.test/acme/cp", true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			repositories(t, root, c.forge, platform)
			cp := filepath.Join(root, "cp")
			for i, remote := range strings.Split(c.remote, "\n") {
				git(t, cp, "remote", "add", []string{"origin", "upstream"}[i], remote)
			}
			apps := filepath.Join(root, "apps")
			s := open(t, source.Options{ControlPlane: cp, Workloads: map[string]string{"hello": apps, "bye": apps}})
			if !c.own {
				_, err := s.Load(t.Context(), "dev")
				if err != nil {
					t.Fatal(err)
				}
				if len(s.notes) == 0 || !strings.Contains(s.notes[0], "which is no remote of") || strings.Contains(s.notes[0], "hush") {
					t.Errorf("notes: %q", s.notes)
				}
				return
			}
			has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
			if len(s.notes) > 0 {
				t.Errorf("notes: %q", s.notes)
			}
		})
	}
}

// TestCloneOfOneBranch is what build servers make: what is not there is read
// from where it was cloned.
func TestCloneOfOneBranch(t *testing.T) {
	root := platformRepositories(t)
	clone := filepath.Join(root, "clone")
	git(t, root, "clone", "-q", "--depth=1", "--branch=dev", "file://"+root+"/cp", clone)
	write(t, clone, "-- cluster.yaml --\n")
	s := open(t, source.Options{ControlPlane: clone})
	has(t, s.load("dev"), "template committed", bye, hello)
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "branch dev of "+clone+" has none") {
		t.Errorf("notes: %q", s.notes)
	}
	has(t, open(t, source.Options{ControlPlane: clone, Branch: "main"}).load("dev"), "template committed", bye, hello)

	t.Log("the branch that is asked for is the environment, whatever the server has")
	named := open(t, source.Options{ControlPlane: clone, Branch: "dev"})
	has(t, named.load("whatever"), "template committed", bye, hello)
	if len(named.notes) > 0 {
		t.Errorf("notes: %q", named.notes)
	}

	t.Log("nothing is said of a server that has none either")
	git(t, filepath.Join(root, "cp"), "checkout", "-q", "dev")
	git(t, clone, "fetch", "-q", "origin", "+main:refs/remotes/origin/elsewhere")
	none := open(t, source.Options{ControlPlane: clone})
	_, err := none.Load(t.Context(), "dev")
	mustFail(t, err, "there is no environment dev: branch dev of "+clone+" has no Environment objects")
	if len(none.notes) > 0 {
		t.Errorf("notes: %q", none.notes)
	}
	git(t, filepath.Join(root, "cp"), "checkout", "-q", "main")

	t.Log("what is nowhere is not found")
	_, err = open(t, source.Options{ControlPlane: clone, Branch: "nope"}).Load(t.Context(), "dev")
	mustFail(t, err, "has no branch nope")
	if !errors.Is(err, model.ErrNotFound) {
		t.Errorf("%v is no ErrNotFound", err)
	}

	t.Log("a server that does not answer leaves open whether there is something")
	git(t, clone, "remote", "set-url", "origin", "http://127.0.0.1:1/cp")
	_, err = open(t, source.Options{ControlPlane: clone}).Load(t.Context(), "dev")
	mustFail(t, err, "branch dev of "+clone+" has no Environment objects", "127.0.0.1:1")
	_, err = open(t, source.Options{ControlPlane: clone, Branch: "main"}).Load(t.Context(), "dev")
	mustFail(t, err, "branch main of "+clone+", and on the server:", "127.0.0.1:1")
	if errors.Is(err, model.ErrNotFound) {
		t.Errorf("%v counts as not found", err)
	}
}

func TestPinnedCommit(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	first := git(t, cp, "rev-parse", "main")
	write(t, cp, "-- templates.yaml --\n")
	commit(t, cp)
	pin := func(commit string) {
		git(t, cp, "checkout", "-q", "dev")
		write(t, cp, "-- base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\n"+
			"spec: {repo: 'file://"+root+"/cp', branch: main, path: ., commit: '"+commit+"'}\n")
		git(t, cp, "commit", "-qam", "pin")
		git(t, cp, "checkout", "-q", "main")
	}
	has(t, open(t, source.Options{ControlPlane: cp}).load("dev"), "cluster type small", bye, hello)
	pin(first)
	s := open(t, source.Options{ControlPlane: cp})
	dev := s.load("dev")
	has(t, dev, "cluster type small", "template committed", bye, hello)
	if len(s.notes) != 0 {
		t.Errorf("notes: %q", s.notes)
	}
	bare := open(t, source.Options{ControlPlane: "file://" + cp})
	has(t, bare.load("dev"), "cluster type small", "template committed", bye, hello)
	if len(bare.notes) != 0 {
		t.Errorf("notes: %q", bare.notes)
	}

	t.Log("what somebody changes where it has no effect is worth a note")
	write(t, cp, "-- more.yaml --\n")
	s = open(t, source.Options{ControlPlane: cp})
	has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
	if len(s.notes) != 1 || !strings.Contains(s.notes[0], "pinned commit "+first[:8]) || !strings.Contains(s.notes[0], "give "+cp+" as the base") {
		t.Errorf("notes: %q", s.notes)
	}

	t.Log("elsewhere it has one")
	git(t, cp, "stash", "-q", "--include-untracked")
	git(t, cp, "checkout", "-q", "dev")
	write(t, cp, "-- more.yaml --\n")
	s = open(t, source.Options{ControlPlane: cp})
	has(t, s.load("dev"), "cluster type small", "template committed", bye, hello)
	if len(s.notes) > 0 {
		t.Errorf("notes: %q", s.notes)
	}
	remove(t, cp, "more.yaml")
	git(t, cp, "checkout", "-q", "main")
	git(t, cp, "stash", "pop", "-q")

	t.Log("a base that is given is taken as it is")
	write(t, cp, "-- t.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: uncommitted}\nspec: {type: config, manifests: [a]}\n")
	s = open(t, source.Options{ControlPlane: cp, Base: cp})
	dev = s.load("dev")
	has(t, dev, "cluster type small", "template uncommitted", bye, hello)
	if dev.Promoted != first || len(s.notes) > 0 {
		t.Errorf("promoted %q, notes %q", dev.Promoted, s.notes)
	}
	t.Log("a URL is read at the commit")
	has(t, open(t, source.Options{ControlPlane: cp, Base: "file://" + cp}).load("dev"), "cluster type small", "template committed", bye, hello)

	t.Log("a commit that a clone has not got is read from the server")
	clone := filepath.Join(root, "clone")
	git(t, root, "clone", "-q", "--depth=1", "--no-single-branch", "file://"+cp, clone)
	has(t, open(t, source.Options{ControlPlane: clone}).load("dev"), "cluster type small", "template committed", bye, hello)

	t.Log("one that nobody has, or that is none, is not there")
	for _, none := range []string{strings.Repeat("1", 40), first[:8]} {
		pin(none)
		git(t, clone, "fetch", "-q")
		env := open(t, source.Options{ControlPlane: clone}).load("dev")
		has(t, env, "cluster type small", "error repository file://"+root+"/cp or its commit "+none+" is not there")
	}
}

func TestBase(t *testing.T) {
	root := platformRepositories(t)
	base := filepath.Join(root, "base")
	write(t, base, "-- t.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: plain}\nspec: {type: config, manifests: [a]}\n")
	cp := filepath.Join(root, "cp")
	has(t, open(t, source.Options{ControlPlane: cp, Base: base}).load("dev"), "cluster type small", "template plain")

	t.Log("it stands for the BaseRepo named main alone")
	git(t, cp, "checkout", "-q", "dev")
	git(t, cp, "branch", "-q", "more")
	git(t, cp, "checkout", "-q", "more")
	write(t, cp, "-- t.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: of-another-base}\nspec: {type: config, manifests: [a]}\n"+
		"-- cluster.yaml --\n-- base.yaml --\n-- gitops.yaml --\n")
	commit(t, cp)
	git(t, cp, "checkout", "-q", "dev")
	write(t, cp, "-- more.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: more}\nspec: {repo: 'file://"+root+"/cp', branch: more, path: .}\n")
	has(t, open(t, source.Options{ControlPlane: cp, Base: base}).load("dev"), "cluster type small", "template of-another-base", "template plain")
	remove(t, cp, "more.yaml")
	write(t, cp, "-- base.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: other}\nspec: {repo: 'file://"+root+"/cp', branch: main, path: .}\n")
	_, err := open(t, source.Options{ControlPlane: cp, Base: base}).Load(t.Context(), "dev")
	mustFail(t, err, "BaseRepo named main", "environment dev has only other")
	if _, err := open(t, source.Options{ControlPlane: cp}).Load(t.Context(), "dev"); err != nil {
		t.Errorf("without one given: %v", err)
	}

	t.Log("without any the model says what is missing")
	write(t, cp, "-- base.yaml --\n")
	has(t, open(t, source.Options{ControlPlane: cp, Base: base}).load("dev"), "cluster type small", "error there is no BaseRepo on this branch")
}

func TestGitOps(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	plain := filepath.Join(root, "plain")
	write(t, plain, "-- x --\nplain\n")
	read := func(o source.Options) *model.Tree {
		t.Helper()
		s := open(t, o)
		tree, err := s.GitOps(t.Context(), s.load("dev"))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	if tree := read(source.Options{ControlPlane: cp, GitOps: plain}); string(tree.Files["x"]) != "plain\n" {
		t.Errorf("plain folder: %v", tree)
	}
	gitOps := filepath.Join(root, "gitops")
	write(t, gitOps, "-- x --\nuncommitted\n")
	if tree := read(source.Options{ControlPlane: cp, GitOps: gitOps}); string(tree.Files["x"]) != "uncommitted\n" || tree.Commit != "" {
		t.Errorf("the branch that is checked out: %v", tree)
	}
	git(t, gitOps, "checkout", "-q", "-b", "feature")
	if tree := read(source.Options{ControlPlane: cp, GitOps: gitOps}); tree.Files["x"] != nil || tree.Commit == "" {
		t.Errorf("a branch that is not checked out: %v", tree)
	}

	t.Log("without a GitOpsRepo there is nothing to read")
	s := open(t, source.Options{ControlPlane: cp, GitOps: plain})
	if tree, err := s.GitOps(t.Context(), &model.Environment{}); tree != nil || err != nil {
		t.Errorf("%v, %v", tree, err)
	}
	t.Log("an error is one")
	write(t, gitOps, "-- .git/refs/heads/dev --\nnonsense\n")
	s = open(t, source.Options{ControlPlane: cp})
	_, err := s.GitOps(t.Context(), s.load("dev"))
	mustFail(t, err, "reading the GitOps branch of environment dev", root+"/gitops", "broken ref")
}

// TestDefaultBranch has the branch that a repository names as its default
// where nobody works in it, and main before what somebody has checked out.
func TestDefaultBranch(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	git(t, cp, "checkout", "-q", "qa")
	for location, want := range map[string]string{cp: "main", "file://" + cp: "qa", serve(t, root, nil) + "/cp": "HEAD"} {
		if got := open(t, source.Options{ControlPlane: location}).String(); got != "branch "+want+" of "+location {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRemotesInOrder has origin first: what a clone has not got is read there.
func TestRemotesInOrder(t *testing.T) {
	root := platformRepositories(t)
	cp := filepath.Join(root, "cp")
	for _, name := range []string{"zoo", "origin", "alpha"} {
		git(t, cp, "remote", "add", name, "https://"+name+".test/cp")
	}
	s := open(t, source.Options{ControlPlane: cp})
	want := []string{"https://origin.test/cp", "https://alpha.test/cp", "https://zoo.test/cp"}
	if diff := cmp.Diff(want, s.Remotes()); diff != "" {
		t.Errorf("remotes (-want +got):\n%s", diff)
	}
}

// TestPathsInTheModel is about what the scheduler could not read: a path of
// this machine that is no URL.
func TestPathsInTheModel(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "file://"+root, strings.ReplaceAll(platform, "FORGE/apps", root+"/apps"))
	missing := "error repository " + root + "/apps or its branch main is not there"
	has(t, open(t, source.Options{ControlPlane: filepath.Join(root, "cp")}).load("dev"), "cluster type small", "template committed", missing, missing)
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := platformRepositories(t)
	if _, err := source.Open(ctx, source.Options{ControlPlane: serve(t, root, nil) + "/cp"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestBrokenFile: what cannot be read stops nothing but what it may be about.
func TestBrokenFile(t *testing.T) {
	root := t.TempDir()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {platform-config: \"true\"}\ndata:\n  A: \"unclosed\n"
	write(t, root, "-- cp/config.yaml --\n"+config+"-- cp/kind.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: clustertype\nmetadata: {name: x}\n")
	load := func() (*model.Environment, error) {
		w, err := source.Open(t.Context(), source.Options{ControlPlane: filepath.Join(root, "cp")})
		if err != nil {
			t.Fatal(err)
		}
		return w.Load(t.Context(), "dev")
	}
	env, err := load()
	if err != nil {
		t.Fatal(err)
	}
	has(t, env, "error there is no BaseRepo on this branch", "error there is no GitOpsRepo on this branch",
		"error not valid YAML: found unexpected end of stream", `error kind "clustertype" is not known`)
	write(t, root, "-- cp/environment.yaml --\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: dev\n")
	_, err = load()
	mustFail(t, err, "there is no environment dev, as far as", "environment.yaml")
}
