package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// system is the node's control group for what is not a pod. Its processes may
// not lie in the group above: with version 2 a group holds processes or groups.
const system = "system"

// a hierarchy is one mounted tree of control groups.
type hierarchy struct {
	root string
	// joins says whether the node's processes are put into it, which is how
	// they are found again; limits they get only as pods.
	joins bool
}

type hierarchies []hierarchy

func findCgroups() (hierarchies, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, err
	}
	return parseCgroups(string(mounts)), nil
}

func parseCgroups(mounts string) hierarchies {
	var all hierarchies
	seen := map[string]bool{}
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 4 || seen[f[1]] || !strings.HasPrefix(f[1], "/sys/fs/cgroup") {
			continue
		}
		switch f[2] {
		case "cgroup2":
			// beside version 1 it holds no controllers and is left alone
			if f[1] == "/sys/fs/cgroup" {
				all = append(all, hierarchy{f[1], true})
			}
		case "cgroup":
			options := "," + f[3] + ","
			joins := strings.Contains(options, ",memory,") || strings.Contains(options, ",pids,") || strings.Contains(options, ",name=systemd,")
			all = append(all, hierarchy{f[1], joins})
		default:
			continue
		}
		seen[f[1]] = true
	}
	return all
}

// make makes the group in every hierarchy and puts this process into it.
func (all hierarchies) make(group string) error {
	for _, h := range all {
		dir := h.root
		for _, part := range strings.Split(filepath.Join(group, system), "/") {
			parent := dir
			dir = filepath.Join(dir, part)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			// version 1: a group without processors takes no process
			for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
				if own, err := os.ReadFile(filepath.Join(dir, f)); err != nil || strings.TrimSpace(string(own)) != "" {
					continue
				}
				if above, err := os.ReadFile(filepath.Join(parent, f)); err == nil {
					_ = os.WriteFile(filepath.Join(dir, f), above, 0o644)
				}
			}
		}
		if !h.joins {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// remove leaves the group and removes it with all below it. Groups that are
// not empty yet are tried again for a moment; what is left then is removed
// when the daemon cleans up.
func (all hierarchies) remove(group string) {
	for _, h := range all {
		if h.joins {
			_ = os.WriteFile(filepath.Join(h.root, "cgroup.procs"), []byte("0"), 0o644)
		}
		top := filepath.Join(h.root, group)
		for deadline := time.Now().Add(groupLimit); ; time.Sleep(filePoll) {
			removeGroups(top)
			if _, err := os.Stat(top); errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
				break
			}
		}
		// the sandbox's own group, when this was its last node
		_ = syscall.Rmdir(filepath.Dir(top))
	}
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
