package scenarios

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitSettings keep the settings of the machine and of its user out.
var gitSettings = []string{
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=" + os.DevNull,
	"GIT_TERMINAL_PROMPT=0",
	"GIT_TEMPLATE_DIR=",
}

// git runs a git command and returns what it prints. The person's credentials
// go by the environment, so that they are in no file and no process list.
func (s *script) git(dir string, args ...string) (string, error) {
	fmt.Fprintf(&s.ran, "$ git %s\n", shellWords(args))
	credentials := base64.StdEncoding.EncodeToString([]byte(s.world.User + ":" + s.world.Token))
	email := s.world.User + "@localhost.localdomain"
	cmd := exec.CommandContext(s.ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home,
		"LC_ALL=C",
		"GIT_AUTHOR_NAME=" + s.world.User, "GIT_AUTHOR_EMAIL=" + email,
		"GIT_COMMITTER_NAME=" + s.world.User, "GIT_COMMITTER_EMAIL=" + email,
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=http." + s.world.ForgeURL + "/.extraHeader",
		"GIT_CONFIG_VALUE_0=Authorization: Basic " + credentials,
	}, gitSettings...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("scenarios need git: install it, or add it to PATH")
	}
	if err != nil {
		s.stderr.WriteString(stderr.String())
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, lastLine(stderr.String()))
	}
	return stdout.String(), nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// shellWords spells arguments as one would type them.
func shellWords(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"$&|;<>()*?#\\`") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

func (s *script) wordClone(args []string) error {
	repo, branch, dir := args[0], args[1], args[0]
	if len(args) == 3 {
		dir = args[2]
	}
	_, err := s.git(s.ts.MkAbs("."), "clone", "--quiet", "--branch", branch, s.world.OrgURL()+"/"+repo, dir)
	return err
}

func (s *script) wordPush(args []string) error {
	dir, message := s.ts.MkAbs(args[0]), args[1]
	if _, err := s.git(dir, "add", "--all"); err != nil {
		return err
	}
	changes, err := s.git(dir, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes == "" {
		return s.nothingToPush(dir)
	}
	if _, err := s.git(dir, "commit", "--quiet", "--message", message); err != nil {
		return err
	}
	if err := s.pushCommit(dir); err != nil {
		return err
	}
	s.pushed = true
	s.happened["push"] = time.Now()
	commit, err := s.git(dir, "rev-parse", "HEAD")
	s.ts.Setenv("COMMIT", strings.TrimSpace(commit))
	return err
}

// pushCommit pushes, after taking in what others have pushed in between: the
// scheduler writes to environments' branches, too.
func (s *script) pushCommit(dir string) error {
	const tries = 3
	for try := 1; ; try++ {
		_, err := s.git(dir, "push", "--quiet", "origin", "HEAD")
		if err == nil || try == tries || !strings.Contains(s.stderr.String(), "rejected]") {
			return err
		}
		if _, err := s.git(dir, "pull", "--quiet", "--rebase"); err != nil {
			return err
		}
	}
}

// nothingToPush finds the commit that made what the scenario wanted to make.
func (s *script) nothingToPush(dir string) error {
	s.pushed = false
	delete(s.happened, "push")
	args := []string{"log", "-1", "--format=%H", "--"}
	for _, path := range s.written {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			args = append(args, filepath.ToSlash(rel))
		}
	}
	commit, err := s.git(dir, args...)
	if err != nil {
		return err
	}
	commit = strings.TrimSpace(commit)
	s.ts.Setenv("COMMIT", commit)
	s.note("done already: commit " + short(commit))
	return nil
}

func short(commit string) string { return commit[:min(len(commit), 7)] }
