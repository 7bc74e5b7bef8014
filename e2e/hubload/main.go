// Command hubload fills a hub's store with a large fleet and its history, and measures how fast a
// hub with it answers while the fleet changes. The hub is a process of its own, which also writes
// what the fleet does, as a hub's collector would:
//
//	go run ./e2e/hubload -clusters 1000 -types 50 -targets 100 -events 1000000 -sqlite /tmp/hub.db -measure 30s
//
// A store that was filled before is measured as it is, with the flags that it was filled with. With -serve it only serves the store,
// and prints a URL that lets a browser in, and a token.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
	serves := flag.Bool("serve", false, "serve what is there, and write transitions until the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *serves {
		err = serve(ctx, o, size, *events, *rate)
	} else {
		err = run(ctx, o, size, *events, *measured, *rate)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hubload:", err)
		os.Exit(1)
	}
}

const (
	// slice is how many placements change in one round while the store is filled.
	slice = 20_000
	// changes is how many there are, each on all clusters of prod.
	changes = 100
)

func run(ctx context.Context, o store.Options, size fleetSize, events int, measured time.Duration, rate int) error {
	f := newFleet(size)
	if err := prepare(ctx, o, f, events); err != nil || measured == 0 {
		return err
	}
	for _, rate := range []int{0, rate} {
		fmt.Printf("\nwhile %d transitions a second are written\n", rate)
		if err := withServer(ctx, o, size, events, rate, func(s server) error { return measure(ctx, s.address, queries(f, s.token, s.teamToken), measured) }); err != nil {
			return err
		}
	}
	return nil
}

// prepare fills a store that is empty, and looks whether one that is not has the fleet.
func prepare(ctx context.Context, o store.Options, f *fleet, events int) error {
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Placements(ctx, store.Scope{}, store.PlacementFilter{}, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	if list.Total == 0 {
		if err := fill(ctx, s, f, events); err != nil {
			return err
		}
	} else if list.Total != f.size.placements() {
		return fmt.Errorf("the store has %d placements, and this fleet would have %d: give another file, or the numbers that it was filled with", list.Total, f.size.placements())
	}
	bytes, err := s.Size(ctx)
	fmt.Printf("%d clusters, %d placements, %d MiB\n", f.size.clusters, f.size.placements(), bytes>>20)
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
		if _, err := s.Apply(ctx, f.round()); err != nil {
			return err
		}
		done += min(slice, events-done)
	}
	fmt.Printf("%d transitions in %s\n", done, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	for n := range changes {
		if _, err := s.Apply(ctx, store.Round{At: f.at, Changes: []store.Change{f.merged(n + 1)}}); err != nil {
			return err
		}
	}
	fmt.Printf("%d changes in %s\n", changes, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	for _, environment := range environments {
		for _, part := range []store.HistoryPart{f.desired(environment), f.releases(environment)} {
			if err := s.ApplyHistory(ctx, part); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d assignments of %d environments in %s\n", len(environments)*f.size.types*f.size.targets, len(environments), time.Since(began).Round(time.Millisecond))
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
