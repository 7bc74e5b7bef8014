package gitea

import (
	"context"
	"fmt"
	"time"
)

const (
	settleTime = 5 * time.Second // Gitea's queues need 0.1 s; a busy machine more
	settlePace = 50 * time.Millisecond
)

// settle calls try until it does not ask for another go any more. what names
// what is waited for.
func settle(ctx context.Context, what string, try func() (again bool, err error)) error {
	deadline := time.Now().Add(settleTime)
	for {
		again, err := try()
		if !again || err == nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s: %w", settleTime, what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w, last answer: %w", what, context.Cause(ctx), err)
		case <-time.After(settlePace):
		}
	}
}
