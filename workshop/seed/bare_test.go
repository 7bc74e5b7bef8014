package seed_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/seed"
)

// TestHistoryWithAddresses adds one commit to a branch whose files name the
// original, and none to another. The history stays.
func TestHistoryWithAddresses(t *testing.T) {
	repo := t.TempDir()
	gitkit.Run(t, repo, "init", "-q", "-b", "main")
	for name, text := range map[string]string{"a.yaml": "url: https://github.com/acme/app.git\n", "b/c.yaml": "x: 1\n"} {
		file := filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gitkit.Run(t, repo, "add", "-A")
	gitkit.Run(t, repo, "commit", "-qm", "start")
	gitkit.Run(t, repo, "checkout", "-qb", "plain")
	gitkit.Run(t, repo, "rm", "-q", "a.yaml")
	gitkit.Run(t, repo, "commit", "-qm", "without")
	bare := filepath.Join(t.TempDir(), "app.git")
	if err := workshop.CloneBare(t.Context(), repo, bare, 0); err != nil {
		t.Fatal(err)
	}
	at := workshop.On("http://localhost:1/kalypso")
	w := &workshop.Workshop{
		Addresses:    []workshop.Address{{From: "https://github.com/acme/app", Repository: "app"}},
		Repositories: []workshop.Repository{{Name: "app", Bare: bare, Branches: []workshop.Branch{{Name: "main"}, {Name: "plain"}}}},
	}
	all, err := seed.Of(w, at)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.NewStorage()
	heads, err := all[0].Commits(store)
	if err != nil {
		t.Fatal(err)
	}
	before := func(branch string) string { return strings.TrimSpace(gitkit.Run(t, repo, "rev-parse", branch)) }
	if got := heads[plumbing.NewBranchReferenceName("plain")].String(); got != before("plain") {
		t.Errorf("plain is %s, want %s", got, before("plain"))
	}
	commit, err := object.GetCommit(store, heads[plumbing.NewBranchReferenceName("main")])
	if err != nil {
		t.Fatal(err)
	}
	if commit.Message != seed.AddressesMessage || len(commit.ParentHashes) != 1 || commit.ParentHashes[0].String() != before("main") {
		t.Errorf("commit %v", commit)
	}
	again, err := all[0].Commits(memory.NewStorage())
	if err != nil || again[plumbing.NewBranchReferenceName("main")] != commit.Hash {
		t.Errorf("another commit the next time: %v, %v", again, err)
	}
	reader, err := seed.NewReader(w, at)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := reader.Read(t.Context(), model.Reference{Repo: at.Repositories + "/app", Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tree.Files["a.yaml"]); got != "url: http://localhost:1/kalypso/app.git\n" {
		t.Errorf("a.yaml is %q", got)
	}
	if got := string(tree.Files["b/c.yaml"]); got != "x: 1\n" {
		t.Errorf("b/c.yaml is %q", got)
	}
}

// TestLargeHistoryStaysOnDisk reads a repository without its history, and without a
// file that is too large for the model, in memory. What is no file stays as it is.
func TestLargeHistoryStaysOnDisk(t *testing.T) {
	repo := t.TempDir()
	gitkit.Run(t, repo, "init", "-q", "-b", "main")
	content := make([]byte, 32<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	for _, name := range []string{"removed.bin", "large.bin"} {
		content[0]++
		if err := os.WriteFile(filepath.Join(repo, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
		gitkit.Run(t, repo, "add", "-A")
		gitkit.Run(t, repo, "commit", "-qm", name)
	}
	gitkit.Run(t, repo, "rm", "-q", "removed.bin")
	if err := os.WriteFile(filepath.Join(repo, "a.yaml"), []byte("url: https://github.com/acme/app\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.yaml", filepath.Join(repo, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	gitkit.Run(t, repo, "add", "-A")
	gitkit.Run(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+gitkit.Run(t, repo, "rev-parse", "HEAD")+",vendor")
	gitkit.Run(t, repo, "commit", "-qm", "an address")
	bare := filepath.Join(t.TempDir(), "app.git")
	if err := workshop.CloneBare(t.Context(), repo, bare, 0); err != nil {
		t.Fatal(err)
	}
	at := workshop.On("http://localhost:1/kalypso")
	w := &workshop.Workshop{
		Addresses:    []workshop.Address{{From: "https://github.com/acme/app", Repository: "app"}},
		Repositories: []workshop.Repository{{Name: "app", Bare: bare, Branches: []workshop.Branch{{Name: "main"}}}},
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	reader, err := seed.NewReader(w, at)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := reader.Read(t.Context(), model.Reference{Repo: at.Repositories + "/app", Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := string(tree.Files["a.yaml"]); got != "url: http://localhost:1/kalypso/app\n" {
		t.Errorf("a.yaml is %q", got)
	}
	if diff := cmp.Diff([]model.Skipped{{Path: "link.yaml", What: model.SymbolicLink}, {Path: "vendor", What: model.Submodule}}, tree.Skipped); diff != "" {
		t.Errorf("a link and a submodule do not stay (-want +got):\n%s", diff)
	}
	if content, there := tree.Files["large.bin"]; !there || content != nil {
		t.Errorf("large.bin has %d bytes, %v", len(content), there)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d MiB were in memory", used>>20)
	}
}
