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

const name = "source-controller"

// Retries start soon and stay frequent: the forge is on the same machine, and
// a person is waiting.
const (
	minRetry        = 250 * time.Millisecond
	maxRetry        = 30 * time.Second
	dependencyRetry = 2 * time.Second
)

// SetUp adds the reconciler of GitRepository to mgr.
func SetUp(mgr ctrl.Manager, storage *artifactstorage.Storage, rec *metrics.Recorder) error {
	if err := (&gates.FeatureGates{}).SupportedFeatures(features.FeatureGates()); err != nil {
		return err
	}
	recorder, err := events.NewRecorder(mgr, ctrl.Log, "", name)
	if err != nil {
		return err
	}
	return (&controller.GitRepositoryReconciler{
		Client:         mgr.GetClient(),
		EventRecorder:  recorder,
		Metrics:        helper.NewMetrics(mgr, rec, sourcev1.SourceFinalizer),
		Storage:        storage,
		ControllerName: name,
	}).SetupWithManager(mgr, controller.GitRepositoryReconcilerOptions{
		DependencyRequeueInterval: dependencyRetry,
		RateLimiter:               helper.GetRateLimiter(helper.RateLimiterOptions{MinRetryDelay: minRetry, MaxRetryDelay: maxRetry}),
	})
}
