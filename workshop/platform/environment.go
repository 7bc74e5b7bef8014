package platform

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
	"github.com/kalypso-dev/kalypso/scheduler/source"
	"github.com/kalypso-dev/kalypso/scheduler/v1alpha1"
)

// load reads an environment, and copies what it names. Without what all of it needs
// there is no workshop; a workload that cannot be read is left out.
func (b *building) load(ctx context.Context, object model.EnvironmentObject) error {
	spec := object.Spec.ControlPlane
	at := func(field string) model.Position { return object.At("spec", "controlPlane", field) }
	if err := b.need(ctx, "the environment's branch", spec.Repo, spec.Branch, at); err != nil {
		return err
	}
	ref := model.Reference{Repo: spec.Repo, Branch: spec.Branch, Path: spec.Path}
	env, err := model.LoadEnvironment(ctx, b.clones, object.Name, ref, model.Tolerant(func(err error) (string, string) {
		return redact.Text(err.Error()), "the workload is left out"
	}))
	if err != nil {
		return err
	}
	for _, d := range model.Errors(env.Diagnostics) {
		if len(env.BaseRepos) == 0 || env.BaseUnreadable && d.Code != model.MissingReference {
			return &source.Error{Message: fmt.Sprintf("%s: %s", d.Position, d.Message), Hint: d.Hint}
		}
	}
	for _, base := range env.BaseRepos {
		at := func(field string) model.Position { return base.At("spec", field) }
		if err := b.need(ctx, "the base repository", base.Spec.Repo, base.Spec.Branch, at); err != nil {
			return err
		}
		if base.Spec.Commit != "" {
			one := b.clones.get(ctx, base.Spec.Repo)
			if _, err := one.git.run(ctx, nil, "cat-file", "-e", base.Spec.Commit+"^{commit}"); err != nil {
				return &source.Error{
					Message: fmt.Sprintf("%s: %s has no commit %s", at("commit"), withoutUser(base.Spec.Repo), base.Spec.Commit),
					Hint:    "fetch it in the clone, or promote another commit",
				}
			}
		}
		if err := b.checkCycle(ctx, base, nil); err != nil {
			return err
		}
	}
	if env.GitOps.Repo == "" {
		b.note(object.Position, "environment %s says nowhere where its manifests go, so that no cluster follows it", env.Name)
	} else {
		at := func(field string) model.Position { return env.GitOpsRepo.At("spec", field) }
		if err := b.need(ctx, "the GitOps repository", env.GitOps.Repo, env.GitOps.Branch, at); err != nil {
			return err
		}
	}
	b.nameWorkloads(ctx, env)
	e := environment{Environment: env}
	if err := b.render(ctx, &e); err != nil {
		return err
	}
	b.environments = append(b.environments, e)
	return ctx.Err()
}

// need names a repository and a branch that an environment cannot do without.
func (b *building) need(ctx context.Context, what, repo, branch string, at func(field string) model.Position) error {
	one := b.clones.name(ctx, repo, branch, at("repo"))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case one.err != nil:
		return &source.Error{
			Message: redact.Text(fmt.Sprintf("%s: %s cannot be read: %s: %v", at("repo"), what, withoutUser(repo), one.err)),
			Hint:    fmt.Sprintf("correct the address, or name a clone with --clone %s=PATH", withoutUser(repo)),
			Err:     one.err,
		}
	case !one.has(branch):
		return &source.Error{
			Message: fmt.Sprintf("%s: %s cannot be read: %s has no branch %s, only %s", at("branch"), what, one.urls[0], branch, abridged(one.branches)),
			Hint:    fmt.Sprintf("correct the name, or fetch the branch in the clone: git fetch origin %s:%[1]s", branch),
		}
	}
	return nil
}

func abridged(names []string) string {
	if len(names) > 10 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:10], ", "), len(names)-10)
	}
	return strings.Join(names, ", ")
}

