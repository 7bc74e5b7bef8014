package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// read reads a branch of a place, as the GitOps branch of an environment.
func read(t *testing.T, location, branch string) (*model.Tree, error) {
	t.Helper()
	w, err := source.Open(t.Context(), source.Options{ControlPlane: location, GitOps: location})
	if err != nil {
		return nil, err
	}
	return w.GitOps(t.Context(), &model.Environment{Name: "e", GitOps: model.Reference{Repo: "any", Branch: branch}})
}

// content is what a branch of a place holds; nil when there is no such branch.
func content(t *testing.T, location, branch string) map[string]string {
	t.Helper()
	tree, err := read(t, location, branch)
	if err != nil {
		t.Fatal(err)
	}
	if tree == nil {
		return nil
	}
	files := map[string]string{}
	for file, content := range tree.Files {
		files[file] = string(content)
	}
	return files
}

func expect(t *testing.T, location, branch string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, content(t, location, branch)); diff != "" {
		t.Errorf("branch %s of %s (-want +got):\n%s", branch, location, diff)
	}
}

type files = map[string]string

func TestBranches(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "", `
-- r@main/a.yaml --
main
-- r@dev/a.yaml --
dev
-- r@dev/sub/b.yaml --
dev b
`)
	r := filepath.Join(root, "r")
	expect(t, r, "main", files{"a.yaml": "main\n"})
	expect(t, r, "dev", files{"a.yaml": "dev\n", "sub/b.yaml": "dev b\n"})
	expect(t, r, "HEAD", files{"a.yaml": "main\n"})
	expect(t, r, "nope", nil)
	expect(t, filepath.Join(root, "r", ".git"), "dev", files{"a.yaml": "dev\n", "sub/b.yaml": "dev b\n"})

	t.Log("a clone has them as branches of origin, until it has its own")
	clone := filepath.Join(root, "clone")
	git(t, root, "clone", "-q", r, clone)
	expect(t, clone, "dev", files{"a.yaml": "dev\n", "sub/b.yaml": "dev b\n"})
	git(t, clone, "checkout", "-q", "-b", "dev", "--no-track", "origin/main")
	git(t, clone, "checkout", "-q", "main")
	expect(t, clone, "dev", files{"a.yaml": "main\n"})

	t.Log("packed references and objects are the same")
	git(t, r, "gc", "-q")
	expect(t, r, "dev", files{"a.yaml": "dev\n", "sub/b.yaml": "dev b\n"})

	t.Log("without a working tree all is read from objects")
	git(t, root, "clone", "-q", "--bare", r, "bare.git")
	expect(t, filepath.Join(root, "bare.git"), "main", files{"a.yaml": "main\n"})
	expect(t, filepath.Join(root, "bare.git"), "HEAD", files{"a.yaml": "main\n"})

	t.Log("a file URL is read as git would clone it")
	write(t, r, "-- a.yaml --\nchanged\n")
	expect(t, r, "main", files{"a.yaml": "changed\n"})
	expect(t, "file://"+r, "main", files{"a.yaml": "main\n"})
	expect(t, "file://"+filepath.Join(root, "bare"), "dev", files{"a.yaml": "dev\n", "sub/b.yaml": "dev b\n"})
}

// TestLinksInCommits proves that a link is no file with the path in it that it
// leads to, on branches that are not checked out either.
func TestLinksInCommits(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "-- a.yaml --\na\n")
	for link, target := range map[string]string{"l.yaml": "a.yaml", "out.yaml": "/etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, dir)
	git(t, dir, "checkout", "-q", "-b", "other")
	expect(t, dir, "main", files{"a.yaml": "a\n"})
	if tree, err := read(t, dir, "other"); err != nil || tree.Commit == "" {
		t.Errorf("nothing has changed since the commit, links apart: %v, %v", tree, err)
	}
	tree, err := read(t, dir, "main")
	want := []model.Skipped{{Path: "l.yaml", What: model.SymbolicLink}, {Path: "out.yaml", What: model.SymbolicLink}}
	if err != nil || !slices.Equal(tree.Skipped, want) {
		t.Errorf("links %v, %v, want %v", tree.Skipped, err, want)
	}
}

