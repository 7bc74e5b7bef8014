package gitcommand_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/internal/gitcommand"
	"github.com/kalypso-dev/kalypso/internal/testkit/gitkit"
)

// A repository that a hook's variables name is not the one that is meant.
func TestVariablesOfAHook(t *testing.T) {
	dir := t.TempDir()
	gitkit.Run(t, dir, "init", "--quiet")
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "another"))
	t.Setenv("GIT_INDEX_FILE", "none")
	got, err := gitcommand.Command{Dir: dir}.Line(t.Context(), "rev-parse", "--absolute-git-dir")
	if want := filepath.Join(dir, ".git"); err != nil || got != want {
		t.Errorf("%q, %v, and not %q", got, err, want)
	}
}

// Settings are added to those that the user's environment has.
func TestSettings(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "user.name")
	t.Setenv("GIT_CONFIG_VALUE_0", "theirs")
	c := gitcommand.Command{Dir: t.TempDir(), Settings: map[string]string{"user.email": "ours"}, Isolated: true}
	for key, want := range map[string]string{"user.name": "theirs", "user.email": "ours"} {
		if got, err := c.Line(t.Context(), "config", key); err != nil || got != want {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
}

func TestFailures(t *testing.T) {
	var said []string
	c := gitcommand.Command{Dir: t.TempDir(), Progress: func(line string) { said = append(said, line) }}
	_, err := c.Output(t.Context(), "", "clone", "https://user:secret@127.0.0.1:1/none.git")
	var failed *gitcommand.Error
	if !errors.As(err, &failed) || failed.Command != "clone" || failed.Code != 128 {
		t.Fatalf("%#v", err)
	}
	if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "Cloning into") || !strings.Contains(text, "127.0.0.1") {
		t.Errorf("says %q", text)
	}
	if len(said) == 0 || !strings.HasPrefix(said[0], "Cloning into") {
		t.Errorf("has said %q on its way", said)
	}

	t.Setenv("PATH", t.TempDir())
	if _, err := c.Output(t.Context(), "", "version"); !errors.Is(err, gitcommand.ErrNotInstalled) {
		t.Errorf("without git: %v", err)
	}
}

// What hangs ends with its time, and says what has hung.
func TestLimit(t *testing.T) {
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "git"), []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	began := time.Now()
	_, err := gitcommand.Command{Limit: 50 * time.Millisecond}.Output(t.Context(), "", "fetch")
	if err == nil || !strings.Contains(err.Error(), "git fetch") || !strings.Contains(err.Error(), "50ms") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}
