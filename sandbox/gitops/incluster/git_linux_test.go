package incluster

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kalypso-dev/kalypso/sandbox/node/filetree"
)

// TestGitRunsFromItsFiles starts git as it is in the image, in a folder of its
// own where nothing else of this machine is.
func TestGitRunsFromItsFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a folder a program's root")
	}
	t.Run("found", gitRuns)
	t.Run("found by a link", func(t *testing.T) {
		real, err := exec.LookPath("git")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.Symlink(real, filepath.Join(dir, "git")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		gitRuns(t)
	})
}

func gitRuns(t *testing.T) {
	g, err := findGit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	g.files.File("dev/null", 0o644, nil)
	unpack(t, root, g.files)
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/git", args...)
		cmd.Env, cmd.Dir, cmd.SysProcAttr = g.env, "/", &syscall.SysProcAttr{Chroot: root}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("version"); err != nil || !strings.HasPrefix(out, "git version") {
		t.Errorf("version: %v: %s", err, out)
	}
	// the helper is found and starts: there is no server
	if out, err := run("ls-remote", "http://127.0.0.1:1/x"); err == nil || !strings.Contains(out, "onnect to 127.0.0.1") {
		t.Errorf("ls-remote: %v: %s", err, out)
	}
}

func unpack(t *testing.T, root string, files filetree.Tree) {
	t.Helper()
	var archive bytes.Buffer
	if err := files.Write(&archive); err != nil {
		t.Fatal(err)
	}
	headers, texts := untar(t, archive.Bytes())
	for name, h := range headers {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case h.Typeflag == tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case h.Typeflag == tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			err = os.WriteFile(path, []byte(texts[name]), h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
