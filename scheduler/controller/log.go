package controller

import (
	"context"
	"log/slog"
)

// logRun writes one line about a run, and one about each problem that appeared
// or went with it. A run that changed nothing, or failed as the one before, is
// worth no more than a debug line.
func (c *Controller) logRun(name string, o outcome, err error, n news) {
	log := c.log.With("environment", name)
	attrs := []slog.Attr{slog.Group("took", slog.Duration("total", o.took.Total.Duration()),
		slog.Duration("promote", o.took.Promote.Duration()), slog.Duration("load", o.took.Load.Duration()),
		slog.Duration("plan", o.took.Plan.Duration()), slog.Duration("publish", o.took.Publish.Duration()))}
	level := slog.LevelDebug
	if o.plan != nil {
		attrs = append(attrs, slog.Int("targets", len(o.plan.Targets)), slog.Int("assignments", len(o.plan.Assignments)),
			slog.Int("problems", len(o.plan.Problems)), slog.String("action", string(o.published.Action)))
	}
	if pr := o.published.PullRequest; pr != nil {
		attrs = append(attrs, slog.String("pullRequest", pr.URL))
	}
	if o.promoted.Promoted {
		attrs = append(attrs, slog.String("promoted", o.promoted.Commit))
	}
	if o.published.Writes > 0 || o.promoted.Promoted || len(n.appeared)+len(n.gone) > 0 || n.recovered {
		level = slog.LevelInfo
	}
	if err != nil {
		if n.failed {
			level = slog.LevelError
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	log.LogAttrs(context.Background(), level, "environment run", attrs...)
	logProblems(log, n.appeared, n.gone)
}
