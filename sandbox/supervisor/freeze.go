package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/kalypso-dev/kalypso/internal/posix"
	"github.com/kalypso-dev/kalypso/internal/retry"
)

// freezeLimit is how long processes may take to stop: what waits for a
// disk stops only when the disk has answered.
const freezeLimit = 3 * time.Second

// Freeze stops processes, with all that they have started, by SIGSTOP, and
// returns when none of them runs any more. What they have on disk is then what
// a kill at this moment would leave.
//
// The caller must call thaw, and soon: their clients wait. It may be called
// more than once. Children of this process that are frozen when it is killed
// die with it as they always do, and so do those of theirs that lead a group
// of their own: the system hangs up on stopped groups that nobody is left to
// wake. A process that has cut itself off from its parents is not found.
func Freeze(ctx context.Context, pids []int) (thaw func(), err error) {
	var frozen []int
	thaw = func() {
		// children first, so that no parent gets a SIGCHLD for a stopped child
		for _, pid := range slices.Backward(frozen) {
			_ = posix.Kill(pid, posix.SIGCONT)
		}
	}
	next := slices.Clone(pids)
	for len(next) > 0 {
		for _, pid := range next {
			err := posix.Kill(pid, posix.SIGSTOP)
			if errors.Is(err, syscall.ESRCH) {
				continue
			}
			if err != nil {
				thaw()
				return nil, fmt.Errorf("freeze process %d: %w", pid, err)
			}
			frozen = append(frozen, pid)
		}
		err := retry.Until(ctx, "stop of all processes", freezeLimit, func(context.Context) error { return allStopped(frozen) })
		if err != nil {
			thaw()
			return nil, err
		}
		// a stopped process starts none: once no new ones are found there are none
		if next, err = offspring(frozen); err != nil {
			thaw()
			return nil, err
		}
	}
	return thaw, nil
}

// allStopped returns an error that names a process that runs.
func allStopped(pids []int) error {
	for _, pid := range pids {
		stopped, err := isStopped(pid)
		if err != nil {
			return err
		}
		if !stopped {
			return fmt.Errorf("process %d still runs", pid)
		}
	}
	return nil
}

// offspring are the children of processes that are not among these.
func offspring(of []int) ([]int, error) {
	parents, err := parentsOfAll()
	if err != nil {
		return nil, err
	}
	var all []int
	for pid, parent := range parents {
		if slices.Contains(of, parent) && !slices.Contains(of, pid) {
			all = append(all, pid)
		}
	}
	return all, nil
}
