package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/hub/propose"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/placement"
)

type (
	// Edit is a change of the platform model.
	Edit struct {
		Operation edit.Operation `json:"operation" enum:"setLabel,removeLabel,setSelector,setConfigKey,removeConfigKey,putObject,deleteObject,putFile"`
		Kind      string         `json:"kind,omitempty" maxLength:"63" doc:"Of the object: ClusterType."`
		Name      string         `json:"name,omitempty" maxLength:"253"`
		Key       string         `json:"key,omitempty" maxLength:"317" doc:"Of a label or a value; of a selector deploymentTargetSelector or clusterTypeSelector."`
		Value     string         `json:"value,omitempty"`
		Content   string         `json:"content,omitempty" doc:"YAML of an object or of a whole selector; or what is in a file, which goes without."`
		Path      string         `json:"path,omitempty" maxLength:"4096" doc:"Of a file, from the repository's root."`
	}
	// PlanRequest asks what edits would do.
	PlanRequest struct {
		Environment string `json:"environment"`
		Base        string `json:"base,omitempty" maxLength:"64" doc:"The commit that the user has seen."`
		Edits       []Edit `json:"edits" minItems:"1" maxItems:"100"`
		Against     string `json:"against,omitempty" enum:"planned,merged,running" default:"planned"`
	}
	// PlanInput asks for a plan.
	PlanInput struct {
		Files []string `query:"file,explode" maxItems:"20" doc:"Files of the GitOps branch: the plan has only these, each with its diff."`
		Body  PlanRequest
	}
)

func editsOf(edits []Edit) []edit.Edit {
	all := make([]edit.Edit, len(edits))
	for i, e := range edits {
		all[i] = edit.Edit(e)
	}
	return all
}

// plan makes a plan for who asks, with what is theirs to see. environment and edit are where in
// the request these are; edit may have the index.
func (a *api) plan(ctx context.Context, r propose.Request, environment, edited string) (*propose.Made, error) {
	if err := a.environmentInScope(ctx, environment, r.Environment); err != nil {
		return nil, err
	}
	for i, e := range r.Edits {
		if strings.Contains(e.Content, redacted) || e.Value == redacted {
			return nil, newProblem(http.StatusUnprocessableEntity, redacted+" stands for a value that is hidden here: it cannot be written back").at(at(edited, i), nil)
		}
	}
	r.User, r.Fleet, r.Workspaces = requestOf(ctx).actor(), clustersInScope{a.Store, scopeOf(ctx)}, scopeOf(ctx).Workspaces
	made, err := a.planner.Plan(ctx, r)
	if err != nil {
		return nil, ofEdit(ctx, err, edited)
	}
	if workspaces := scopeOf(ctx).Workspaces; len(workspaces) > 0 {
		made.Restrict(workspaces)
	}
	a.redaction.plan(made)
	return made, nil
}

// at is the place of an edit, where that has an index.
func at(location string, index int) string {
	if strings.Contains(location, "%d") {
		return fmt.Sprintf(location, index)
	}
	return location
}

// environmentInScope is a problem about an environment that nobody knows, or that is out of scope.
func (a *api) environmentInScope(ctx context.Context, location, name string) error {
	names, _, err := a.Store.EnvironmentNames(ctx, scopeOf(ctx))
	if err != nil || slices.Contains(names, name) {
		return err
	}
	return a.noEnvironment(ctx, location, name, names)
}

// ofEdit is the problem of an edit that cannot be made. Who sees some workspaces only is not told what
// else there is.
func ofEdit(ctx context.Context, err error, location string) error {
	known, ok := errors.AsType[*edit.Error](err)
	if !ok {
		return ofModel(err)
	}
	status := http.StatusUnprocessableEntity
	switch {
	case known.Denied:
		status = http.StatusForbidden
	case known.Missing:
		status = http.StatusNotFound
	}
	detail := *known
	detail.Hint = ""
	p := newProblem(status, redact.Text(detail.Error()))
	if !known.Missing || len(scopeOf(ctx).Workspaces) == 0 {
		p.Hint = redact.Text(known.Hint)
	}
	var position any
	if known.Position.File != "" {
		position = map[string]any{"file": known.Position.File, "line": known.Position.Line}
	}
	where := at(location, known.Index)
	if known.Index < 0 {
		where, _, _ = strings.Cut(location, "[")
	}
	return p.at(where, position)
}

// clustersInScope is the propose.Fleet of a request.
type clustersInScope struct {
	store *store.Store
	scope store.Scope
}

// ByType implements propose.Fleet.
func (c clustersInScope) ByType(ctx context.Context, environment string) (map[string][]string, error) {
	all := map[string][]string{}
	page := store.Page{Limit: rowsEach}
	for {
		found, err := c.store.Clusters(ctx, c.scope, store.ClusterFilter{Environments: []string{environment}}, page)
		if err != nil {
			return nil, err
		}
		for _, one := range found.Items {
			for clusterType := range strings.SplitSeq(one.Types[environment], ", ") {
				all[clusterType] = append(all[clusterType], one.Name)
			}
		}
		if page.After = found.Next; page.After == "" {
			return all, nil
		}
	}
}

// Running implements propose.Fleet.
func (c clustersInScope) Running(ctx context.Context, environment string) (map[propose.Pair]bool, error) {
	all := map[propose.Pair]bool{}
	page := store.Page{Limit: rowsEach}
	for {
		found, err := c.store.Placements(ctx, c.scope, store.PlacementFilter{Environments: []string{environment}}, page)
		if err != nil {
			return nil, err
		}
		for _, one := range found.Items {
			if one.State != placement.Missing && one.Actual.Commit+one.Actual.Version != "" {
				all[propose.Pair{ClusterType: one.ClusterType, Target: one.Target}] = true
			}
		}
		if page.After = found.Next; page.After == "" {
			return all, nil
		}
	}
}
