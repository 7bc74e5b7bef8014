//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/workshop"
)

// git runs git as the user, on the forge.
func (m *machine) git(dir string, args ...string) string {
	m.t.Helper()
	out, err := m.tryGit(dir, args...)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func (m *machine) tryGit(dir string, args ...string) (string, error) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	c := m.credentials()
	basic := base64.StdEncoding.EncodeToString([]byte(c.User + ":" + c.Token))
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic " + basic,
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	}, m.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (m *machine) environments() []string { return m.workshop().ControlPlane.Environments }

func (m *machine) repositories() []workshop.Repository { return m.workshop().Repositories }

func (m *machine) workshop() *workshop.Workshop {
	m.t.Helper()
	return workshoptest.Load(m.t, cmp.Or(m.tutorial, sandbox.DefaultWorkshop), m.credentials().OrgURL)
}

// heads are all branches of all repositories with their commits.
func (m *machine) heads() map[string]string {
	m.t.Helper()
	heads := map[string]string{}
	url := m.credentials().OrgURL
	for _, r := range m.repositories() {
		for line := range strings.Lines(m.git(m.dir, "ls-remote", "--heads", url+"/"+r.Name)) {
			commit, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
			heads[r.Name+" "+strings.TrimPrefix(ref, "refs/heads/")] = commit
		}
	}
	return heads
}

// checkFixtures says how the repositories differ from the workshop's
// beginning: each branch has one first commit with exactly the fixture's
// files, or is one commit on top of another, and beyond it only commits of the scheduler and what a promotion has
// left.
func (m *machine) checkFixtures() {
	m.t.Helper()
	url := m.credentials().OrgURL
	for _, r := range m.repositories() {
		dir := filepath.Join(m.dir, "check", r.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			m.t.Fatal(err)
		}
		m.git(dir, "clone", "--quiet", url+"/"+r.Name, ".")
		for _, b := range r.Branches {
			roots := strings.Fields(m.git(dir, "rev-list", "--max-parents=0", "origin/"+b.Name))
			if len(roots) != 1 {
				m.t.Errorf("%s, branch %s has %d first commits", r.Name, b.Name, len(roots))
				continue
			}
			for author := range strings.Lines(m.git(dir, "log", "--format=%an", roots[0]+"..origin/"+b.Name)) {
				if author = strings.TrimSpace(author); author != "Kalypso Scheduler" && author != "Kalypso" {
					m.t.Errorf("%s, branch %s has a commit by %s", r.Name, b.Name, author)
				}
			}
			first := roots[0]
			if b.OnTop != "" {
				first = "origin/" + b.Name
			}
			if err := sameFiles(m.git(dir, "ls-tree", "-r", first), b.Files); err != nil {
				m.t.Errorf("%s, branch %s: %v", r.Name, b.Name, err)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(m.dir, "check")); err != nil {
		m.t.Fatal(err)
	}
}

// sameFiles compares what ls-tree prints with files.
func sameFiles(tree string, files map[string][]byte) error {
	present := map[string]string{}
	for line := range strings.Lines(tree) {
		meta, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		present[name] = strings.Fields(meta)[2]
	}
	if len(present) != len(files) {
		return fmt.Errorf("%d files instead of %d", len(present), len(files))
	}
	for name, content := range files {
		if want := blobID(content); present[name] != want {
			return fmt.Errorf("%s is blob %q instead of %s", name, present[name], want)
		}
	}
	return nil
}

// push changes files on a branch of a repository.
func (m *machine) push(repo, branch string, files map[string]string) (commit string) {
	m.t.Helper()
	dir, err := os.MkdirTemp(m.dir, "work-")
	if err != nil {
		m.t.Fatal(err)
	}
	m.git(dir, "clone", "--quiet", m.credentials().OrgURL+"/"+repo, ".")
	if _, err := m.tryGit(dir, "checkout", "--quiet", branch); err != nil {
		m.git(dir, "checkout", "--quiet", "-b", branch)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if content == "" {
			m.git(dir, "rm", "--quiet", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			m.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	m.git(dir, "add", "--all")
	m.git(dir, "commit", "--quiet", "--message", "Change "+branch)
	// the scheduler writes to environments' branches, too
	waitFor(m.t, "push to "+branch+" of "+repo, 10*time.Second, func() error {
		_, err := m.tryGit(dir, "push", "--quiet", "origin", "HEAD")
		if err != nil {
			m.git(dir, "pull", "--quiet", "--rebase")
		}
		return err
	})
	return m.git(dir, "rev-parse", "HEAD")
}

// blobID is git's name for a file's content.
func blobID(content []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
	return hex.EncodeToString(sum[:])
}
