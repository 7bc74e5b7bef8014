// Package gitkit runs git for tests, without the settings of the machine and its
// user, and serves repositories over HTTP.
package gitkit

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Environment is that of git's processes; later values go before earlier ones.
func Environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@example.com")
}

// Output runs git in a folder with something to read, and returns its output.
func Output(dir, input string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, Environment(), strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return out, err
}

// Git is [Output] without the space around it.
func Git(dir, input string, args ...string) (string, error) {
	out, err := Output(dir, input, args...)
	return strings.TrimSpace(string(out)), err
}

// Run runs git in a folder and returns its output. The test ends when git fails.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	out, err := Git(dir, "", args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Handler serves the repositories below a folder by git's own program, which
// lets everyone read and push. A request for x finds the repository x.git, too.
func Handler(tb interface{ Skip(args ...any) }, root string) http.Handler {
	programs, err := Git("", "", "--exec-path")
	if err != nil {
		tb.Skip("there is no git to serve repositories with")
	}
	return &cgi.Handler{Path: filepath.Join(programs, "git-http-backend"), Env: []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}}
}
