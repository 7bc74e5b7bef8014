package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

// runScript runs a shell script as a program and prints why it has been given up. It
// is for a process of its own, since it takes the exit status of all children.
func runScript(dir, script string) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	p := newProcesses()
	go p.runAll([]spec.Program{{Name: "program", Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: []string{"DIR=" + dir}}},
		map[string]*os.File{"program": log}, make(chan struct{}))
	select {
	case err := <-p.givenUp:
		fmt.Println(err)
	case <-time.After(20 * time.Second):
		fmt.Println("not given up")
	}
}

func TestProgramThatEndsBadlyAgainAndAgainIsGivenUp(t *testing.T) {
	for _, tt := range []struct{ name, end, want string }{
		{"exit code", "exit 3", `^program ended with exit code 3, 5 times in \ds; its log says last: .*wrong in line 7\n$`},
		{"signal", "kill -SEGV $$", `^program ended by signal segmentation fault, 5 times in \ds; its log says last: .*wrong in line 7\n$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, err := exec.Command(os.Args[0], "script", dir, "echo start >>$DIR/starts; echo wrong in line 7 >&2; "+tt.end).Output()
			if err != nil || !regexp.MustCompile("(?s)"+tt.want).Match(out) {
				t.Errorf("got %q, %v, want %s", out, err, tt.want)
			}
			if starts, _ := os.ReadFile(filepath.Join(dir, "starts")); len(starts) != failLimit*len("start\n") {
				t.Errorf("started as often as there are lines:\n%s", starts)
			}
		})
	}
}