// TestKindsOfClones is about clones that git makes every day and that look
// different inside.
func TestKindsOfClones(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "", `
-- r@main/a/a.yaml --
main a
-- r@main/b/b.yaml --
main b
-- r@dev/a.yaml --
dev
`)
	r := filepath.Join(root, "r")
	git(t, r, "config", "uploadpack.allowFilter", "true")
	main, dev := files{"a/a.yaml": "main a\n", "b/b.yaml": "main b\n"}, files{"a.yaml": "dev\n"}

	for name, make := range map[string]func(dir string){
		"shared": func(dir string) { git(t, root, "clone", "-q", "--shared", r, dir) },
		"sparse": func(dir string) { git(t, root, "clone", "-q", r, dir); git(t, dir, "sparse-checkout", "set", "a") },
		"index v4": func(dir string) {
			git(t, root, "clone", "-q", r, dir)
			git(t, dir, "update-index", "--index-version", "4")
		},
		"all blobs":   func(dir string) { git(t, root, "clone", "-q", "--filter=blob:limit=1m", "file://"+r, dir) },
		"no history":  func(dir string) { git(t, root, "clone", "-q", "--depth=1", "--no-single-branch", "file://"+r, dir) },
		"split index": func(dir string) { git(t, root, "clone", "-q", r, dir); git(t, dir, "update-index", "--split-index") },
		"sparse index": func(dir string) {
			git(t, root, "clone", "-q", r, dir)
			git(t, dir, "sparse-checkout", "set", "--sparse-index", "a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(name, " ", "-"))
			make(dir)
			expect(t, dir, "main", main)
			expect(t, dir, "dev", dev)
			if tree, err := read(t, dir, "main"); err != nil || tree.Commit == "" {
				t.Errorf("a fresh clone is not at its commit: %v", err)
			}
		})
	}

	t.Run("linked working tree", func(t *testing.T) {
		linked := filepath.Join(root, "linked")
		git(t, r, "worktree", "add", "-q", linked, "dev")
		write(t, linked, "-- new.yaml --\nnew\n")
		expect(t, linked, "main", main)
		expect(t, linked, "dev", files{"a.yaml": "dev\n", "new.yaml": "new\n"})
		expect(t, r, "dev", dev)
	})
	t.Run("sparse, all changed", func(t *testing.T) {
		dir := filepath.Join(root, "sparse")
		write(t, dir, "-- a/a.yaml --\nchanged\n")
		expect(t, dir, "main", files{"a/a.yaml": "changed\n", "b/b.yaml": "main b\n"})
	})

	t.Run("sha256", func(t *testing.T) {
		dir := filepath.Join(root, "sha256")
		git(t, root, "init", "-q", "--object-format=sha256", dir)
		write(t, dir, "-- a.yaml --\na\n")
		id := commit(t, dir)
		if tree, err := read(t, dir, "main"); err != nil || tree.Commit != id {
			t.Errorf("%v, %v, want commit %s", tree, err, id)
		}
	})
	t.Run("no blobs", func(t *testing.T) {
		dir := filepath.Join(root, "no-blobs")
		git(t, root, "clone", "-q", "--filter=blob:none", "file://"+r, dir)
		_, err := read(t, dir, "dev")
		mustFail(t, err, "object not found")
		mustHint(t, err, "--no-filter")
	})
}

