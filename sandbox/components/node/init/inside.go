package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kalypso-dev/kalypso/sandbox/components/node/spec"
)

// runInside is process 1 of the node.
func runInside(s spec.Spec) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	if err := syscall.Sethostname([]byte(s.Hostname)); err != nil {
		return fmt.Errorf("hostname: %w", err)
	}
	logs, err := openLogs(s.Programs)
	if err != nil {
		return err
	}
	if err := makeRoot(s); err != nil {
		return fmt.Errorf("root of the node: %w", err)
	}
	if err := makeNetwork(s); err != nil {
		return fmt.Errorf("network of the node: %w", err)
	}
	if err := serveNode(s); err != nil {
		return err
	}
	p := newProcesses()
	stop := make(chan struct{})
	go p.runAll(s.Programs, logs, stop)
	select {
	case <-asked:
	case err = <-p.givenUp:
		err = errors.Join(err, os.WriteFile(filepath.Join(s.Dir, spec.GivenUp), []byte(err.Error()), 0o600))
	}
	close(stop)
	p.end()
	return err
}

// openLogs opens them while the machine's own paths are still there.
func openLogs(programs []spec.Program) (map[string]*os.File, error) {
	logs := map[string]*os.File{}
	for _, p := range programs {
		f, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		logs[p.Name] = f
	}
	return logs, nil
}
