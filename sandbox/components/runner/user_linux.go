package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// startJob starts the process of a job. One that is to drop its rights gets a
// mount namespace of its own, and can gain no right by a program that it runs.
func startJob(cmd *exec.Cmd, c config) error {
	if c.User == 0 {
		return cmd.Start()
	}
	cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	started := make(chan error)
	go func() {
		// The flag belongs to a thread and is inherited. The thread is never
		// unlocked, so it ends with this function.
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// dropRights makes this process, which root has started by startJob, one of the
// user that jobs run as. Nobody but root can look into its memory then, where
// the runner's identity is: not even a step, which has the same user.
func (c config) dropRights(dir string) error {
	if c.User == 0 {
		return nil
	}
	if err := own(dir, c.User); err != nil {
		return err
	}
	for _, cache := range c.Writable {
		if err := own(cache, c.User); err != nil {
			return err
		}
	}
	if err := show(append(append([]string{dir, c.Program}, c.Writable...), c.Visible...)); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return errors.Join(os.Chdir("/"), syscall.Setgroups(nil), syscall.Setresgid(c.User, c.User, c.User), syscall.Setresuid(c.User, c.User, c.User))
}

// own makes a folder that belongs to a user, empty when it has belonged to another.
func own(dir string, user int) error {
	if info, err := os.Lstat(dir); err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == user {
		return nil
	}
	if err := removeAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Lchown(dir, user, user)
}

// show makes files and folders reachable for a user without any rights. The
// topmost folder on the way to each that keeps such a user out is covered in this
// process's mount namespace by an empty one, in which only what is to be shown
// appears. What else is in there is seen no more.
func show(paths []string) error {
	type shown struct {
		path, from string
		isDir      bool
	}
	var all []shown
	covered := map[string]bool{}
	for _, path := range paths {
		cover := closedAbove(path)
		file, err := os.OpenFile(path, unix.O_PATH, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is not made yet
		}
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if cover != "" {
			covered[cover] = true
			all = append(all, shown{path, fmt.Sprintf("/proc/self/fd/%d", file.Fd()), info.IsDir()})
		}
	}
	for cover := range covered {
		if err := unix.Mount("tmpfs", cover, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0711,size=1m"); err != nil {
			return fmt.Errorf("cover %s: %w", cover, err)
		}
	}
	defer syscall.Umask(syscall.Umask(0o066)) // others may pass
	for _, s := range all {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o777); err != nil {
			return err
		}
		var err error
		if s.isDir {
			err = os.MkdirAll(s.path, 0o700)
		} else {
			err = os.WriteFile(s.path, nil, 0o600)
		}
		if err != nil {
			return err
		}
		if err := unix.Mount(s.from, s.path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show %s: %w", s.path, err)
		}
	}
	return nil
}

// passable leaves out of a PATH what the user of jobs may not enter: a shell would
// not say that a program is missing, but that it is denied.
func (c config) passable(path string) string {
	if c.User == 0 {
		return path
	}
	folders := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return closedAbove(filepath.Join(dir, "program")) != "" })
	return strings.Join(folders, string(filepath.ListSeparator))
}

// closedAbove is the topmost folder above a path that not everybody may pass; "" if
// there is none.
func closedAbove(path string) (closed string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			closed = dir
		}
		if dir == filepath.Dir(dir) {
			return closed
		}
	}
}
