package actions

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// findProgram looks for a program in the PATH of an environment, which need
// not be this process's own.
func findProgram(name string, env []string) (string, bool) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, executable(name)
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && executable(path) {
			return path, true
		}
	}
	return "", false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// lookup is a variable of an environment; the last setting counts.
func lookup(env []string, name string) string {
	found := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			found = v
		}
	}
	return found
}

// runnerOS and runnerArch are what GitHub calls this machine.
func runnerOS() string {
	if runtime.GOOS == "darwin" {
		return "macOS"
	}
	return "Linux"
}

func runnerArch() string {
	switch runtime.GOARCH {
	case "amd64":
		return "X64"
	case "arm64":
		return "ARM64"
	}
	return strings.ToUpper(runtime.GOARCH)
}
