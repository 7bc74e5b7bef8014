// Package embed sets up source-controller's GitRepository reconciler. Its
// import path lies below source-controller's, which is what makes the internal
// packages there reachable.
package embed

import (
	"time"

	artifactstorage "github.com/fluxcd/pkg/artifact/storage"
	helper "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	gates "github.com/fluxcd/pkg/runtime/features"
	"github.com/fluxcd/pkg/runtime/metrics"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/fluxcd/source-controller/internal/controller"
	"github.com/fluxcd/source-controller/internal/features"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	name = "source-controller"

	eventTime = time.Second
)

// Options are what upstream's main takes as flags.
type Options struct {
	EventsAddr string // of the events' receiver, none when empty
	// EventsOnce posts each event once, and soon gives up: a reconcile waits for that, and
	// upstream tries for many seconds. Who receives them finds by looking what was lost.
	EventsOnce      bool
	Gates           gates.FeatureGates
	Retry           helper.RateLimiterOptions
	DependencyRetry time.Duration
}

// SetUp adds the reconciler of GitRepository to mgr.
func SetUp(mgr ctrl.Manager, storage *artifactstorage.Storage, rec *metrics.Recorder, o Options) error {
	if err := o.Gates.SupportedFeatures(features.FeatureGates()); err != nil {
		return err
	}
	recorder, err := events.NewRecorder(mgr, ctrl.Log, o.EventsAddr, name)
	if err != nil {
		return err
	}
	if o.EventsOnce {
		recorder.Client.RetryMax, recorder.Client.HTTPClient.Timeout = 0, eventTime
	}
	return (&controller.GitRepositoryReconciler{
		Client:         mgr.GetClient(),
		EventRecorder:  recorder,
		Metrics:        helper.NewMetrics(mgr, rec, sourcev1.SourceFinalizer),
		Storage:        storage,
		ControllerName: name,
	}).SetupWithManager(mgr, controller.GitRepositoryReconcilerOptions{
		DependencyRequeueInterval: o.DependencyRetry,
		RateLimiter:               helper.GetRateLimiter(o.Retry),
	})
}