// TestGitRunsNothing reads a repository of another user whose configuration
// names programs for whatever git could want one for.
func TestGitRunsNothing(t *testing.T) {
	root := t.TempDir()
	ran := filepath.Join(root, "ran")
	program := filepath.Join(root, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	repositories(t, root, "", "-- r@main/a.yaml --\na\n-- r@dev/a.yaml --\ndev\n")
	r := filepath.Join(root, "r")
	missing := git(t, r, "rev-parse", "dev:a.yaml")
	for name, value := range map[string]string{
		"core.fsmonitor": program, "core.hooksPath": root, "core.pager": program, "core.sshCommand": program, "core.editor": program,
		"core.askPass": program, "core.gitProxy": program, "core.alternateRefsCommand": program, "diff.external": program, "credential.helper": program,
		"filter.f.clean": program, "filter.f.smudge": program, "filter.f.process": program, "diff.f.textconv": program, "alias.ls-files": "!" + program,
		"protocol.allow": "always", "protocol.ext.allow": "always", "protocol.file.allow": "always", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
		"remote.origin.url": "ext::" + program, "remote.origin.uploadpack": program, "core.repositoryFormatVersion": "1", "uploadpack.packObjectsHook": program,
	} {
		git(t, r, "config", name, value)
	}
	for _, hook := range []string{"post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"} {
		if err := os.Symlink(program, filepath.Join(root, hook)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, r, "-- .git/info/attributes --\n* filter=f diff=f\n-- a.yaml --\nchanged\n-- .gitattributes --\n* filter=f diff=f\n")
	if os.Getuid() == 0 {
		for _, name := range []string{r, filepath.Join(r, ".git")} {
			if err := os.Chown(name, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("GIT_INDEX_FILE", filepath.Join(root, "none")) // as a hook has it that runs kalypso
	expect(t, r, "main", files{"a.yaml": "changed\n", ".gitattributes": "* filter=f diff=f\n"})
	expect(t, r, "dev", files{"a.yaml": "dev\n"})
	if err := os.Remove(filepath.Join(r, ".git", "objects", missing[:2], missing[2:])); err != nil {
		t.Fatal(err)
	}
	_, err := read(t, r, "dev")
	mustFail(t, err, "object not found")
	if lines, err := os.ReadFile(ran); err == nil {
		t.Errorf("git has run:\n%s", lines)
	}
}

// TestDamage proves that what cannot be read is an error, and never a branch
// that is not there or has less in it.
func TestDamage(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "", `
-- r@main/a.yaml --
main
-- r@dev/a.yaml --
dev
`)
	r := filepath.Join(root, "r")
	remove := func(object string) func() {
		file := filepath.Join(r, ".git", "objects", object[:2], object[2:])
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, what := range []string{"dev", "dev^{tree}", "dev:a.yaml"} {
		restore := remove(git(t, r, "rev-parse", what))
		if tree, err := read(t, r, "dev"); err == nil {
			t.Errorf("without %s: %v", what, tree)
		}
		restore()
	}
	write(t, r, "-- .git/index --\nnonsense\n")
	if tree, err := read(t, r, "main"); err == nil {
		t.Errorf("with a broken index: %v", tree)
	}
	git(t, r, "read-tree", "main")
	expect(t, r, "main", files{"a.yaml": "main\n"})
	write(t, r, "-- .git/refs/heads/dev --\nnonsense\n")
	if tree, err := read(t, r, "dev"); err == nil {
		t.Errorf("with a broken branch: %v", tree)
	}
}

// TestSubfolder is about a folder in a repository: its branches are those of
// the repository, narrowed to the folder.
func TestSubfolder(t *testing.T) {
	root := t.TempDir()
	repositories(t, root, "", `
-- r@main/top.yaml --
top
-- r@main/in/a.yaml --
a
-- r@main/.hidden/h.yaml --
h
-- r@main/in/deep/b.yaml --
b
-- r@main/.gitignore --
*.log
/in/ignored
/build
-- r@dev/in/a.yaml --
dev
-- r@other/top.yaml --
other
`)
	in := filepath.Join(root, "r", "in")
	write(t, filepath.Join(root, "r"), `
-- in/new.yaml --
new
-- in/x.log --
log
-- in/ignored/c.yaml --
c
-- build/d.yaml --
d
-- fresh/e.yaml --
e
`)
	expect(t, in, "main", files{"a.yaml": "a\n", "deep/b.yaml": "b\n", "new.yaml": "new\n"})
	expect(t, in, "dev", files{"a.yaml": "dev\n"})
	expect(t, in, "other", files{})
	expect(t, in, "nope", nil)
	expect(t, filepath.Join(root, "r", ".hidden"), "main", files{"h.yaml": "h\n"})
	expect(t, filepath.Join(root, "r", "in", "deep"), "main", files{"b.yaml": "b\n"})

	t.Log("of a folder that is ignored only what was added all the same belongs to the branch")
	git(t, filepath.Join(root, "r"), "add", "--force", "in/ignored/c.yaml")
	write(t, filepath.Join(root, "r"), "-- in/ignored/new.yaml --\nnew\n-- in/ignored/.gitignore --\n!new.yaml\n")
	expect(t, filepath.Join(in, "ignored"), "main", files{"c.yaml": "c\n"})

	t.Log("a folder that the repository around it does not know is a folder without git")
	for folder, file := range map[string]string{"build": "d.yaml", "fresh": "e.yaml"} {
		dir := filepath.Join(root, "r", folder)
		for _, branch := range []string{"main", "dev", "nope"} {
			expect(t, dir, branch, files{file: file[:1] + "\n"})
		}
	}
}

func TestPlainFolder(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	write(t, filepath.Dir(outside), "-- secret.yaml --\nsecret\n")
	write(t, dir, "-- a.yaml --\na\n-- b/c.yaml --\nc\n-- nested/.git/config --\nx\n-- nested/d.yaml --\nd\n")
	for link, target := range map[string]string{"link.yaml": outside, "folder": filepath.Dir(outside), "inside.yaml": "a.yaml", "loop": ".", "gone.yaml": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := files{"a.yaml": "a\n", "b/c.yaml": "c\n", "nested/d.yaml": "d\n"}
	expect(t, dir, "main", want)
	expect(t, dir, "any/thing", want)
	tree, err := read(t, dir, "main")
	if err != nil || len(tree.Skipped) != 5 || tree.Skipped[0] != (model.Skipped{Path: "folder", What: model.SymbolicLink}) {
		t.Errorf("links %v, %v, want five, folder first", tree.Skipped, err)
	}
	t.Log("the place itself may be a link")
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(dir, alias); err != nil {
		t.Fatal(err)
	}
	expect(t, alias, "main", want)
}

// TestFolderThatOnlyLooksLikeGit is about a folder .git with nothing in it: the
// folder is then what it is without.
func TestFolderThatOnlyLooksLikeGit(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "-- a.yaml --\na\n")
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, "main", files{"a.yaml": "a\n"})
	expect(t, dir, "dev", files{"a.yaml": "a\n"})

	t.Log("a file .git leads elsewhere, and one that does not is damaged")
	linked := t.TempDir()
	write(t, linked, "-- .git --\nnonsense\n-- a.yaml --\na\n")
	_, err := read(t, linked, "main")
	mustFail(t, err, "git repository "+linked, "invalid gitfile")
}
