package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/forge"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/publish"
	"github.com/kalypso-dev/kalypso/scheduler/rollout"
)

// Status is a snapshot of what a Controller knows.
type Status struct {
	ControlPlane ControlPlaneStatus  `json:"controlPlane"`
	Environments []EnvironmentStatus `json:"environments"` // sorted by name
}

// ControlPlaneStatus is about the control plane's default branch.
type ControlPlaneStatus struct {
	Repo       string     `json:"repo"`
	Branch     string     `json:"branch"`
	Path       string     `json:"path,omitempty"`
	Commit     string     `json:"commit,omitempty"` // that was read last
	Error      string     `json:"error,omitempty"`
	ErrorSince *time.Time `json:"errorSince,omitempty"`
	Problems   []string   `json:"problems,omitempty"`
	// Lease is there with a leader election.
	Lease *LeaseStatus `json:"lease,omitempty"`
}

// State is how an environment is doing.
type State string

const (
	Planning State = "planning" // a run goes on
	Synced   State = "synced"   // the last run has published what the model asks for
	Failed   State = "error"    // the last run has failed and will be tried again
)

// EnvironmentStatus is about one environment. What the last run found stays
// while the next one goes on.
type EnvironmentStatus struct {
	Name        string             `json:"name"`
	State       State              `json:"state"`
	Commit      string             `json:"commit,omitempty"`     // of its control plane branch, planned last
	Promoted    string             `json:"promoted,omitempty"`   // the commit it pins
	GitOpsHead  string             `json:"gitOpsHead,omitempty"` // that was planned against
	Error       string             `json:"error,omitempty"`      // of the last run
	ErrorSince  *time.Time         `json:"errorSince,omitempty"`
	Targets     int                `json:"targets"`
	Assignments int                `json:"assignments"`
	PullRequest *PullRequestStatus `json:"pullRequest,omitempty"` // the open one, or the one a user has closed
	Issues      []string           `json:"issues,omitempty"`      // URLs of the open ones
	Problems    []string           `json:"problems"`              // each with file and line
	// Rollouts are without their clusters; RolloutError is why they were not looked at.
	Rollouts     []rollout.Status `json:"rollouts,omitempty"`
	RolloutError string           `json:"rolloutError,omitempty"`
	Runs         int              `json:"runs"`
	LastRun      *time.Time       `json:"lastRun,omitempty"` // its end
	Durations    Durations        `json:"durations"`         // of the last run
}

// PullRequestStatus is about an environment's pull request.
type PullRequestStatus struct {
	Number int         `json:"number"`
	URL    string      `json:"url"`
	Title  string      `json:"title"`
	State  forge.State `json:"state"`
	Held   bool        `json:"held,omitempty"` // waits for a user to release a mass deletion
}

// Durations are how long the steps of a run took.
type Durations struct {
	Promote Milliseconds `json:"promoteMs"`
	Load    Milliseconds `json:"loadMs"`
	Plan    Milliseconds `json:"planMs"`
	Publish Milliseconds `json:"publishMs"`
	Total   Milliseconds `json:"totalMs"`
}

// Milliseconds is a duration with three digits behind the point.
type Milliseconds float64

// Duration returns m as a time.Duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m * 1e6) }

func since(start time.Time) Milliseconds {
	return Milliseconds(float64(time.Since(start).Microseconds()) / 1000)
}

