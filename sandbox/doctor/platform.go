package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// checkPlatform asks what kind of machine this is.
func checkPlatform(ctx context.Context, sys *System, _ *Subject) Finding {
	found := []string{sys.OS + "/" + sys.Arch}
	switch sys.OS {
	case "linux":
		if release := strings.TrimSpace(sys.read("/proc/sys/kernel/osrelease")); release != "" {
			found = append(found, "kernel "+release)
		}
		if name := sys.distribution(); name != "" {
			found = append(found, name)
		}
	case "darwin":
		if version, err := sys.Run(ctx, "sw_vers", "-productVersion"); err == nil {
			found = append(found, "macOS "+version)
		}
	}
	found = append(found, counted(sys.CPUs, "core"))
	text := strings.Join(found, ", ")
	switch {
	case !slices.Contains([]string{"linux", "darwin"}, sys.OS) || !slices.Contains([]string{"amd64", "arm64"}, sys.Arch):
		return warning(text, "kalypso has never been tried here", "use Linux or macOS on amd64 or arm64")
	case sys.OS != "linux":
		return note(text, realPods, "")
	}
	return ok("%s", text)
}

// distribution reads os-release(5).
func (s *System) distribution() string {
	for line := range strings.Lines(s.read("/etc/os-release")) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(name), `"'`)
		}
	}
	return ""
}

// checkUser asks who this is. Only real nodes need root.
func checkUser(_ context.Context, sys *System, _ *Subject) Finding {
	if sys.UID == 0 {
		return ok("root")
	}
	return note(sys.User+", not root", realPods, "")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
