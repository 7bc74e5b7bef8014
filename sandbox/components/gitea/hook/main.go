// Command hook is what git runs in Gitea's repositories before and after a
// push. It says the same to Gitea as Gitea's own hook command, and starts in
// three milliseconds where that one takes a hundred and fifty, twice per push:
// all of Gitea's packages set themselves up before its main function begins.
//
// Gitea is started under this program's name, so that it writes this name into
// the repositories. Whatever is not a plain hook is passed on to Gitea.
//
// The protocol is that between Gitea's cmd/hook.go and its internal API
// (routers/private), of the version that go.mod names.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// settings lie beside this program, as NAME.json.
type settings struct {
	URL   string `json:"url"`   // Gitea's own address, with a slash at the end
	Token string `json:"token"` // INTERNAL_TOKEN
	Gitea string `json:"gitea"` // the program that knows everything else
}

func main() {
	s, err := load(os.Args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	run, ok := handler(os.Args)
	if !ok {
		err := syscall.Exec(s.Gitea, append([]string{s.Gitea}, os.Args[1:]...), os.Environ())
		fmt.Fprintln(os.Stderr, "error: start Gitea:", err)
		os.Exit(1)
	}
	if err := run(hook{settings: s, env: os.Getenv, in: os.Stdin, talk: os.Stderr}); err != nil {
		// without output, git may miss the exit status
		fmt.Println()
		fmt.Fprintf(os.Stderr, "error:\nerror: %v\nerror:\n", err)
		os.Exit(1)
	}
}

func load(program string) (settings, error) {
	var s settings
	if !strings.ContainsRune(program, filepath.Separator) {
		found, err := exec.LookPath(program)
		if err != nil {
			return s, err
		}
		program = found
	}
	b, err := os.ReadFile(program + ".json")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s.json: %w", program, err)
	}
	return s, nil
}

// handler returns what to do for `hook --config=FILE NAME ARGS...`, and false
// where only Gitea knows: other commands, pushes that Gitea did not begin, and
// pushes with options.
func handler(args []string) (func(hook) error, bool) {
	if len(args) < 4 || args[1] != "hook" || !strings.HasPrefix(args[2], "--config=") {
		return nil, false
	}
	if internal() {
		switch args[3] {
		case "pre-receive", "update":
			return func(hook) error { return nil }, true
		case "post-receive":
			return func(hook) error { return updateServerInfo() }, true
		}
		return nil, false
	}
	if os.Getenv("SSH_ORIGINAL_COMMAND") == "" || os.Getenv("GIT_PUSH_OPTION_COUNT") != "" && os.Getenv("GIT_PUSH_OPTION_COUNT") != "0" {
		return nil, false
	}
	switch args[3] {
	case "pre-receive":
		return hook.preReceive, true
	case "update":
		ref := args[len(args)-3]
		return func(hook) error { return update(ref) }, len(args) >= 7
	case "post-receive":
		return hook.postReceive, true
	}
	return nil, false
}

// internal reports whether Gitea itself pushes, as it does for a merge.
func internal() bool {
	switch os.Getenv("GITEA_INTERNAL_PUSH") {
	case "1", "t", "T", "true", "TRUE", "True":
		return true
	}
	return false
}

// update refuses the refs that Gitea keeps for pull requests. All else has
// been decided before.
func update(ref string) error {
	if strings.HasPrefix(ref, "refs/pull/") {
		return fmt.Errorf("%s belongs to a pull request", ref)
	}
	return nil
}

// updateServerInfo is for clients that know only plain http.
func updateServerInfo() error {
	out, err := exec.Command("git", "update-server-info").CombinedOutput()
	if err != nil {
		return fmt.Errorf("git update-server-info: %w: %s", err, out)
	}
	return nil
}
