package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
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

// git runs a git command and returns what it prints. The user's credentials
// go by the environment, so that they are in no file and no process list.
func (s *script) git(dir string, args ...string) (string, error) {
	fmt.Fprintf(&s.ran, "$ git %s\n", shellWords(args))
	credentials := base64.StdEncoding.EncodeToString([]byte(s.access.User + ":" + s.access.Token))
	email := s.access.User + "@localhost.localdomain"
	cmd := exec.CommandContext(s.ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home,
		"LC_ALL=C",
		"GIT_AUTHOR_NAME=" + s.access.User, "GIT_AUTHOR_EMAIL=" + email,
		"GIT_COMMITTER_NAME=" + s.access.User, "GIT_COMMITTER_EMAIL=" + email,
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=http." + s.access.ForgeURL + "/.extraHeader",
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
		quoted[i] = quoteForShell(a)
	}
	return strings.Join(quoted, " ")
}

// runClone brings an earlier clone up to date instead: steps that follow each
// other use the same folder, and each of them can be the first one to run.
func (s *script) runClone(args []string) error {
	repo, branch, dir := args[0], args[1], args[0]
	if len(args) == 3 {
		dir = args[2]
	}
	path := s.ts.MkAbs(dir)
	if _, err := os.Stat(filepath.Join(path, ".git")); err == nil {
		if _, err := s.git(path, "fetch", "--quiet", "origin"); err != nil {
			return err
		}
		_, err := s.git(path, "checkout", "--quiet", "--force", "-B", branch, "origin/"+branch)
		return err
	}
	_, err := s.git(s.ts.MkAbs("."), "clone", "--quiet", "--branch", branch, s.access.OrgURL()+"/"+repo, dir)
	return err
}

func (s *script) runPull(args []string) error {
	_, err := s.git(s.ts.MkAbs(args[0]), "pull", "--quiet", "--no-edit", "--no-rebase")
	return err
}

func (s *script) runPush(args []string) error {
	dir, message := s.ts.MkAbs(args[0]), args[1]
	if _, err := s.git(dir, "add", "--all"); err != nil {
		return err
	}
	changes, err := s.git(dir, "status", "--porcelain")
	if err != nil {
		return err
	}
	earlier, err := s.pushedBefore(dir, message)
	if err != nil {
		return err
	}
	if changes == "" || earlier != "" {
		return s.nothingToPush(dir, earlier)
	}
	if _, err := s.git(dir, "commit", "--quiet", "--message", message); err != nil {
		return err
	}
	if err := s.pushCommit(dir); err != nil {
		return err
	}
	s.pushed = true
	s.happened["push"] = time.Now()
	return s.pushedCommit(dir, "rev-parse", "HEAD")
}

// pushedCommit sets $COMMIT to what a git command prints, and notes when that
// commit was made.
func (s *script) pushedCommit(dir string, args ...string) error {
	commit, err := s.git(dir, args...)
	if err != nil {
		return err
	}
	commit = strings.TrimSpace(commit)
	when, err := s.git(dir, "log", "-1", "--format=%cI", commit)
	if err != nil {
		return err
	}
	if s.since, err = time.Parse(time.RFC3339, strings.TrimSpace(when)); err != nil {
		return fmt.Errorf("time of commit %s: %w", short(commit), err)
	}
	s.setenv("COMMIT", commit)
	return nil
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

// pushedBefore finds the commit of an earlier run, "" when there is none: it has
// the message, and all that was written as it is now. Others may have changed
// it since, which is no reason to do it again.
func (s *script) pushedBefore(dir, message string) (string, error) {
	paths := s.writtenIn(dir)
	log, err := s.git(dir, append([]string{"log", "--format=%H %s", "--"}, paths...)...)
	if err != nil || len(paths) == 0 {
		return "", err
	}
	for line := range strings.Lines(log) {
		commit, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if subject != message {
			continue
		}
		// what has been added is in the index
		differs, err := s.git(dir, append([]string{"diff", "--cached", "--name-only", commit, "--"}, paths...)...)
		if err != nil {
			return "", err
		}
		if differs == "" {
			return commit, nil
		}
	}
	return "", nil
}

// writtenIn are the paths that have been written in a clone.
func (s *script) writtenIn(dir string) []string {
	var paths []string
	for _, path := range s.written {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths
}

// nothingToPush finds the commit that made what the scenario wanted to make,
// unless it is known, and leaves the clone as the branch is.
func (s *script) nothingToPush(dir, commit string) error {
	s.pushed, s.repeated = false, true
	delete(s.happened, "push")
	if _, err := s.git(dir, "reset", "--quiet", "--hard"); err != nil {
		return err
	}
	// by first parents: what a merge has brought is on the branch with the merge
	args := append([]string{"log", "-1", "--first-parent", "--format=%H", "--"}, s.writtenIn(dir)...)
	if commit != "" {
		args = []string{"rev-parse", commit}
	}
	if err := s.pushedCommit(dir, args...); err != nil {
		return err
	}
	s.note("done already: commit %s", short(s.vars["COMMIT"]))
	return nil
}

func short(commit string) string { return commit[:min(len(commit), 7)] }

func (s *script) runWrite(args []string) error {
	content, err := s.read(args[0])
	if err != nil {
		return err
	}
	dest := s.ts.MkAbs(args[1])
	if err := os.MkdirAll(filepath.Dir(dest), 0o777); err != nil {
		return err
	}
	s.written = append(s.written, dest)
	return os.WriteFile(dest, content, 0o666)
}

// runEdit replaces a block of lines. A file that has the new one already, and
// not the old one, stays as it is.
func (s *script) runEdit(args []string) error {
	var texts [3]string
	for i, name := range args {
		b, err := s.read(name)
		if err != nil {
			return err
		}
		texts[i] = string(b)
	}
	content, before, after := texts[0], texts[1], texts[2]
	dest := s.ts.MkAbs(args[0])
	s.written = append(s.written, dest)
	if before == "" {
		return fmt.Errorf("%s is empty", args[1])
	}
	switch n := strings.Count(content, before); {
	case n == 1:
		return os.WriteFile(dest, []byte(strings.Replace(content, before, after, 1)), 0o666)
	case n > 1:
		return fmt.Errorf("%s has the lines of %s %d times", args[0], args[1], n)
	case strings.Contains(content, after):
		return nil
	}
	return fmt.Errorf("%s does not have the lines of %s", args[0], args[1])
}

// prints notes, in a user's words, what it is that a command has printed.
func (s *script) prints(format string, args ...any) {
	s.printed.what, s.printed.text = fmt.Sprintf(format, args...), s.stdout.String()
}

// nameOf names a file for a user. They know what they see on the forge, and
// nothing of "stdout".
func (s *script) nameOf(file string) string {
	// one of testscript's own commands may have printed something since
	if file == "stdout" && s.printed.what != "" && s.printed.text == s.ts.ReadFile("stdout") {
		return s.printed.what
	}
	return file
}

// read returns a file's content, or what the last command printed.
func (s *script) read(file string) ([]byte, error) {
	if file == "stdout" || file == "stderr" {
		return []byte(s.ts.ReadFile(file)), nil
	}
	b, err := os.ReadFile(s.ts.MkAbs(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", file)
	}
	return b, err
}
