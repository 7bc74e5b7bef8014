package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/scheduler/fleet"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// Deployment says which commit is to arrive on the clusters.
type Deployment struct {
	URL    string // of the GitOps repository
	Branch string
	Commit string
	Limit  time.Duration
	Pace   time.Duration
	// Grace is how long clusters must have failed before that is a verdict:
	// reconcilers try again, and what is missing at first may come.
	Grace time.Duration
	// Report is called at every change, with a sentence.
	Report func(string)
}

// NotDeployedError says that a cluster has the commit and is not well with it.
type NotDeployedError struct {
	Commit  string
	Reasons []string
}

func (e *NotDeployedError) Error() string {
	return fmt.Sprintf("commit %.8s has failed: %s", e.Commit, some(e.Reasons))
}

// maxReasons are as many as a user reads.
const maxReasons = 10

// some are the first reasons in one text, and how many more there are: a fleet can
// have thousands.
func some(reasons []string) string {
	more := ""
	if len(reasons) > maxReasons {
		more = fmt.Sprintf("; and %d more", len(reasons)-maxReasons)
	}
	return strings.Join(reasons[:min(len(reasons), maxReasons)], "; ") + more
}

// WaitForDeployment waits until every configuration that follows the branch has
// the commit and is compliant with it, and returns how many they are.
//
// The branch may go on meanwhile. Clusters that have the branch's newest commit
// have this one, too, since it is below it: then that commit is judged.
//
// A cluster that cannot be read is waited for, like one that is slow: not
// knowing is never a verdict. A [NotDeployedError] is a verdict.
func WaitForDeployment(ctx context.Context, f Forge, o fleet.Observer, d Deployment) (int, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	what := fmt.Sprintf("deployment of commit %.8s of branch %s of %s", d.Commit, d.Branch, d.URL)
	var last string
	var all int
	var failed time.Time // since when, without a break
	err := retry.Until(ctx, what, d.Limit, func(ctx context.Context) error {
		verdict, commit, err := d.verdict(ctx, f, o)
		if err == nil && verdict.Decision != fleet.Failed {
			failed = time.Time{}
		}
		switch {
		case errors.Is(err, ErrDenied):
			return retry.Permanent(err)
		case err != nil:
			d.report(&last, "cannot ask: "+err.Error())
			return err
		case verdict.Decision == fleet.Failed:
			verdict := &NotDeployedError{commit, verdict.Reasons}
			if failed.IsZero() {
				failed = time.Now()
			}
			if left := d.Grace - time.Since(failed); left > 0 {
				d.report(&last, verdict.Error()+", which may pass")
				return retry.After(verdict, min(left, d.Pace))
			}
			return retry.Permanent(verdict)
		case verdict.Decision == fleet.Arrived:
			all = verdict.All
			return nil
		}
		reason := fmt.Sprintf("%d of %d have it: %s", verdict.Reached, verdict.All, some(verdict.Reasons))
		d.report(&last, reason)
		return errors.New(reason)
	}, retry.Backoff(d.Pace/10, d.Pace)) // most deployments arrive soon or take long
	var timeout *retry.TimeoutError
	if err != nil && !errors.As(err, &timeout) {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return all, err
}

func (d Deployment) check() error {
	switch err := fullCommit("--commit", d.Commit); {
	case err != nil:
		return err
	case d.Branch == "":
		return usage.Errorf("which branch do the clusters follow? Give --branch")
	case d.Limit <= 0 || d.Pace <= 0:
		return usage.Errorf("--timeout and --poll must be longer than nothing")
	}
	return nil
}

// verdict judges the commit, and the branch's newest where some cluster has gone
// on to it. The commit that it returns is the judged one.
func (d Deployment) verdict(ctx context.Context, f Forge, o fleet.Observer) (fleet.Verdict, string, error) {
	configurations, err := o.Observe(ctx, fleet.Source{Repo: d.URL, Branch: d.Branch})
	if err != nil {
		return fleet.Verdict{}, d.Commit, err
	}
	verdict := fleet.Judge(configurations, d.Commit)
	elsewhere := slices.ContainsFunc(configurations, func(c fleet.Configuration) bool {
		return c.Commit != "" && !strings.EqualFold(c.Commit, d.Commit)
	})
	if verdict.Decision != fleet.Waiting || !elsewhere {
		return verdict, d.Commit, nil
	}
	newest, err := f.Head(ctx, model.Reference{Repo: d.URL, Branch: d.Branch})
	if err != nil {
		return verdict, d.Commit, wrap(err, "newest commit of branch %s", d.Branch)
	}
	if newest != d.Commit && slices.ContainsFunc(configurations, func(c fleet.Configuration) bool { return c.Commit == newest }) {
		return fleet.Judge(configurations, newest), newest, nil
	}
	return verdict, d.Commit, nil
}

// report calls Report with what is new.
func (d Deployment) report(last *string, text string) {
	if d.Report != nil && text != *last {
		*last = text
		d.Report(text)
	}
}
