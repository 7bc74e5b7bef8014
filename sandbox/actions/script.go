package actions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/sandbox/actions/expression"
)

// script runs the step's own script.
func (e *execution) script(ctx context.Context, i int, s Step, sight expression.Env, env []string) error {
	text, err := expression.Interpolate(s.Run, sight)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	dir, err := expression.Interpolate(or(s.WorkingDirectory, e.job.Defaults.WorkingDirectory), sight)
	if err != nil {
		return fmt.Errorf("working-directory: %w", err)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.folders.Work, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("working-directory: there is no folder %s", dir)
	}
	shell, err := expression.Interpolate(or(s.Shell, e.job.Defaults.Shell), sight)
	if err != nil {
		return fmt.Errorf("shell: %w", err)
	}
	script := filepath.Join(e.folders.Files, strconv.Itoa(i)+".script")
	argv, err := shellCommand(shell, script, func(program string) bool { _, ok := findProgram(program, env); return ok })
	if err != nil {
		return err
	}
	if err := os.WriteFile(script, []byte(text+"\n"), 0o700); err != nil {
		return err
	}
	e.say("::group::Run %s", s.Title())
	e.say("%s", strings.TrimRight(text, "\n"))
	e.say("shell: %s", strings.Join(argv, " "))
	e.say("::endgroup::")
	return e.command(ctx, command{Argv: argv, Env: env, Dir: dir})
}

// command runs a process of the step to its end.
func (e *execution) command(ctx context.Context, c command) error {
	// what is killed must not wait for a forge that takes no lines
	unhook := context.AfterFunc(ctx, e.tell.hurry)
	defer unhook()
	code, err := e.keeper.run(ctx, c, func() grace {
		if errors.Is(context.Cause(ctx), errStopped) {
			return shortGrace
		}
		return e.wait
	})
	switch {
	case err != nil:
		return err
	case code > codeKilled:
		return fmt.Errorf("the process has been ended by signal %d", code-codeKilled)
	case code != 0:
		return fmt.Errorf("Process completed with exit code %d.", code)
	}
	return nil
}
