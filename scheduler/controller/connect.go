package controller

import (
	"fmt"
	"log/slog"

	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitea"
	"github.com/kalypso-dev/kalypso/scheduler/forge/github"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// connect makes the forge that a configuration describes. It makes no request.
func (f ForgeConfig) connect(log *slog.Logger, waiting func(github.Wait)) (forge.Forge, error) {
	var token string
	if f.App == nil {
		var err error
		if token, err = secret("token of the forge", f.TokenFile, f.TokenEnv); err != nil {
			return nil, err
		}
	}
	switch f.Type {
	case Gitea:
		return gitea.New(gitea.Options{URL: f.URL, Token: token, User: f.User})
	case GitHub:
		options := github.Options{URL: f.URL, API: f.API, Token: token, User: f.User, Log: log, Waiting: waiting}
		if f.App != nil {
			options.App = &github.App{ID: f.App.ID, Installation: f.App.Installation, KeyFile: f.App.KeyFile}
		}
		return github.New(options)
	}
	return nil, fmt.Errorf("forge %q is not known", f.Type)
}

// controllers makes a Controller for each control plane of a configuration. The log
// of the forge tells what it is waiting for.
func (c Config) controllers(metrics *Metrics, log, forgeLog *slog.Logger) ([]*Controller, error) {
	f, err := c.Forge.connect(forgeLog, func(github.Wait) { metrics.waits.Inc() })
	if err != nil {
		return nil, err
	}
	election, err := c.election()
	if err != nil {
		return nil, err
	}
	var all []*Controller
	pool := new(model.Pool)
	for _, p := range c.planes() {
		own := log
		if len(c.ControlPlanes) > 0 {
			own = log.With("controlPlane", redacted(p.Repo))
		}
		w, err := New(Options{
			Forge:        f,
			ControlPlane: model.Reference{Repo: p.Repo, Branch: p.Branch, Path: p.Path},
			PromoteTo:    p.PromoteTo,
			Poll:         c.Poll,
			Log:          own,
			Metrics:      metrics,
			Pool:         pool,
			Leader:       election,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// server makes the Server that a configuration describes, with its Controllers.
func (c Config) server(log *slog.Logger) (*Server, error) {
	webhookSecret := c.WebhookSecret
	if webhookSecret == "" {
		var err error
		if webhookSecret, err = secret("webhook secret", c.WebhookSecretFile, ""); err != nil {
			return nil, err
		}
	}
	metrics := NewMetrics()
	metrics.Process()
	controllers, err := c.controllers(metrics, log, log)
	if err != nil {
		return nil, err
	}
	if c.Metrics != nil && !*c.Metrics {
		metrics = nil
	}
	return NewServer(ServerOptions{Controllers: controllers, WebhookSecret: webhookSecret, Metrics: metrics, Log: log}), nil
}
