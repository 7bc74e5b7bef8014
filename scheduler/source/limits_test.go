package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// controlFiles reads the control plane's files of a folder.
func controlFiles(t *testing.T, dir string) (*model.Tree, error) {
	t.Helper()
	w, err := source.Open(context.Background(), source.Options{ControlPlane: dir})
	if err != nil {
		t.Fatal(err)
	}
	return w.Files(context.Background())
}

// sparse makes a file of a size that takes no room on the disk.
func sparse(t *testing.T, file string, size int64) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}
}

// TestLimitsOfFolders reads folders, working trees and branches with more in
// them than anybody needs: what matters is read, or it is said what is too much.
func TestLimitsOfFolders(t *testing.T) {
	kinds := map[string]func(t *testing.T, dir string){
		"a folder":       func(*testing.T, string) {},
		"a working tree": func(t *testing.T, dir string) { git(t, dir, "init", "-q"); git(t, dir, "add", "-A") },
		"a bare repository": func(t *testing.T, dir string) {
			git(t, dir, "init", "-q")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "-m", "1")
			for _, name := range []string{"deploy", "d", "video.mp4", "large.yaml", "many"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			git(t, dir, "config", "core.bare", "true")
		},
	}
	for kind, become := range kinds {
		open := func(t *testing.T, dir string) (*model.Tree, error) {
			become(t, dir)
			if kind == "a bare repository" {
				dir = filepath.Join(dir, ".git")
			}
			return controlFiles(t, dir)
		}
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "-- deploy/a.yaml --\na: 1\n-- deploy/empty.yaml --\n")
			sparse(t, filepath.Join(dir, "video.mp4"), 64<<20)
			sparse(t, filepath.Join(dir, "large.yaml"), model.MaxFile+1)
			tree, err := open(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			if string(tree.Files["deploy/a.yaml"]) != "a: 1\n" || tree.Files["deploy/empty.yaml"] == nil {
				t.Errorf("files %v", tree.Files)
			}
			for _, name := range []string{"video.mp4", "large.yaml"} {
				if content, there := tree.Files[name]; !there || content != nil {
					t.Errorf("%s: there %t with %d bytes", name, there, len(content))
				}
			}
			if _, found := model.LoadEnvironments(tree, ""); len(found) != 1 || found[0].Severity != model.Error || found[0].Position.File != "large.yaml" {
				t.Errorf("diagnostics %v", found)
			}
		})
		t.Run(kind+" with much that matters", func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range strings.Fields("1 2 3 4 5 6 7 8 9") {
				sparse(t, filepath.Join(dir, "many", name+".yaml"), model.MaxFile)
			}
			_, err := open(t, dir)
			var limit *model.LimitError
			if !errors.As(err, &limit) || limit.Max != model.MaxContent {
				t.Errorf("error %v", err)
			}
		})
		t.Run(kind+" with folders in each other", func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "-- "+strings.Repeat("d/", model.MaxDepth+2)+"a.yaml --\na\n")
			_, err := open(t, dir)
			var limit *model.LimitError
			if !errors.As(err, &limit) || limit.Max != model.MaxDepth {
				t.Errorf("error %v", err)
			}
		})
	}
}
