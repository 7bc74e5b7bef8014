package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/kalypso-dev/kalypso/hub/history"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/addresses"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Backfill brings the database to what git says should run, as a hub that runs does. It returns
// each branch, also with an error.
func Backfill(ctx context.Context, c Config, log *slog.Logger) ([]history.Result, error) {
	var results []history.Result
	err := c.withReader(ctx, log, func(r *history.Reader, environments []model.Reference) (err error) {
		results, err = r.Read(ctx, environments, nil)
		return err
	})
	return results, err
}

// Verify reads all that git says into a second database, and compares it with the hub's.
func Verify(ctx context.Context, c Config, log *slog.Logger) (history.Verification, error) {
	var found history.Verification
	err := c.withReader(ctx, log, func(r *history.Reader, environments []model.Reference) (err error) {
		folder, err := os.MkdirTemp("", "kalypso-verify-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		rebuilt, err := store.Open(ctx, store.Options{SQLite: filepath.Join(folder, "hub.db")})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rebuilt.Close()) }()
		found, err = r.Verify(ctx, environments, rebuilt)
		return err
	})
	return found, err
}

// withReader calls f with a reader of what a hub follows, and the folders of its environments.
func (c Config) withReader(ctx context.Context, log *slog.Logger, f func(*history.Reader, []model.Reference) error) (err error) {
	log = redact.Logger(log)
	forge, err := c.scheduler.Connect(log, nil)
	if err != nil {
		return err
	}
	environments, err := gitOpsBranches(ctx, forge, c.scheduler)
	if err != nil {
		return redact.Error(err)
	}
	s, err := c.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(&history.Reader{Store: s, Forge: forge, Folder: c.Mirrors, Addresses: addresses.NewReplacer(c.scheduler.Addresses), Log: log}, environments)
}

// gitOpsBranches are those of all environments, with the environment's folder.
func gitOpsBranches(ctx context.Context, forge controller.Repositories, c controller.Config) ([]model.Reference, error) {
	var all []model.Reference
	for _, p := range c.Planes() {
		control := model.Reference{Repo: p.Repo, Branch: cmp.Or(p.Branch, "main"), Path: p.Path}
		tree, err := forge.Read(ctx, control)
		if err != nil {
			return nil, fmt.Errorf("reading the control plane: %w", err)
		}
		objects, _ := model.LoadEnvironments(tree, p.Path)
		for _, o := range objects {
			at := o.Spec.ControlPlane
			tree, err := forge.Read(ctx, model.Reference{Repo: at.Repo, Branch: at.Branch, Path: at.Path})
			if err != nil {
				return nil, fmt.Errorf("environment %s: %w", o.Name, err)
			}
			if to := model.LoadGitOps(tree, at.Path); to.Repo != "" {
				all = append(all, to)
			}
		}
	}
	return all, nil
}
