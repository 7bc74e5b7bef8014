package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

// killAfter is how long the node may take to end when it is asked to.
const killAfter = 5 * time.Second

// runOutside makes the control groups, joins them, serves the node's calls of
// the machine, and starts the inside. It returns when all inside has ended.
func runOutside(s spec.Spec, file string) error {
	groups, err := findCgroups()
	if err != nil {
		return err
	}
	if err := groups.make(s.Cgroup); err != nil {
		return fmt.Errorf("control groups: %w", err)
	}
	defer groups.remove(s.Cgroup)
	if err := serveMachine(s); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	inside := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"init", "inside", file},
		Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ(),
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
			Pdeathsig:  syscall.SIGKILL,
		},
	}
	if err := inside.Start(); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- inside.Wait() }()
	select {
	case err = <-ended:
		return fmt.Errorf("the node's first process ended: %w", orEnded(err))
	case <-asked:
	}
	_ = inside.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(killAfter):
		_ = inside.Process.Kill()
		<-ended
	}
	return nil
}

func orEnded(err error) error {
	if err == nil {
		return fmt.Errorf("by itself")
	}
	return err
}
