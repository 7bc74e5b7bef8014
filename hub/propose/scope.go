package propose

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/edit"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// inScope is an error about an edit of what belongs to other workspaces than some, which are not to
// learn of it; none are all.
func (e Environment) inScope(ctx context.Context, edits []edit.Edit, workspaces []string) error {
	if len(workspaces) == 0 {
		return nil
	}
	own, err := e.tree(ctx, e.ControlPlane, "")
	if err != nil {
		return err
	}
	folders := map[*model.Tree]string{own: e.ControlPlane.Path}
	for _, base := range model.LoadBases(own, e.ControlPlane.Path) {
		shared, err := e.tree(ctx, model.Reference{Repo: base.Spec.Repo, Branch: base.Spec.Branch}, "")
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		folders[shared] = base.Spec.Path
	}
	for i, one := range edits {
		kind, name := one.Object()
		for tree, folder := range folders {
			found, err := edit.Find(tree, folder, kind, name)
			if kind == v1alpha1.KindWorkloadRegistration && err == nil && !(Entity{Kind: kind, Object: found.Fields}).In(workspaces) {
				return &edit.Error{Message: fmt.Sprintf("there is no %s %s in your scope", kind, name), Index: i, Missing: true}
			}
		}
		if one.Operation == edit.PutFile && hasOthers(one.Path, own.Files[one.Path], workspaces) {
			return &edit.Error{Message: one.Path + " has registrations of other workspaces", Index: i, Denied: true}
		}
	}
	return nil
}

// hasOthers is whether a file has a registration of another workspace than some.
func hasOthers(file string, content []byte, workspaces []string) bool {
	found := model.LoadFiles(&model.Tree{Files: map[string][]byte{file: content}}, "").Registrations
	return slices.ContainsFunc(found, func(r model.WorkloadRegistration) bool { return !slices.Contains(workspaces, r.Spec.Workspace) })
}

// Restrict leaves in a plan what is of some workspaces: assignments and files of their deployment
// targets, and findings about files that the edits change. The difference of a file that has
// registrations of others, too, would show those.
func (m *Made) Restrict(workspaces []string) {
	p := &m.Plan
	theirs := map[string]bool{} // deployment targets
	for _, list := range []*[]Assignment{&p.Assignments.Gained, &p.Assignments.Lost, &p.Assignments.Changed} {
		*list = slices.DeleteFunc(*list, func(a Assignment) bool {
			theirs[a.Target] = theirs[a.Target] || slices.Contains(workspaces, a.Workspace)
			return !slices.Contains(workspaces, a.Workspace)
		})
	}
	p.Assignments.GainedCount, p.Assignments.LostCount, p.Assignments.ChangedCount = len(p.Assignments.Gained), len(p.Assignments.Lost), len(p.Assignments.Changed)
	p.Assignments.Same = 0 // which others there are is not theirs to know
	p.Files = slices.DeleteFunc(p.Files, func(f FileChange) bool { return !theirs[f.Target] })
	p.FileCount = len(p.Files)
	p.Configuration = slices.DeleteFunc(p.Configuration, func(c ConfigChange) bool { return !theirs[c.Target] })
	for i, f := range p.Source.Files {
		if hasOthers(f.Path, m.site.head.Files[f.Path], workspaces) || hasOthers(f.Path, m.site.changed[f.Path], workspaces) {
			p.Source.Files[i].Diff = ""
		}
	}
	edited := func(file string) bool {
		return slices.ContainsFunc(p.Source.Files, func(f FileChange) bool { return f.Path == file })
	}
	p.Findings = slices.DeleteFunc(p.Findings, func(f Finding) bool { return !edited(f.File) })
	p.PolicyTests.Failed = slices.DeleteFunc(p.PolicyTests.Failed, func(t FailedTest) bool { return true })
	p.Summary = ""
}

// Outside is the first edit that is about no object of some workspaces, -1 for none: registrations
// and scheduling policies say whose they are, before and after the edits; all else is the
// platform's.
func (m *Made) Outside(workspaces []string) int {
	now := with(m.site.head, m.site.changed)
	of := func(tree *model.Tree, e edit.Edit) bool {
		kind, name := e.Object()
		found, err := edit.Find(tree, m.site.ref.Path, kind, name)
		if err != nil {
			return isMissing(err) // one that is new, or goes
		}
		spec, _ := found.Fields["spec"].(map[string]any)
		var workspace any
		switch kind {
		case v1alpha1.KindWorkloadRegistration:
			workspace = spec["workspace"]
		case v1alpha1.KindSchedulingPolicy:
			selector, _ := spec["deploymentTargetSelector"].(map[string]any)
			workspace = selector["workspace"]
		}
		whose, ok := workspace.(string)
		return ok && slices.Contains(workspaces, whose)
	}
	return slices.IndexFunc(m.Edits, func(e edit.Edit) bool {
		kind, _ := e.Object()
		named := kind == v1alpha1.KindWorkloadRegistration || kind == v1alpha1.KindSchedulingPolicy
		return !named || !of(m.site.head, e) || !of(now, e)
	})
}

// Configurations are the platform configurations that the plan was made with, and those of before.
func (m *Made) Configurations() []model.PlatformConfig { return m.configs }

// In is whether an object is one of some workspaces, or the platform's, which all may see.
func (e Entity) In(workspaces []string) bool {
	spec, _ := e.Object["spec"].(map[string]any)
	name, ok := spec["workspace"].(string)
	return !ok || e.Kind != v1alpha1.KindWorkloadRegistration || slices.Contains(workspaces, name)
}
