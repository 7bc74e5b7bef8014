package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/argoproj/argo-cd/v3/util/askpass"
	"github.com/argoproj/argo-cd/v3/util/git"
)

// maxSocketPath is what the systems take for a unix socket's path.
const maxSocketPath = 100

// startAskpass serves passwords to the helpers that git starts, at a unix
// socket in a folder that nobody else can enter.
func startAskpass(dir string) (git.CredsStore, error) {
	path, err := socketPath(filepath.Join(dir, "tmp"), "askpass.sock")
	if err != nil {
		return nil, err
	}
	server := askpass.NewServer(path)
	if err := server.Run(); err != nil {
		return nil, fmt.Errorf("serve passwords to git: %w", err)
	}
	return server, nil
}

// socketPath is a path of a socket in dir, the working folder, that is short
// enough for any dir. On Linux it names the folder through this process, so
// that nothing lies outside of it that a killed process would leave behind.
func socketPath(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if len(path) <= maxSocketPath {
		return path, nil
	}
	if runtime.GOOS == "linux" {
		return fmt.Sprintf("/proc/%d/cwd/%s", os.Getpid(), name), nil
	}
	short, err := os.MkdirTemp("/tmp", "argocd-")
	return filepath.Join(short, name), err
}
