package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

const cleanLimit = 10 * time.Second

// Cgroup is the name of a node's control groups. It follows from the folder
// alone, so that they are found when nothing else is known any more. All nodes
// of a machine have distinct folders.
func Cgroup(dir string) string {
	s := sha256.Sum256([]byte(dir))
	return "kalypso-node/" + hex.EncodeToString(s[:6])
}

// Leftovers lists what is there of the node in dir: processes, mounts that the
// machine sees, and control groups. While the node runs that is the node
// itself; after its end, and after [Clean], it is nothing.
//
// Interfaces, firewall rules and the mounts of pods are not listed since they
// cannot be left: the kernel ends them with the last of the processes.
func Leftovers(dir string) ([]string, error) {
	group := Cgroup(dir)
	var all []string
	pids, err := processes(group)
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		all = append(all, fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(name))))
	}
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	for _, m := range mountsBelow(mounts, dir) {
		all = append(all, "mount "+m)
	}
	for _, root := range cgroupRoots(mounts) {
		if _, err := os.Stat(filepath.Join(root, group)); err == nil {
			all = append(all, "control group "+filepath.Join(root, group))
		}
	}
	return all, nil
}

// Clean ends and removes what [Leftovers] lists, and nothing else. It is for a
// node whose supervisor did not live to stop it; one that runs it kills.
func Clean(ctx context.Context, dir string) error {
	group := Cgroup(dir)
	return retry.Until(ctx, "removal of what is left of the node in "+dir, cleanLimit, func(context.Context) error {
		pids, err := processes(group)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			// its group is read again just before: a process ID may have passed on
			if belongs(pid, group) {
				_ = posix.Kill(pid, syscall.SIGKILL)
			}
		}
		mounts, err := readMounts()
		if err != nil {
			return err
		}
		for _, m := range mountsBelow(mounts, dir) {
			if err := unmount(m); err != nil {
				return fmt.Errorf("unmount %s: %w", m, err)
			}
		}
		for _, root := range cgroupRoots(mounts) {
			removeGroups(filepath.Join(root, group))
			// the group above is of all sandboxes: it goes with the last node
			_ = syscall.Rmdir(filepath.Dir(filepath.Join(root, group)))
		}
		left, err := Leftovers(dir)
		if err == nil && len(left) > 0 {
			err = errors.New("still there: " + strings.Join(left, ", "))
		}
		return err
	})
}

// processes are those in a control group or one below it, on this machine as
// this process sees it.
func processes(group string) ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err == nil && belongs(pid, group) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

func belongs(pid int, group string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && inGroup(string(b), group) && !zombie(pid)
}

// zombie reports whether only a process's exit status is left: it is its
// parent's to take, and nothing can be done about it.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	return strings.HasPrefix(rest, "Z")
}

// inGroup reads the content of a file /proc/ID/cgroup.
func inGroup(content, group string) bool {
	for line := range strings.Lines(content) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && (parts[2] == "/"+group || strings.HasPrefix(parts[2], "/"+group+"/")) {
			return true
		}
	}
	return false
}

type mountPoint struct{ path, kind string }

func readMounts() ([]mountPoint, error) {
	b, err := os.ReadFile("/proc/self/mounts")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no Linux, no node
	}
	if err != nil {
		return nil, err
	}
	return parseMounts(string(b)), nil
}

func parseMounts(content string) []mountPoint {
	var all []mountPoint
	for line := range strings.Lines(content) {
		if f := strings.Fields(line); len(f) >= 3 {
			all = append(all, mountPoint{unescape(f[1]), f[2]})
		}
	}
	return all
}

// unescape undoes what the kernel does to blanks, in octal.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// mountsBelow are the mounts in a folder, the innermost first.
func mountsBelow(mounts []mountPoint, dir string) []string {
	var below []string
	for _, m := range mounts {
		if strings.HasPrefix(m.path, dir+"/") {
			below = append(below, m.path)
		}
	}
	slices.SortStableFunc(below, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(b, a))
	})
	return below
}

// cgroupRoots are where the trees of control groups are mounted.
func cgroupRoots(mounts []mountPoint) []string {
	var roots []string
	for _, m := range mounts {
		if strings.HasPrefix(m.path, "/sys/fs/cgroup") && (m.kind == "cgroup" || m.kind == "cgroup2") && !slices.Contains(roots, m.path) {
			roots = append(roots, m.path)
		}
	}
	return roots
}

func removeGroups(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	_ = syscall.Rmdir(dir)
}
