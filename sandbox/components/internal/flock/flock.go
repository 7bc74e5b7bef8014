// Package flock makes processes take turns. The lock lives in the kernel and
// goes with the process that holds it, however that process ends; the file
// stays.
package flock

import (
	"context"
	"fmt"
	"os"
	"time"
)

const poll = 50 * time.Millisecond

// Lock waits until no other holder has the lock of that file, or ctx ends, and
// returns the function that gives it back. The wait function, if any, is
// called once when there is somebody to wait for.
func Lock(ctx context.Context, path string, wait func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := try(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if ok {
			return func() { f.Close() }, nil
		}
		if wait != nil {
			wait()
			wait = nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}
