package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/httpserver"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/forge/signing"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// stopTime is how long all that a scheduler does may take when it stops. A run ends at its
// next call or assignment, and does not keep the process when it does not.
const stopTime = 2 * httpserver.ShutdownTime

// memoryLimit is where the garbage collector begins to work for memory instead
// of time, in bytes: 512 MiB, and what a forge keeps of what it has read.
const memoryLimit = (512 + 128) << 20

// Serve runs a scheduler until ctx ends: a Controller for each control plane, and
// a Server for all of them. It returns nil when it stopped because ctx ended.
func Serve(ctx context.Context, config Config, log *slog.Logger) error {
	log = redact.Logger(log)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	unlock, err := config.lock(log)
	if err != nil {
		return err
	}
	defer unlock()
	election, err := config.election(log)
	if err != nil {
		return err
	}
	s, err := config.server(election, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.listen())
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	log.Info("scheduler listens", "address", listener.Addr().String())
	server := &http.Server{
		Handler: s.Handler(), ReadTimeout: 30 * time.Second, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := httpserver.Run(running, server, listener, nil); err != nil {
			return fmt.Errorf("scheduler: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		if election == nil {
			return s.run(running)
		}
		return election.Run(running, s.run)
	})
	err = awaited(running, group.Wait, log)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// run runs the Controllers until ctx ends.
func (s *Server) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range s.controllers {
		group.Go(func() error { return c.Run(ctx) })
	}
	return group.Wait()
}

// lock keeps a second process from serving the same configuration, which is all
// that a scheduler has on a machine: what it has done is on the forge. The system
// gives the lock back when the process ends, however it ends.
func (c Config) lock(log *slog.Logger) (unlock func(), err error) {
	if c.File == "" {
		return func() {}, nil
	}
	lock := flock.New(c.File, flock.SetFlag(os.O_RDONLY))
	switch locked, err := lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("scheduler configuration: %w", err)
	case err != nil: // some network file systems have no locks for files that are read
		log.Warn("the configuration file cannot be locked", "file", c.File, "error", err)
	case !locked:
		return nil, fmt.Errorf("scheduler: another process serves %s: stop it first", c.File)
	}
	return func() { _ = lock.Close() }, nil
}

// election returns the election that is asked for, nil for a scheduler that works
// alone, as each does outside of Kubernetes.
func (c Config) election(log *slog.Logger) (*Election, error) {
	if c.LeaderElection == nil {
		return nil, nil
	}
	if c.LeaderElection.AdvertiseEnv != "" {
		log.Warn("leaderElection.advertiseEnv (--advertise-env) has no effect any more and can be removed: a Service sends webhooks to the scheduler that leads")
	}
	e, err := NewElection(*c.LeaderElection, log)
	if errors.Is(err, rest.ErrNotInCluster) {
		log.Warn("leaderElection (--leader-election) has an effect in Kubernetes only: this scheduler works alone, run no second one for its control plane")
		return nil, nil
	}
	return e, err
}

// awaited returns what wait returns, or why ctx has ended where wait takes too
// long after that.
func awaited(ctx context.Context, wait func() error, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(stopTime):
		log.Warn("stopping without what has not ended", "after", stopTime)
		return context.Cause(ctx)
	}
}

// Repositories is a forge with what else is read of it than the scheduler needs.
type Repositories interface {
	forge.Forge
	// History reads the newest commits of a branch, see gitclient.Client.History.
	History(ctx context.Context, cloneURL, branch string, folders []string) (*gitclient.History, error)
	// CommitInfo reads a commit without its files, see gitclient.Client.CommitInfo.
	CommitInfo(ctx context.Context, cloneURL, commit string) (gitclient.CommitInfo, error)
	// CommitURL is where a browser shows a commit, false for repositories of other sites.
	CommitURL(cloneURL, commit string) (string, bool)
	// Fetch brings the commits of a branch into a storage, see gitclient.Client.Fetch.
	Fetch(ctx context.Context, cloneURL, branch string, have []string, into gitclient.Storage) (head string, err error)
	// LatestPullRequests lists those of a repository that are open, and the newest others.
	LatestPullRequests(ctx context.Context, repo string) ([]forge.PullRequest, error)
	// MergedBy returns the account that has merged a pull request, which lists leave out.
	MergedBy(ctx context.Context, repo string, number int) (string, error)
	// Reviews returns the verdicts about a pull request.
	Reviews(ctx context.Context, repo string, number int) ([]forge.Review, error)
	// Checks returns what has checked a commit, by name: its statuses, and what else the forge
	// has.
	Checks(ctx context.Context, repo, commit string) ([]forge.Status, error)
	// PullRequestCommits returns the commits of a pull request as they were on its own branch,
	// the newest first.
	PullRequestCommits(ctx context.Context, repo string, number int) ([]forge.CommitHead, error)
}

