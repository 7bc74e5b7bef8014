// Package embed sets up kustomize-controller's Kustomization reconciler. Its
// import path lies below kustomize-controller's, which is what makes the
// internal packages there reachable.
package embed

import (
	"context"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/clusterreader"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/kustomize-controller/internal/controller"
	"github.com/fluxcd/kustomize-controller/internal/features"
	"github.com/fluxcd/pkg/apis/meta"
	runtimeclient "github.com/fluxcd/pkg/runtime/client"
	helper "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	gates "github.com/fluxcd/pkg/runtime/features"
	"github.com/fluxcd/pkg/runtime/metrics"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	name = "kustomize-controller"

	purgeLimit = 2 * time.Minute
	eventTime  = time.Second
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
	// WatchConfigs selects the ConfigMaps and Secrets whose changes count at
	// once; upstream's label when empty.
	WatchConfigs string
	// CancelHealthChecks gives up a health check in progress for a newer
	// revision, as the feature gate CancelHealthCheckOnNewRevision does.
	CancelHealthChecks bool
}

// PurgeTempDirs begins to remove what a process that was killed has left in the
// folder for temporary files. Call it before a reconcile can use the folder.
func PurgeTempDirs(ctx context.Context) error {
	dirs, err := controller.ListStaleTempDirs(os.TempDir())
	if err != nil || len(dirs) == 0 {
		return err
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, purgeLimit)
		defer cancel()
		controller.PurgeTempDirs(ctx, ctrl.Log, dirs)
	}()
	return nil
}

// SetUp adds the reconciler of Kustomization to mgr. What is no option is as
// upstream's main has it by default.
func SetUp(ctx context.Context, mgr ctrl.Manager, rec *metrics.Recorder, o Options) error {
	if err := o.Gates.SupportedFeatures(features.FeatureGates()); err != nil {
		return err
	}
	cancel, err := features.Enabled(features.CancelHealthCheckOnNewRevision)
	if err != nil {
		return err
	}
	strict, err := features.Enabled(features.StrictPostBuildSubstitutions)
	if err != nil {
		return err
	}
	recorder, err := events.NewRecorder(mgr, ctrl.Log, o.EventsAddr, name)
	if err != nil {
		return err
	}
	if o.EventsOnce {
		recorder.Client.RetryMax, recorder.Client.HTTPClient.Timeout = 0, eventTime
	}
	mapper, err := runtimeclient.NewDynamicRESTMapper(mgr.GetConfig())
	if err != nil {
		return err
	}
	if o.WatchConfigs == "" {
		o.WatchConfigs = meta.LabelKeyWatch + "=" + meta.LabelValueWatchEnabled
	}
	watched, err := helper.GetWatchConfigsPredicate(helper.WatchOptions{ConfigsLabelSelector: o.WatchConfigs})
	if err != nil {
		return err
	}
	return (&controller.KustomizationReconciler{
		APIReader:                 mgr.GetAPIReader(),
		ArtifactFetchRetries:      9,
		Client:                    mgr.GetClient(),
		ClusterReader:             engine.ClusterReaderFactoryFunc(clusterreader.NewDirectClusterReader),
		ConcurrentSSA:             4,
		ControllerName:            name,
		DependencyRequeueInterval: o.DependencyRetry,
		EventRecorder:             recorder,
		FailFast:                  true,
		Mapper:                    mapper,
		Metrics:                   helper.NewMetrics(mgr, rec, kustomizev1.KustomizationFinalizer),
		StatusManager:             "gotk-" + name,
		StrictSubstitutions:       strict,
	}).SetupWithManager(ctx, mgr, controller.KustomizationReconcilerOptions{
		RateLimiter:                helper.GetRateLimiter(o.Retry),
		WatchConfigs:               true,
		WatchConfigsPredicate:      watched,
		CancelHealthCheckOnRequeue: cancel || o.CancelHealthChecks,
	})
}
