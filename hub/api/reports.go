package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
)

const (
	// maxReport is how much a report may be, in bytes: a cluster with some hundred subscriptions
	// and all that they have applied.
	maxReport = 8 << 20
	// clockSkew is how far a cluster's clock may be ahead of the hub's.
	clockSkew = 5 * time.Minute
)

type (
	// Report is all that a cluster follows, as its agent has read it.
	Report struct {
		_ struct{} `additionalProperties:"true"` // agents may be newer than the hub
		// Cluster is the one that the token is of.
		Cluster string    `json:"cluster" minLength:"1" maxLength:"253"`
		At      time.Time `json:"at" doc:"When it was read, by the cluster's clock."`
		// IntervalSeconds is in how long the next report comes at the latest.
		IntervalSeconds int64                `json:"intervalSeconds" minimum:"5" maximum:"3600" doc:"In how long the next comes at the latest. After three times that the cluster is unknown."`
		Labels          map[string]string    `json:"labels,omitempty" maxProperties:"200"`
		Unknown         string               `json:"unknown,omitempty" doc:"Why the agent could not read it."`
		Subscriptions   []fleet.Subscription `json:"subscriptions" maxItems:"20000"`
	}
	// ReportInput is a report.
	ReportInput struct{ Body Report }
	// ReportAnswer says what became of a report.
	ReportAnswer struct {
		Received time.Time `json:"received" doc:"By the hub's clock."`
		Changed  bool      `json:"changed" doc:"It says something new."`
		Clamped  int       `json:"clamped" doc:"How many times were more than five minutes ahead of the hub's clock, and count as now."`
	}
)

func (a *api) reportRoutes() {
	if a.Reported == nil {
		return
	}
	o := operation{id: "report", path: "/reports", summary: "What a cluster follows, from the agent in it", role: Agent, method: http.MethodPost, status: http.StatusOK, body: maxReport, quiet: true}
	huma.Register(a.huma, o.huma(), func(ctx context.Context, input *ReportInput) (*answer[ReportAnswer], error) {
		d, err := a.report(ctx, input.Body)
		if err != nil {
			return nil, failed(ctx, err)
		}
		return &answer[ReportAnswer]{d}, nil
	})
}

// report keeps what a cluster's agent says of it.
func (a *api) report(ctx context.Context, r Report) (ReportAnswer, error) {
	q := requestOf(ctx)
	if r.Cluster != q.identity.Cluster {
		a.metrics.reports.WithLabelValues("refused").Inc()
		return ReportAnswer{}, newProblem(http.StatusForbidden, "the token is that of cluster "+q.identity.Cluster+", and the report is of "+text(r.Cluster)).at("body.cluster", text(r.Cluster))
	}
	now := time.Now().UTC()
	one := store.Report{
		Cluster:  fleet.Cluster{Name: r.Cluster, Labels: r.Labels, Subscriptions: r.Subscriptions},
		Received: now, Interval: time.Duration(r.IntervalSeconds) * time.Second,
	}
	// such a clock cannot be right, and what is ahead of now would be newer than all that follows
	clamped := 0
	if r.At.After(now.Add(clockSkew)) {
		clamped++
	}
	for i := range one.Subscriptions {
		s := &one.Subscriptions[i]
		s.Reason = text(s.Reason)
		for _, at := range []*time.Time{&s.At, &s.EditedAt} {
			if at.After(now.Add(clockSkew)) {
				*at = now
				clamped++
			}
		}
	}
	if r.Unknown != "" {
		one.Forget(text(r.Unknown))
	}
	fleet.SortSubscriptions(one.Subscriptions)
	changed, err := a.Store.SaveReport(ctx, one)
	if err != nil {
		return ReportAnswer{}, err
	}
	a.metrics.reports.WithLabelValues("received").Inc()
	a.metrics.clampedTimes.Add(float64(clamped))
	if changed {
		a.Reported()
	}
	return ReportAnswer{Received: now, Changed: changed, Clamped: clamped}, nil
}