// Connect makes the forge that a configuration describes. It makes no request; waiting
// is told what GitHub has the scheduler wait for, and may be nil.
func (c Config) Connect(log *slog.Logger, waiting func(github.Wait)) (Repositories, error) {
	var token string
	if c.Forge.App == nil {
		var err error
		if token, err = secret("token of the forge", c.Forge.TokenFile, c.Forge.TokenEnv); err != nil {
			return nil, err
		}
	}
	return c.connect(c.Forge, token, log, waiting)
}

// ConnectAs is [Config.Connect] with another account, which a token stands for. Its commits are
// not signed: the key is the configured account's.
func (c Config) ConnectAs(token, user string, log *slog.Logger) (Repositories, error) {
	f := c.Forge
	f.App, f.Signing, f.User = nil, nil, user
	return c.connect(f, token, log, nil)
}

func (c Config) connect(f ForgeConfig, token string, log *slog.Logger, waiting func(github.Wait)) (Repositories, error) {
	var key *signing.Key
	if f.Signing != nil {
		key = f.Signing.key
	}
	switch f.Type {
	case Gitea:
		return gitea.New(gitea.Options{URL: f.URL, Token: token, User: f.User, Hosts: c.AllowedHosts, Addresses: addresses.NewReplacer(c.Addresses), Signing: key})
	case GitHub:
		return github.New(github.Options{URL: f.URL, API: f.API, Token: token, App: f.App, User: f.User, Log: log, Waiting: waiting, Hosts: c.AllowedHosts, Signing: key})
	}
	return nil, fmt.Errorf("forge %q is not known", f.Type)
}

// controllers makes a Controller for each control plane of a configuration.
// forgeLog gets what the forge waits for.
func (c Config) controllers(metrics *Metrics, election *Election, log, forgeLog *slog.Logger) ([]*Controller, error) {
	f, err := c.Connect(redact.Logger(forgeLog), func(github.Wait) { metrics.waits.Inc() })
	if err != nil {
		return nil, err
	}
	var all []*Controller
	pool := new(model.Pool)
	for _, p := range c.Planes() {
		own := log
		if len(c.ControlPlanes) > 0 {
			own = log.With("controlPlane", redact.URL(p.Repo))
		}
		w, err := New(Options{
			Forge:        f,
			ControlPlane: model.Reference{Repo: p.Repo, Branch: p.Branch, Path: p.Path},
			PromoteTo:    p.PromoteTo,
			Poll:         c.Poll,
			Log:          own,
			Metrics:      metrics,
			Pool:         pool,
			Election:     election,
			Fleet:        c.Fleet(),
			Interval:     c.interval(),
		})
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// server makes the Server that a configuration describes, with its Controllers.
func (c Config) server(election *Election, log *slog.Logger) (*Server, error) {
	webhookSecret, err := c.Secret()
	if err != nil {
		return nil, err
	}
	metrics := NewMetrics()
	metrics.Process()
	controllers, err := c.controllers(metrics, election, log, log)
	if err != nil {
		return nil, err
	}
	if c.Metrics != nil && !*c.Metrics {
		metrics = nil
	}
	return NewServer(ServerOptions{Controllers: controllers, WebhookSecret: webhookSecret, Metrics: metrics, Log: log}), nil
}
