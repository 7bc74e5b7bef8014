package source_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// TestWorkingTree compares what is read of a working tree with what git itself
// would commit.
func TestWorkingTree(t *testing.T) {
	for name, c := range map[string]struct {
		committed string
		then      func(t *testing.T, dir string)
	}{
		"nothing changed": {"-- a.yaml --\na\n-- b/c.yaml --\nc\n", func(*testing.T, string) {}},
		"changed, added, removed": {
			"-- a.yaml --\na\n-- b/c.yaml --\nc\n-- d.yaml --\nd\n",
			func(t *testing.T, dir string) {
				write(t, dir, "-- a.yaml --\nA\n-- e/f/g.yaml --\ng\n")
				remove(t, dir, "d.yaml")
			},
		},
		"changed": {
			"-- a.yaml --\na\n-- b/c.yaml --\nc\n-- d.yaml --\nd\n",
			func(t *testing.T, dir string) { write(t, dir, "-- b/c.yaml --\nC\n") },
		},
		"another name": {
			"-- a.yaml --\na\n-- b.yaml --\nb\n",
			func(t *testing.T, dir string) {
				remove(t, dir, "a.yaml")
				write(t, dir, "-- c.yaml --\na\n")
			},
		},
		"added to the index only": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				write(t, dir, "-- b.yaml --\nstaged\n")
				git(t, dir, "add", "b.yaml")
				write(t, dir, "-- b.yaml --\nand changed\n")
			},
		},
		"removed from the index only": {
			"-- a.yaml --\na\n-- b.yaml --\nb\n",
			func(t *testing.T, dir string) { git(t, dir, "rm", "-q", "--cached", "b.yaml") },
		},
		"ignored": {
			"-- .gitignore --\n*.tmp\n/out/\nnode_modules\n!keep.tmp\ndoc/*.txt\n# comment\n\\#hash\n-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				write(t, dir, `
-- x.tmp --
-- keep.tmp --
-- out/y.yaml --
-- sub/out/z.yaml --
-- sub/node_modules/n.yaml --
-- doc/a.txt --
-- doc/deep/a.txt --
-- #hash --
-- sub/x.tmp --
`)
			},
		},
		"ignored deeper": {
			"-- .gitignore --\n*.log\n-- sub/.gitignore --\n!x.log\n/only-here.yaml\n*.gen\n-- sub/a.yaml --\na\n",
			func(t *testing.T, dir string) {
				write(t, dir, `
-- x.log --
-- sub/x.log --
-- sub/deep/x.log --
-- sub/y.log --
-- sub/only-here.yaml --
-- sub/deep/only-here.yaml --
-- only-here.yaml --
-- sub/z.gen --
-- z.gen --
-- new/.gitignore --
*
!.gitignore
-- new/hidden.yaml --
`)
			},
		},
		"ignored but known": {
			"-- a.yaml --\na\n-- out/known.yaml --\nknown\n-- out/deep/known.yaml --\nknown\n",
			func(t *testing.T, dir string) {
				write(t, dir, "-- .gitignore --\nout\nout/deep/\n-- out/new.yaml --\n-- out/deep/new.yaml --\n-- out/known.yaml --\nchanged\n")
			},
		},
		"brought back in an ignored folder": {
			"-- .gitignore --\nout/\n!out/a.yaml\nlib/*\n!lib/a.yaml\n",
			func(t *testing.T, dir string) {
				write(t, dir, "-- out/a.yaml --\n-- out/b.yaml --\n-- lib/a.yaml --\n-- lib/b.yaml --\n")
			},
		},
		"ignored by this clone alone": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				write(t, dir, "-- .git/info/exclude --\n*.mine\n-- x.mine --\n-- y.yaml --\n")
			},
		},
		"ignored by this user alone": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				write(t, os.Getenv("HOME"), "-- .config/git/ignore --\n*.swp\n")
				write(t, dir, "-- x.swp --\n-- y.yaml --\n")
			},
		},
		"ignored by this user, elsewhere": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				xdg := t.TempDir()
				t.Setenv("XDG_CONFIG_HOME", xdg)
				write(t, xdg, "-- git/ignore --\n*.bak\n")
				write(t, dir, "-- x.bak --\n-- y.yaml --\n")
			},
		},
		"ignored by a file that the clone names": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				write(t, os.Getenv("HOME"), "-- excludes --\n*.orig\n")
				git(t, dir, "config", "core.excludesFile", "~/excludes")
				write(t, dir, "-- x.orig --\n-- y.yaml --\n")
			},
		},
		"links": {
			"-- a.yaml --\na\n-- real/b.yaml --\nb\n",
			func(t *testing.T, dir string) {
				for link, target := range map[string]string{"l.yaml": "a.yaml", "out.yaml": "/etc/passwd", "folder": "real", "real/up": "..", "gone": "nowhere"} {
					if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
						t.Fatal(err)
					}
				}
			},
		},
		"a file where a link was": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				if err := os.Symlink("a.yaml", filepath.Join(dir, "l.yaml")); err != nil {
					t.Fatal(err)
				}
				commit(t, dir)
				remove(t, dir, "l.yaml")
				write(t, dir, "-- l.yaml --\nfile\n")
			},
		},
		"a repository in it": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				git(t, dir, "init", "-q", "nested")
				write(t, filepath.Join(dir, "nested"), "-- n.yaml --\nn\n")
				commit(t, filepath.Join(dir, "nested"))
			},
		},
		"a submodule": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				other := filepath.Join(t.TempDir(), "other")
				git(t, dir, "init", "-q", other)
				write(t, other, "-- o.yaml --\no\n")
				commit(t, other)
				git(t, dir, "submodule", "--quiet", "add", other, "sub")
				write(t, dir, "-- b.yaml --\nb\n")
			},
		},
		"a link where a folder was": {
			"-- a/b.yaml --\nb\n-- c/b.yaml --\nc\n",
			func(t *testing.T, dir string) {
				if err := errors.Join(os.RemoveAll(filepath.Join(dir, "a")), os.Symlink("c", filepath.Join(dir, "a"))); err != nil {
					t.Fatal(err)
				}
			},
		},
		"a file where a folder was": {
			"-- a/b.yaml --\nb\n",
			func(t *testing.T, dir string) {
				if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
					t.Fatal(err)
				}
				write(t, dir, "-- a --\nfile\n")
			},
		},
		"sides of a merge": {
			"-- a.yaml --\na\n",
			func(t *testing.T, dir string) {
				git(t, dir, "checkout", "-q", "-b", "other")
				write(t, dir, "-- a.yaml --\nother\n")
				commit(t, dir)
				git(t, dir, "checkout", "-q", "main")
				write(t, dir, "-- a.yaml --\nmine\n")
				commit(t, dir)
				_ = exec.Command("git", "-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "merge", "-q", "other").Run() // a conflict
			},
		},
		"executable": {
			"-- a.sh --\na\n",
			func(t *testing.T, dir string) {
				if err := os.Chmod(filepath.Join(dir, "a.sh"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
		},
		"odd names": {"-- ä ö.yaml --\na\n-- [x].yaml --\nb\n-- -.yaml --\nc\n", func(*testing.T, string) {}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			git(t, dir, "init", "-q")
			write(t, dir, c.committed)
			commit(t, dir)
			c.then(t, dir)
			before := state(t, dir)
			got := content(t, dir, "main")
			tree, err := read(t, dir, "main")
			if err != nil {
				t.Fatal(err)
			}
			if after := state(t, dir); before != after {
				t.Errorf("the folder has been written to:\n%s", cmp.Diff(before, after))
			}
			committed, would := listed(t, dir, "ls-tree", "-r", "-z", "HEAD"), wouldCommit(t, dir)
			if clean := cmp.Equal(committed, would); clean != (tree.Commit != "") {
				t.Errorf("read as commit %q, and clean is %v", tree.Commit, clean)
			}
			if diff := cmp.Diff(contents(t, dir, would), got); diff != "" {
				t.Errorf("working tree (-git +got):\n%s", diff)
			}
			if diff := cmp.Diff(entriesWithoutContent(t, dir), tree.Skipped, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("links and submodules (-git +got):\n%s", diff)
			}
		})
	}
}

func remove(t *testing.T, dir, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
}

// wouldCommit returns what `git add --all` leaves in the index, which it
// changes: the IDs of regular files.
func wouldCommit(t *testing.T, dir string) map[string]string {
	t.Helper()
	git(t, dir, "add", "--all")
	return listed(t, dir, "ls-files", "--stage", "-z")
}

// listed returns the IDs of the regular files that a git command lists.
func listed(t *testing.T, dir string, args ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for entry := range strings.SplitSeq(git(t, dir, args...), "\x00") {
		meta, file, ok := strings.Cut(entry, "\t")
		if !ok || !strings.HasPrefix(meta, "100") {
			continue
		}
		for word := range strings.FieldsSeq(meta) {
			if len(word) == 40 {
				files[file] = word
			}
		}
	}
	return files
}

// entriesWithoutContent returns the links and submodules in the index.
func entriesWithoutContent(t *testing.T, dir string) []model.Skipped {
	t.Helper()
	var skipped []model.Skipped
	for entry := range strings.SplitSeq(git(t, dir, "ls-files", "--stage", "-z"), "\x00") {
		_, file, _ := strings.Cut(entry, "\t")
		switch {
		case strings.HasPrefix(entry, "120000"):
			skipped = append(skipped, model.Skipped{Path: file, What: model.SymbolicLink})
		case strings.HasPrefix(entry, "160000"):
			skipped = append(skipped, model.Skipped{Path: file, What: model.Submodule})
		}
	}
	return skipped
}

// contents returns what blobs hold.
func contents(t *testing.T, dir string, ids map[string]string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for file, id := range ids {
		cmd := exec.Command("git", "cat-file", "blob", id)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		files[file] = string(out)
	}
	return files
}

// TestCommitOfLargeFiles: a file that is too large to be read is as committed
// while git has noted its time and size.
func TestCommitOfLargeFiles(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "-- a.yaml --\na\n")
	sparse(t, filepath.Join(dir, "large.yaml"), model.MaxFile+1)
	id := commit(t, dir)
	if tree, err := read(t, dir, "main"); err != nil || tree.Commit != id {
		t.Errorf("commit %q, %v, want %s", tree.Commit, err, id)
	}
	if err := os.Truncate(filepath.Join(dir, "large.yaml"), model.MaxFile+2); err != nil {
		t.Fatal(err)
	}
	if tree, err := read(t, dir, "main"); err != nil || tree.Commit != "" {
		t.Errorf("changed, and commit %q, %v", tree.Commit, err)
	}
}

// TestUnreadableFolder: what git leaves out because it cannot read it is an
// error, and no tree with less in it.
func TestUnreadableFolder(t *testing.T) {
	if os.Getuid() == 0 { // who can read everything
		again := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestUnreadableFolder$", "-test.v")
		again.Dir, again.Env = "/", append(os.Environ(), "HOME=/nonexistent")
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := again.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestUnreadableFolder") {
			t.Errorf("as another user: %v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "-- a.yaml --\na\n-- closed/b.yaml --\nb\n")
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "closed"), 0o700)
	if tree, err := read(t, dir, "main"); err == nil {
		t.Errorf("files %v", tree.Files)
	}
}

func TestNothingCommittedYet(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "-- a.yaml --\na\n")
	expect(t, dir, "main", files{"a.yaml": "a\n"})
	expect(t, dir, "dev", nil)
}

func TestDetachedHead(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "-- a.yaml --\na\n")
	commit(t, dir)
	git(t, dir, "checkout", "-q", "--detach")
	write(t, dir, "-- a.yaml --\nchanged\n")
	expect(t, dir, "main", files{"a.yaml": "a\n"})
	expect(t, dir, "HEAD", files{"a.yaml": "changed\n"})
}
