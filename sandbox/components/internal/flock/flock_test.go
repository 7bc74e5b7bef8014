package flock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(context.Background(), path, func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
		t.Errorf("second holder: error %v after %d waits", err, waited)
	}
	unlock()
	unlock, err = Lock(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
