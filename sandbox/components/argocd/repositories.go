package main

import (
	"context"
	"net"
	"time"

	"github.com/argoproj/argo-cd/v3/reposerver"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	repocache "github.com/argoproj/argo-cd/v3/reposerver/cache"
	"github.com/argoproj/argo-cd/v3/reposerver/metrics"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/timeout"
	log "github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Upstream's settings.
const (
	repositoryCallLimit = 60 * time.Second
	revisionCacheLife   = 3 * time.Minute
	revisionLockLife    = 10 * time.Second
	maxManifests        = "10M"
	maxTar              = 100e6
	maxExtracted        = 1e9
)

// repositories is the repository server, which clones and reads repositories,
// reached within the process: it takes calls from anybody who reaches it.
type repositories struct{ conn *grpc.ClientConn }

var _ apiclient.Clientset = (*repositories)(nil)

// NewRepoServerClient returns the one connection that all share. Closing it is
// left to the end of the process.
func (r *repositories) NewRepoServerClient() (utilio.Closer, apiclient.RepoServerServiceClient, error) {
	return utilio.NopCloser, apiclient.NewRepoServerServiceClient(r.conn), nil
}

func startRepositories(ctx context.Context, o options, s *store) (*repositories, error) {
	passwords, err := startAskpass(o.dir)
	if err != nil {
		return nil, err
	}
	cache := repocache.NewCache(s.cache(), cacheLife, revisionCacheLife, revisionLockLife)
	service, err := reposerver.NewServer(metrics.NewMetricsServer(), cache, nil, repository.RepoServerInitConstants{
		PauseGenerationAfterFailedGenerationAttempts: 3,
		PauseGenerationOnFailureForMinutes:           60,
		SubmoduleEnabled:                             true,
		MaxCombinedDirectoryManifestsSize:            resource.MustParse(maxManifests),
		StreamedManifestMaxExtractedSize:             maxExtracted,
		StreamedManifestMaxTarSize:                   maxTar,
		HelmManifestMaxExtractedSize:                 maxExtracted,
		HelmRegistryMaxIndexSize:                     maxExtracted,
		OCIManifestMaxExtractedSize:                  maxExtracted,
		EnableBuiltinGitConfig:                       true,
	}, passwords)
	if err != nil {
		return nil, err
	}
	pipe := newInProcess()
	server := service.CreateGRPC()
	go func() {
		if err := server.Serve(pipe); err != nil {
			log.WithError(err).Fatal("repository server ended")
		}
	}()
	context.AfterFunc(ctx, server.Stop)
	conn, err := grpc.NewClient("passthrough:///repositories",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(timeout.UnaryClientInterceptor(repositoryCallLimit)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(apiclient.MaxGRPCMessageSize), grpc.MaxCallSendMsgSize(apiclient.MaxGRPCMessageSize)),
	)
	if err != nil {
		return nil, err
	}
	return &repositories{conn: conn}, nil
}
