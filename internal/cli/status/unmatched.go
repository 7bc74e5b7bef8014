package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

const unmatchedLimit = 4 * time.Second

// unmatchedRules are about what is right in itself and has no effect.
var unmatchedRules = []string{validate.PolicyNoClusterType, validate.PolicyNoTarget, validate.UnmatchedConfig, validate.UnmatchedSchema}

// unmatched is what matches nothing in a state of the control plane.
type unmatched struct {
	commits  string
	problems []sandbox.Problem
}

// withUnmatched adds the policies and the configuration that match nothing, as
// validate finds them. They are looked for again when a commit is another one.
// A control plane that cannot be read is a problem that the scheduler reports.
func (o *Options) withUnmatched(ctx context.Context, s *sandbox.Status) *sandbox.Status {
	var scheduler controller.Status
	if s.Scheduler == nil || json.Unmarshal(s.Scheduler, &scheduler) != nil {
		return s
	}
	var commits strings.Builder
	for _, e := range scheduler.Environments {
		fmt.Fprintln(&commits, e.Name, e.Commit, e.Promoted)
	}
	if o.unmatched.commits != commits.String() {
		problems, err := o.findUnmatched(ctx)
		if err != nil {
			return s
		}
		o.unmatched = unmatched{commits.String(), problems}
	}
	with := *s
	with.Problems = slices.Concat(s.Problems, o.unmatched.problems)
	return &with
}

func (o *Options) findUnmatched(ctx context.Context) ([]sandbox.Problem, error) {
	ctx, cancel := context.WithTimeout(ctx, unmatchedLimit)
	defer cancel()
	var model cmdutil.ModelFlags
	w, err := model.Open(ctx, o.App)
	if err != nil {
		return nil, err
	}
	environments, err := w.Environments(ctx)
	if err != nil {
		return nil, err
	}
	in := validate.Input{Known: environments.Names(), Diagnostics: environments.Diagnostics}
	for _, name := range in.Known {
		env, err := w.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		in.Subjects = append(in.Subjects, validate.Subject{Model: env})
	}
	r, err := validate.Validate(ctx, in)
	if err != nil {
		return nil, err
	}
	var problems []sandbox.Problem
	for _, f := range r.Findings {
		if slices.Contains(unmatchedRules, f.Rule) {
			problems = append(problems, sandbox.Problem{Environment: strings.Join(f.Environments, ", "), Reason: fmt.Sprintf("%s: %s", f.Position, f.Message)})
		}
	}
	return problems, nil
}
