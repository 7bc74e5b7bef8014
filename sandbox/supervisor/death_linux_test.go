package supervisor

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain lets the test binary play a supervisor that will be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KALYPSO_TEST_SUPERVISE"); dir != "" {
		p := &Process{Name: "p", Path: "/bin/sleep", Argv: []string{"sleep", "100"}, Dir: dir, Log: dir + "/log", Registry: dir}
		err := p.Start(context.Background())
		if err == nil && os.Getenv("KALYPSO_TEST_FREEZE") != "" {
			_, err = Freeze(context.Background(), []int{p.PID()})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		<-p.Exited()
		return
	}
	os.Exit(m.Run())
}

func TestChildrenDieWithTheirSupervisor(t *testing.T) {
	for name, freeze := range map[string]string{"running": "", "frozen": "1"} {
		t.Run(name, func(t *testing.T) { childrenDie(t, "KALYPSO_TEST_FREEZE="+freeze) })
	}
}

func childrenDie(t *testing.T, setting string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "KALYPSO_TEST_SUPERVISE="+t.TempDir(), setting)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Sscan(line, &child); err != nil {
		t.Fatal(err)
	}
	if _, err := startTime(child); err != nil {
		t.Fatal("the child does not run:", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 500 {
		if _, err := startTime(child); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the child outlived its supervisor")
}
