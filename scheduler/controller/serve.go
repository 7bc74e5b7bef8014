package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// shutdownTime is how long open requests may take when a scheduler stops.
	shutdownTime = 5 * time.Second
	// stopTime is how long all that it does may take then. A run ends at its next
	// call or assignment, and does not keep the process when it does not.
	stopTime = 2 * shutdownTime
)

// memoryLimit is where the garbage collector begins to work for memory instead
// of time, in bytes: 512 MiB, and what a forge keeps of what it has read.
const memoryLimit = (512 + 128) << 20

// Serve runs a scheduler until ctx ends: a Controller for each control plane, and
// a server with their Server. It returns nil when it stopped because ctx ended.
func Serve(ctx context.Context, config Config, log *slog.Logger) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	d, err := config.server(log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.listen())
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	log.Info("scheduler listens", "address", listener.Addr().String())
	server := &http.Server{
		Handler: d.Handler(), ReadTimeout: 30 * time.Second, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("scheduler: %w", err)
		}
		return nil
	})
	for _, w := range d.controllers {
		group.Go(func() error { return w.Run(running) })
	}
	group.Go(func() error {
		<-running.Done()
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		if err := server.Shutdown(deadline); err != nil {
			return fmt.Errorf("scheduler: closing open requests: %w", err)
		}
		return nil
	})
	err = awaited(running, group.Wait, log)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// awaited returns what wait returns, or why ctx has ended where wait takes too
// long after that.
func awaited(ctx context.Context, wait func() error, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(stopTime):
		log.Warn("stopping without what has not ended", "after", stopTime)
		return context.Cause(ctx)
	}
}
