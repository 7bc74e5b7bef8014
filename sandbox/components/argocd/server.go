package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apiclient"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	repocache "github.com/argoproj/argo-cd/v3/reposerver/cache"
	"github.com/argoproj/argo-cd/v3/server"
	servercache "github.com/argoproj/argo-cd/v3/server/cache"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	"github.com/argoproj/argo-cd/v3/util/dex"
	log "github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	connectionLife = time.Hour
	oidcLife       = 3 * time.Minute
	hooksAtOnce    = 50
)

// serve runs the API server until ctx ends.
func serve(ctx context.Context, o options, s *store, r *repositories) error {
	opts, err := serverOptions(o, s, r)
	if err != nil {
		return err
	}
	// a change of some settings makes Run return; it is then called again
	api := server.NewServer(ctx, opts, server.ApplicationSetOpts{GitSubmoduleEnabled: true})
	api.Init(ctx)
	var f front
	port, err := f.listen(o.listen)
	if err != nil {
		return err
	}
	defer port.Close()
	go func() {
		if err := refreshWhenUp(ctx, "http://"+o.listen+"/healthz", opts.AppClientset); err != nil {
			// they are compared when it is due
			log.WithError(err).Warn("applications not refreshed at the start")
		}
	}()
	for {
		listeners, err := listen(&f)
		if err != nil {
			return err
		}
		api.Run(ctx, listeners)
		if ctx.Err() != nil {
			return nil
		}
		if api.TerminateRequested() {
			return errors.New("the API server ended")
		}
	}
}

func serverOptions(o options, s *store, r *repositories) (server.ArgoCDServerOpts, error) {
	none := server.ArgoCDServerOpts{}
	host, portText, err := net.SplitHostPort(o.listen)
	if err != nil {
		return none, fmt.Errorf("--listen: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port == 0 {
		return none, fmt.Errorf("--listen: %q is no port", portText)
	}
	clients, err := newClients(o, "argocd-server")
	if err != nil {
		return none, err
	}
	dyn, err := dynamic.NewForConfig(clients.config)
	if err != nil {
		return none, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return none, err
		}
	}
	dry, err := client.New(clients.config, client.Options{Scheme: scheme})
	if err != nil {
		return none, err
	}
	return server.ArgoCDServerOpts{
		Insecure:                true,
		ListenHost:              host,
		ListenPort:              port,
		MetricsHost:             host,
		Namespace:               namespace,
		BaseHRef:                "/",
		DynamicClientset:        dyn,
		KubeControllerClientset: client.NewNamespacedClient(client.NewDryRunClient(dry), namespace),
		KubeClientset:           clients.kube,
		AppClientset:            clients.apps,
		RepoClientset:           r,
		DexServerAddr:           common.DefaultDexServerAddr,
		DexTLSConfig:            &dex.DexTLSConfig{DisableTLS: true},
		ContentTypes:            []string{"application/json"},
		EnableGZip:              true,
		Cache:                   servercache.NewCache(appstate.NewCache(s.cache(), stateLife), connectionLife, oidcLife),
		RepoServerCache:         repocache.NewCache(s.cache(), cacheLife, revisionCacheLife, revisionLockLife),
		RedisClient:             s.client,
		StaticAssetsDir:         o.pages,
		XFrameOptions:           "sameorigin",
		ContentSecurityPolicy:   "frame-ancestors 'self';",
		WebhookParallelism:      hooksAtOnce,
		EnableK8sEvent:          argo.DefaultEnableEventList(),
		SyncWithReplaceAllowed:  true,
	}, nil
}

// listen makes what the API server serves on, which is in this process. Its own
// Listen would take two ports of the machine's, one of them for metrics.
func listen(f *front) (*server.Listeners, error) {
	main := f.newInside()
	gateway, err := grpc.NewClient("passthrough:///argocd-server",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return main.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(apiclient.MaxGRPCMessageSize)),
		grpc.WithUserAgent(common.ArgoCDUserAgentName+"/"+common.GetVersion().Version),
	)
	if err != nil {
		return nil, errors.Join(err, main.Close())
	}
	return &server.Listeners{Main: main, Metrics: newInProcess(), GatewayConn: gateway}, nil
}
