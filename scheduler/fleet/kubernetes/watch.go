package kubernetes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/argocd"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

const (
	firstRetry, lastRetry = time.Second, 15 * time.Second
	// absentRetry is when a kind is watched again that the cluster does not have: Flux, or
	// Argo CD, may be installed later.
	absentRetry = time.Minute
)

// errEnded is about a watch that ended when it had begun.
var errEnded = errors.New("the watch ended at once")

// watched are the kinds that a look reads.
var watched = []schema.GroupVersionResource{flux.Repositories, flux.Kustomizations, argocd.Applications}

// Watch implements fleet.Member: one watch for each kind, of names and versions alone, and
// nothing is kept of what comes. A watch that ends begins again with all that there is, so that
// what has happened in between is reported, too.
func (c Cluster) Watch(ctx context.Context, changed func(connected bool)) {
	var mu sync.Mutex
	up := map[schema.GroupVersionResource]bool{}
	report := func(kind schema.GroupVersionResource, connected bool) {
		mu.Lock()
		up[kind] = connected
		all := true
		for _, k := range watched {
			all = all && up[k]
		}
		mu.Unlock()
		changed(all)
	}
	var running sync.WaitGroup
	for _, kind := range watched {
		running.Go(func() { c.follow(ctx, kind, func(connected bool) { report(kind, connected) }) })
	}
	running.Wait()
}

// follow watches a kind again and again until ctx ends.
func (c Cluster) follow(ctx context.Context, kind schema.GroupVersionResource, report func(connected bool)) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstRetry, MaxInterval: lastRetry, Multiplier: backoff.DefaultMultiplier, RandomizationFactor: backoff.DefaultRandomizationFactor}
	pauses.Reset()
	absent := false
	for {
		began := time.Now()
		err := c.watch(ctx, kind, report)
		if ctx.Err() != nil {
			return
		}
		var pause time.Duration
		switch {
		case apierrors.IsNotFound(err):
			pause = absentRetry
			if !absent {
				report(true) // there is nothing of it to be told about
			}
		case err != nil:
			if time.Since(began) > lastRetry {
				pauses.Reset()
			}
			pause = pauses.NextBackOff()
			report(false)
		}
		absent = apierrors.IsNotFound(err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// watch watches a kind until the server ends that, as it does after a time, which is no error.
func (c Cluster) watch(ctx context.Context, kind schema.GroupVersionResource, report func(connected bool)) error {
	events, err := c.names.Resource(kind).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer events.Stop()
	began := time.Now()
	report(true)
	for e := range events.ResultChan() {
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		report(true)
	}
	if time.Since(began) < firstRetry {
		return errEnded // a proxy may end all of them at once
	}
	return nil
}