// checkCycle follows base repositories that name base repositories. The scheduler
// reads one step of that; a cycle is a mistake in any case.
func (b *building) checkCycle(ctx context.Context, base model.BaseRepo, before []model.BaseRepo) error {
	same := func(other model.BaseRepo) bool {
		x, y := base.Spec, other.Spec
		return source.Identity(x.Repo, "/") == source.Identity(y.Repo, "/") && x.Branch == y.Branch &&
			model.CleanFolder(x.Path) == model.CleanFolder(y.Path)
	}
	if i := slices.IndexFunc(before, same); i >= 0 {
		return &source.Error{
			Message: fmt.Sprintf("%s: BaseRepo %s leads in a circle: %s leads here", base.Position, base.Name, before[i].Position),
			Hint:    "remove one of them",
		}
	}
	ref := model.Reference{Repo: base.Spec.Repo, Branch: base.Spec.Branch, Path: base.Spec.Path, Commit: base.Spec.Commit}
	tree, err := b.clones.Read(ctx, ref)
	if err != nil {
		return nil // need has reported it, or nothing reads it
	}
	for file, content := range tree.Files {
		if !model.Within(file, model.CleanFolder(ref.Path)) || !strings.Contains(string(content), v1alpha1.KindBaseRepo) {
			continue
		}
		next, err := model.LoadEnvironment(ctx, bounded{b.clones, ref}, base.Name, ref)
		if err != nil {
			return err
		}
		for _, further := range next.BaseRepos {
			if err := b.checkCycle(ctx, further, append(before, base)); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// bounded reads nothing but one reference.
type bounded struct {
	reader model.Reader
	only   model.Reference
}

func (r bounded) Read(ctx context.Context, ref model.Reference) (*model.Tree, error) {
	if ref.Repo != r.only.Repo || ref.Branch != r.only.Branch || ref.Commit != r.only.Commit {
		return nil, model.ErrNotFound
	}
	return r.reader.Read(ctx, ref)
}

// nameWorkloads copies what registrations and deployment targets name.
func (b *building) nameWorkloads(ctx context.Context, env *model.Environment) {
	for _, r := range env.Registrations {
		w := r.Spec.Workload
		one := b.clones.name(ctx, w.Repo, w.Branch, r.At("spec", "workload", "repo"))
		if one.err != nil {
			b.note(r.At("spec", "workload", "repo"), "workload %s is left out: %s cannot be read: %v", r.Name, withoutUser(w.Repo), one.err)
		} else if !one.has(w.Branch) {
			b.note(r.At("spec", "workload", "branch"), "workload %s is left out: %s has no branch %s", r.Name, one.urls[0], w.Branch)
		}
	}
	for _, d := range model.Errors(env.Diagnostics) {
		if d.Code != model.MissingReference { // reported above, with the reason
			b.note(d.Position, "left out: %s", d.Message)
		}
	}
	for _, w := range env.Workloads {
		for i, target := range w.Spec.DeploymentTargets {
			repo, branch := target.Manifests["repo"], target.Manifests["branch"]
			if target.Environment != env.Name || repo == "" {
				continue
			}
			at := w.At("spec", "deploymentTargets", strconv.Itoa(i), "manifests", "repo")
			one := b.clones.name(ctx, repo, branch, at)
			if one.err != nil {
				b.note(at, "deployment target %s has no manifests: %s cannot be read: %v", target.Name, withoutUser(repo), one.err)
			} else if branch != "" && !one.has(branch) {
				b.note(w.At("spec", "deploymentTargets", strconv.Itoa(i), "manifests", "branch"),
					"deployment target %s has no manifests: %s has no branch %s", target.Name, one.urls[0], branch)
			}
		}
	}
}

// render plans the environment, and names what its reconcilers are told to fetch:
// in the files of the plan, and in those that the GitOps branch has.
func (b *building) render(ctx context.Context, e *environment) error {
	if e.GitOps.Repo == "" {
		return nil
	}
	now, err := b.clones.Read(ctx, e.GitOps)
	if err != nil {
		return err
	}
	if e.plan, err = plan.New(ctx, e.Environment, now); err != nil {
		return err
	}
	files := maps.Clone(now.Files)
	maps.Copy(files, e.plan.Files())
	e.rendered = map[string][]fetched{}
	root := model.CleanFolder(e.GitOps.Path)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" || !model.Within(file, root) {
			continue
		}
		clusterType, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(file, root), "/"), "/")
		for _, f := range fetchedBy(files[file]) {
			e.rendered[clusterType] = append(e.rendered[clusterType], f)
			if f.chart || f.url == "" {
				continue
			}
			at := model.Position{Repo: e.GitOps.Repo, Branch: e.GitOps.Branch, File: file}
			if one := b.clones.name(ctx, f.url, f.branch, at); one.err != nil {
				b.note(at, "what it names is left out: %s cannot be read: %v", withoutUser(f.url), one.err)
			}
		}
	}
	return nil
}

func cmpPositions(x, y model.Position) int {
	return cmp.Or(cmp.Compare(x.Repo, y.Repo), cmp.Compare(x.Branch, y.Branch), cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
}
