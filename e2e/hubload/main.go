// Command hubload fills a hub's store with a large fleet and its history, and measures how fast
// it answers while the fleet changes:
//
//	go run ./e2e/hubload -clusters 1000 -types 50 -targets 100 -events 1000000 -sqlite /tmp/hub.db -measure 30s
//
// A store that has placements already is measured as it is.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/kalypso-dev/kalypso/hub/store"
)

func main() {
	var o store.Options
	var size fleetSize
	flag.StringVar(&o.SQLite, "sqlite", "", "the file of the store")
	flag.StringVar(&o.Postgres, "postgres", "", "or the URL of the store")
	flag.IntVar(&size.clusters, "clusters", 1000, "how many clusters")
	flag.IntVar(&size.types, "types", 50, "how many cluster types")
	flag.IntVar(&size.targets, "targets", 100, "how many deployment targets each cluster has")
	events := flag.Int("events", 0, "how many transitions to write besides the first of each placement")
	measured := flag.Duration("measure", 0, "how long to measure the queries, once at rest and once with a writer")
	rate := flag.Int("rate", 500, "how many transitions a second the writer writes")
	flag.Parse()
	if err := run(context.Background(), o, size, *events, *measured, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "hubload:", err)
		os.Exit(1)
	}
}

// slice is how many placements change in one round while the store is filled.
const slice = 20_000

func run(ctx context.Context, o store.Options, size fleetSize, events int, measured time.Duration, rate int) error {
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Placements(ctx, store.Scope{}, store.PlacementFilter{}, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	f := newFleet(size, time.Now().Add(-24*time.Hour))
	if list.Total == 0 {
		if err := fill(ctx, s, f, events); err != nil {
			return err
		}
	} else if list.Total != size.placements() {
		return fmt.Errorf("the store has %d placements, and this fleet would have %d: give another file, or the numbers that it was filled with", list.Total, size.placements())
	}
	bytes, err := s.Size(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d clusters, %d placements, %d MiB\n", size.clusters, size.placements(), bytes>>20)
	if measured == 0 {
		return nil
	}
	all := queries(s, f)
	fmt.Println("\nat rest")
	if err := measure(ctx, all, measured); err != nil {
		return err
	}
	writing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- play(writing, s, f, rate) }()
	fmt.Printf("\nwhile %d transitions a second are written\n", rate)
	err = measure(ctx, all, measured)
	stop()
	if writeErr := <-ended; err == nil {
		err = writeErr
	}
	fmt.Println("\nmost memory:", memory())
	return err
}

// fill writes the fleet, and transitions in slices.
func fill(ctx context.Context, s *store.Store, f *fleet, events int) error {
	began := time.Now()
	changed, err := s.Apply(ctx, f.round())
	if err != nil {
		return err
	}
	fmt.Printf("%d placements in %s\n", changed, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	done := 0
	for done < events {
		f.change(min(slice, events-done))
		n, err := s.Apply(ctx, f.round())
		if err != nil {
			return err
		}
		done += n
	}
	fmt.Printf("%d transitions in %s\n", done, time.Since(began).Round(time.Millisecond))
	// what a hub does once a day: it lets the engine look at what there is
	return s.Prune(ctx, f.at, store.Retention{})
}

// play writes transitions every second until the end.
func play(ctx context.Context, s *store.Store, f *fleet, rate int) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		f.change(rate)
		if _, err := s.Apply(ctx, f.round()); err != nil && ctx.Err() == nil {
			return err
		}
	}
}
