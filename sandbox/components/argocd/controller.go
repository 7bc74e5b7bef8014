package main

import (
	"context"
	"net"
	"net/http"
	"time"

	commitclient "github.com/argoproj/argo-cd/v3/commitserver/apiclient"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/controller"
	"github.com/argoproj/argo-cd/v3/controller/sharding"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	appclientset "github.com/argoproj/argo-cd/v3/pkg/client/clientset/versioned"
	"github.com/argoproj/argo-cd/v3/pkg/ratelimiter"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	kubeutil "github.com/argoproj/argo-cd/v3/util/kube"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	stateLife      = time.Hour        // of what is shown of an application
	memoryLife     = 10 * time.Minute // of the copy of it in front of the store
	selfHealReset  = 330 * time.Second
	repoErrorGrace = 3 * time.Minute
	kubectlAtOnce  = 20

	// Compares and syncs at one time: two clusters' worth of applications are
	// few, and the machine has other things to do.
	statusProcessors    = 4
	operationProcessors = 4
)

// selfHealBackoff is upstream's: two seconds, then longer.
var selfHealBackoff = wait.Backoff{Duration: 2 * time.Second, Factor: 3, Cap: 300 * time.Second}

// clients are how a part reaches the cluster.
type clients struct {
	config *rest.Config
	kube   kubernetes.Interface
	apps   appclientset.Interface
}

func newClients(o options, part string) (c clients, err error) {
	if c.config, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig); err != nil {
		return c, err
	}
	if err = v1alpha1.SetK8SConfigDefaults(c.config); err != nil {
		return c, err
	}
	c.config.UserAgent = part + "/" + common.GetVersion().Version
	if c.kube, err = kubernetes.NewForConfig(c.config); err != nil {
		return c, err
	}
	c.apps, err = appclientset.NewForConfig(c.config)
	return c, err
}

// startController runs the part that compares applications with the cluster
// and syncs them.
func startController(ctx context.Context, o options, s *store, r *repositories) error {
	clients, err := newClients(o, common.DefaultApplicationControllerName)
	if err != nil {
		return err
	}
	cache := s.cache()
	cache.SetClient(cacheutil.NewTwoLevelClient(cache.GetClient(), memoryLife))

	var c *controller.ApplicationController
	manager := settings.NewSettingsManager(ctx, clients.kube, namespace, settings.WithRepoOrClusterChangedHandler(func() {
		c.InvalidateProjectsCache()
	}))
	shards, err := sharding.GetClusterSharding(clients.kube, manager, common.DefaultShardingAlgorithm, false)
	if err != nil {
		return err
	}
	healing := selfHealBackoff
	c, err = controller.NewApplicationController(namespace, manager, clients.kube, clients.apps, r, commitclient.NewCommitServerClientset(""),
		appstate.NewCache(cache, stateLife), kubectl{kubeutil.NewKubectl()},
		o.resync, 0, 0, // resync, with new manifests, jitter
		0, &healing, selfHealReset,
		0, repoErrorGrace, // no limit for a sync
		0, 0, nil, nil, nil, // metrics
		kubectlAtOnce, false, shards, nil,
		ratelimiter.GetDefaultAppRateLimiterConfig(),
		false, false, normalizers.IgnoreNormalizerOpts{},
		argo.DefaultEnableEventList(), false)
	if err != nil {
		return err
	}
	// The controller serves metrics and profiles to everybody, and has no setting
	// against it. This server closes its port before it takes a connection, and stays,
	// since its end would end the process.
	c.GetMetricsServer().Server = &http.Server{Addr: "127.0.0.1:0", BaseContext: func(l net.Listener) context.Context {
		_ = l.Close()
		select {}
	}}
	go c.Run(ctx, statusProcessors, operationProcessors)
	return nil
}
