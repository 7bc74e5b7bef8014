package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// shutdownTime is how long open requests may take when a scheduler stops.
const shutdownTime = 5 * time.Second

// Serve runs a scheduler until ctx ends: the loop, and a server with
//
//	POST /webhook  for the forge
//	GET  /status   for those who have the secret
//	GET  /healthz  for supervisors
//
// It returns nil when it stopped because ctx ended.
func Serve(ctx context.Context, config Config, log *slog.Logger) error {
	watcher, err := config.watcher(log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.listen())
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	log.Info("scheduler listens", "address", listener.Addr().String())
	server := &http.Server{Handler: watcher.Handler(), ReadTimeout: 30 * time.Second, ReadHeaderTimeout: 5 * time.Second}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("scheduler: %w", err)
		}
		return nil
	})
	group.Go(func() error { return watcher.Run(running) })
	group.Go(func() error {
		<-running.Done()
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		if err := server.Shutdown(deadline); err != nil {
			return fmt.Errorf("scheduler: closing open requests: %w", err)
		}
		return nil
	})
	err = group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watcher makes the Watcher that a configuration describes.
func (c Config) watcher(log *slog.Logger) (*Watcher, error) {
	token, err := secret("token of the forge", c.Forge.TokenFile, c.Forge.TokenEnv)
	if err != nil {
		return nil, err
	}
	webhookSecret := c.WebhookSecret
	if webhookSecret == "" {
		if webhookSecret, err = secret("webhook secret", c.WebhookSecretFile, ""); err != nil {
			return nil, err
		}
	}
	forge, err := gitea.New(gitea.Options{URL: c.Forge.URL, Token: token, User: c.Forge.User})
	if err != nil {
		return nil, err
	}
	return New(Options{
		Forge:         forge,
		ControlPlane:  model.Reference{Repo: c.ControlPlane.Repo, Branch: c.ControlPlane.Branch, Path: c.ControlPlane.Path},
		PromoteTo:     c.PromoteTo,
		Poll:          c.Poll,
		Log:           log,
		WebhookSecret: webhookSecret,
	})
}

// Handler serves the webhook, the status and a health check.
func (w *Watcher) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/webhook", w.Webhook())
	mux.Handle("GET /status", w.StatusHandler())
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) })
	return mux
}
