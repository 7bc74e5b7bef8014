package supervisor

import (
	"os/exec"
	"runtime"
	"sync"
)

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

var spawner = sync.OnceValue(func() chan<- spawnRequest {
	requests := make(chan spawnRequest)
	go func() {
		// On Linux the parent-death signal is sent when the THREAD that forked
		// ends, not the process. The Go runtime ends threads as it likes, so all
		// children come from one that is never given back.
		runtime.LockOSThread()
		for r := range requests {
			r.done <- r.cmd.Start()
		}
	}()
	return requests
})

// spawn starts a command so that it dies with this process.
func spawn(cmd *exec.Cmd) error {
	r := spawnRequest{cmd, make(chan error, 1)}
	spawner() <- r
	return <-r.done
}

// RunCommand runs a short command that dies with this process, and waits.
func RunCommand(cmd *exec.Cmd) error {
	if err := StartCommand(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// StartCommand starts a command that dies with this process. Whoever calls it
// waits for the command.
func StartCommand(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttributes()
	return spawn(cmd)
}