// Status returns a snapshot.
func (c *Controller) Status() Status {
	s := Status{Environments: []EnvironmentStatus{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.all() {
		s.Environments = append(s.Environments, e.status)
	}
	slices.SortFunc(s.Environments, func(a, b EnvironmentStatus) int { return strings.Compare(a.Name, b.Name) })
	s.ControlPlane = c.control
	if c.options.Election != nil {
		s.ControlPlane.Lease = new(c.options.Election.Status())
	}
	return s
}

// begin marks that a run goes on, and returns what it is to run.
func (c *Controller) begin(e *environment, reader *recordingReader, cancel context.CancelFunc) model.Reference {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.reader, e.cancel = reader, cancel
	e.status.State = Planning
	return e.ref
}

// change is how a run's outcome differs from that of the run before.
type change struct {
	failed    bool // with an error that is not the last run's
	recovered bool
	appeared  []string // problems
	gone      []string
}

// end takes a run's outcome into the status. A run without a plan leaves the
// problems as they were.
func (c *Controller) end(e *environment, o outcome, err error) (n change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	s := &e.status
	s.Runs++
	s.LastRun = &now
	s.Durations = o.took
	e.last = o
	e.last.plan = nil // it is large
	if err != nil {
		err = redact.Error(err)
		n.failed = s.Error != err.Error()
		s.State, s.Error = Failed, err.Error()
		if s.ErrorSince == nil {
			s.ErrorSince = &now
		}
		if o.published.Action == publish.Withdrawn {
			s.PullRequest = nil
		}
	} else {
		n.recovered = s.Error != ""
		s.State, s.Error, s.ErrorSince = Synced, "", nil
	}
	if o.complete {
		s.PullRequest, s.Issues = pullRequestStatus(o.published), issueURLs(o.published.Issues)
	}
	seen := e.reader.read()
	e.reader = nil
	if o.plan == nil {
		// What this run did not get to read still concerns the environment.
		for ref, commit := range e.seen {
			if _, ok := seen[ref]; !ok {
				seen[ref] = commit
			}
		}
		e.seen = seen
		return n
	}
	e.seen = seen
	s.Commit, s.Promoted, s.GitOpsHead = o.commit, o.plan.Promoted, o.plan.GitOpsHead
	s.Targets, s.Assignments = len(o.plan.Targets), len(o.plan.Assignments)
	e.severities = severities{}
	for _, p := range o.plan.Problems {
		e.severities[p.Severity]++
	}
	next := sorted(problemLines(o.plan.Problems))
	n.appeared, n.gone = e.known.diff(next)
	e.known = next
	s.Problems = append([]string{}, next...)
	return n
}

func pullRequestStatus(r publish.Result) *PullRequestStatus {
	if r.PullRequest == nil {
		return nil
	}
	return &PullRequestStatus{
		Number: r.PullRequest.Number, URL: r.PullRequest.URL, Title: r.PullRequest.Title, State: r.PullRequest.State, Held: r.Held,
	}
}

func issueURLs(issues []forge.Issue) []string {
	var urls []string
	for _, i := range issues {
		urls = append(urls, i.URL)
	}
	return urls
}

// problemLines words problems, each in one line that begins with file and
// line.
func problemLines(list []plan.Problem) []string {
	lines := make([]string, 0, len(list))
	for _, p := range list {
		message := p.Message
		if p.Target != "" {
			message = p.Target + " on " + p.ClusterType + ": " + message
		}
		lines = append(lines, problemLine(p.Position, p.Severity, message, p.Hint))
	}
	return lines
}

func problemLine(at model.Position, severity model.Severity, message, hint string) string {
	if hint != "" {
		message += " (" + hint + ")"
	}
	return fmt.Sprintf("%s: %s: %s", at, severity, message)
}

// controlFailed notes that the control plane could not be read. What was read
// of it before stays. The same failure again is worth no more than a debug
// line.
func (c *Controller) controlFailed(err error) {
	err = redact.Error(err)
	c.mu.Lock()
	now := time.Now()
	level := slog.LevelDebug
	if c.control.Error != err.Error() {
		level = slog.LevelError
	}
	c.control.Error = err.Error()
	if c.control.ErrorSince == nil {
		c.control.ErrorSince = &now
	}
	c.mu.Unlock()
	c.log.Log(context.Background(), level, "control plane", "error", err)
}

// controlRead notes what was read of the control plane: what is wrong with its
// Environment objects, and with others.
func (c *Controller) controlRead(commit string, diagnostics, others []model.Diagnostic) {
	lines := make([]string, 0, len(diagnostics)+len(others))
	for _, d := range slices.Concat(diagnostics, others) {
		lines = append(lines, problemLine(d.Position, d.Severity, d.Message, d.Hint))
	}
	next := sorted(lines)
	c.mu.Lock()
	c.reached = time.Now()
	c.severities = severities{}
	for _, d := range diagnostics {
		c.severities[d.Severity]++
	}
	recovered := c.control.Error != ""
	c.control.Commit, c.control.Error, c.control.ErrorSince, c.control.Problems = commit, "", nil, next
	appeared, gone := c.known.diff(next)
	c.known = next
	c.mu.Unlock()
	if recovered {
		c.log.Info("control plane can be read again", "commit", commit)
	}
	logProblems(c.log, appeared, gone)
}

// logRun writes one line about a run, and one about each problem that appeared
// or went with it. A run that changed nothing, or failed as the one before, is
// worth no more than a debug line.
func (c *Controller) logRun(name string, o outcome, err error, n change) {
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

// problems are those that were there after the last run, as users read them,
// sorted.
type problems []string

// severities counts problems.
type severities map[model.Severity]int

// diff returns what has appeared and what is gone in next.
func (p problems) diff(next problems) (appeared, gone []string) {
	before, after := sets.New(p...), sets.New(next...)
	return sets.List(after.Difference(before)), sets.List(before.Difference(after))
}

func logProblems(log *slog.Logger, appeared, gone []string) {
	for _, line := range appeared {
		log.Warn("problem: " + line)
	}
	for _, line := range gone {
		log.Info("problem is gone: " + line)
	}
}

func sorted(lines []string) problems {
	slices.Sort(lines)
	return slices.Compact(lines)
}
