package validate

import (
	"context"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// validation is one run of the command.
type validation struct {
	app   *cmdutil.App
	world cmdutil.ModelFlags
	tests bool
	files bool // only what stands in the files themselves

	subjects []validate.Subject
}

func (v *validation) run(ctx context.Context) (validate.Report, error) {
	w, err := v.world.Open(ctx, v.app)
	if err != nil {
		return validate.Report{}, err
	}
	if v.files {
		return v.runFiles(ctx, w)
	}
	names, err := v.world.Several(ctx, w)
	if err != nil {
		return validate.Report{}, err
	}
	in := validate.Input{RunTests: v.tests}
	if in.Known, in.Diagnostics, err = w.Environments(ctx); err != nil {
		return validate.Report{}, err
	}
	for _, name := range names {
		var s validate.Subject
		if s.Model, err = w.Load(ctx, name); err != nil {
			return validate.Report{}, err
		}
		if s.Trees, err = validate.Trees(ctx, w, s.Model); err != nil {
			return validate.Report{}, err
		}
		gitOps, err := w.GitOps(ctx, s.Model)
		if err != nil {
			// The rest needs no GitOps repository, which CI may have no access to.
			v.app.Messagef("note: whether the GitOps branch is there is not checked: %v", err)
		}
		s.NoGitOps = err == nil && gitOps == nil && s.Model.GitOps.Repo != ""
		v.subjects = append(v.subjects, s)
	}
	in.Subjects = v.subjects
	return validate.Validate(ctx, in)
}

func (v *validation) runFiles(ctx context.Context, w *source.World) (validate.Report, error) {
	tree, err := w.Files(ctx)
	if err != nil {
		return validate.Report{}, err
	}
	s := validate.Source{Reference: model.Reference{Repo: tree.Repo, Branch: tree.Branch}, Tree: tree}
	v.subjects = []validate.Subject{{Trees: []validate.Source{s}}}
	return validate.Files(ctx, s)
}
