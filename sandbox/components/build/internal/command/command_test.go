package command

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestRunKeepsTheTail(t *testing.T) {
	err := Command{Args: []string{"sh", "-c", "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; printf 'la%s' st >&2; exit 3"}}.Run(context.Background())
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("error is %v", err)
	}
	lines := strings.Split(failed.Tail, "\n")
	if len(lines) != tailLines || lines[len(lines)-1] != "last" {
		t.Errorf("tail is %q", lines)
	}
	if strings.Contains(err.Error(), "last") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error is %q", err)
	}
}

func TestOutput(t *testing.T) {
	out, err := Command{Dir: t.TempDir(), Env: []string{"X=1"}, Args: []string{"sh", "-c", "echo $X; echo noise >&2"}}.Output(context.Background())
	if err != nil || string(out) != "1\n" {
		t.Errorf("output is %q, error %v", out, err)
	}
}

func TestRunErrors(t *testing.T) {
	if err := (Command{Args: []string{"no-such-tool"}}).Run(context.Background()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("unknown tool: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (Command{Args: []string{"sleep", "9"}}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
