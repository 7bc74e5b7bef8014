// Package embed sets up kustomize-controller's Kustomization reconciler. Its
// import path lies below kustomize-controller's, which is what makes the
// internal packages there reachable.
package embed

import (
	"context"
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

const name = "kustomize-controller"

// Retries start soon and stay frequent: the cluster is on the same machine,
// and a person is waiting.
const (
	minRetry        = 250 * time.Millisecond
	maxRetry        = 30 * time.Second
	dependencyRetry = 2 * time.Second
)

// SetUp adds the reconciler of Kustomization to mgr. Settings are the defaults
// of upstream's main but for one: a health check in progress is given up for a
// newer revision, so that a fix is never stuck behind what it fixes.
func SetUp(ctx context.Context, mgr ctrl.Manager, rec *metrics.Recorder) error {
	if err := (&gates.FeatureGates{}).SupportedFeatures(features.FeatureGates()); err != nil {
		return err
	}
	strict, err := features.Enabled(features.StrictPostBuildSubstitutions)
	if err != nil {
		return err
	}
	recorder, err := events.NewRecorder(mgr, ctrl.Log, "", name)
	if err != nil {
		return err
	}
	mapper, err := runtimeclient.NewDynamicRESTMapper(mgr.GetConfig())
	if err != nil {
		return err
	}
	watched, err := helper.GetWatchConfigsPredicate(helper.WatchOptions{
		ConfigsLabelSelector: meta.LabelKeyWatch + "=" + meta.LabelValueWatchEnabled,
	})
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
		DependencyRequeueInterval: dependencyRetry,
		EventRecorder:             recorder,
		FailFast:                  true,
		Mapper:                    mapper,
		Metrics:                   helper.NewMetrics(mgr, rec, kustomizev1.KustomizationFinalizer),
		StatusManager:             "gotk-" + name,
		StrictSubstitutions:       strict,
	}).SetupWithManager(ctx, mgr, controller.KustomizationReconcilerOptions{
		RateLimiter:                helper.GetRateLimiter(helper.RateLimiterOptions{MinRetryDelay: minRetry, MaxRetryDelay: maxRetry}),
		WatchConfigs:               true,
		WatchConfigsPredicate:      watched,
		CancelHealthCheckOnRequeue: true,
	})
}
