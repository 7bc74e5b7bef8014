package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "run" {
		main()
	}
	if len(os.Args) == 4 && os.Args[1] == "script" {
		runScript(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestUmaskOfTheShellDoesNotReachPods(t *testing.T) {
	for _, inherited := range []int{0o002, 0o022, 0o027, 0o077} {
		// the program waits at its specification until someone writes it
		fifo := filepath.Join(t.TempDir(), "spec")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		before := syscall.Umask(inherited)
		cmd := exec.Command(os.Args[0], "run", fifo)
		err := cmd.Start()
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		spec.Close()
		if err := cmd.Wait(); err == nil {
			t.Error("an empty specification is accepted")
		}
		if !regexp.MustCompile(`(?m)^Umask:\s+0022$`).Match(status) {
			t.Errorf("umask %03o: the node's status is\n%s", inherited, status)
		}
	}
}
