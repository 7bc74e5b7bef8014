package propose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/clause"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/explain"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// unchanged is why edits change nothing of an environment, in a sentence. It names no deployment
// target but those of some workspaces; none are all.
func unchanged(ctx context.Context, made *Made, after outcome, workspaces []string) (string, error) {
	if !made.Plan.Changed {
		return "The control plane says so already.", nil
	}
	if len(made.site.planned) == 0 {
		return fmt.Sprintf("The environment takes commit %.10s of branch %s, in which it is so already.", made.site.read.Commit, made.site.ref.Branch), nil
	}
	if errors := after.report.Summary.Errors; errors > 0 && after.plan.Incomplete {
		return fmt.Sprintf("The model has %s: until they are mended, what they concern stays as it is.", clause.Count(errors, "error")), nil
	}
	for _, e := range made.Edits {
		var reason string
		var err error
		switch {
		case e.Operation != edit.SetLabel && e.Operation != edit.RemoveLabel:
		case e.Kind == v1alpha1.KindClusterType:
			reason, err = ofLabel(ctx, e, after, workspaces)
		}
		if err != nil || reason != "" {
			return reason, err
		}
	}
	return "No assignment and no generated file depends on it.", nil
}

// ofLabel is why the label of a cluster type decides nothing: no policy asks for it, or none of
// those that do selects the type for another reason, which explain knows.
func ofLabel(ctx context.Context, e edit.Edit, after outcome, workspaces []string) (string, error) {
	var asking []string
	for _, p := range after.model.Policies {
		s := plan.ClusterTypeSelector(p)
		if strings.Contains(s.CEL, e.Key) || slices.ContainsFunc(clause.Of(s), func(c clause.Clause) bool { return c.Key == e.Key }) {
			asking = append(asking, p.Name)
		}
	}
	if len(asking) == 0 {
		return fmt.Sprintf("No scheduling policy selects cluster types by the label %s.", e.Key), nil
	}
	for _, t := range after.plan.Targets {
		if len(workspaces) > 0 && !slices.Contains(workspaces, t.Workspace) {
			continue
		}
		found, err := explain.Explain(ctx, after.model, after.plan, explain.Query{Target: t.Name, ClusterType: e.Name})
		if err != nil {
			return "", err
		}
		if n := found.Nearest; n != nil && slices.Contains(asking, n.Policy) && len(n.Fails) > 0 && n.Fails[0].Miss != nil {
			return fmt.Sprintf("Policy %s does not select %s on %s: %s (%s).", n.Policy, t.Name, e.Name, n.Fails[0].Miss.Reason, n.Fails[0].Place), nil
		}
	}
	return fmt.Sprintf("What %s selects by the label %s is the same as before.", clause.List(asking), e.Key), nil
}
