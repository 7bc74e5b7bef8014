package workshop

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/scenarios"
	"github.com/kalypso-dev/kalypso/scenarios/engine"
	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/kalypso-dev/kalypso/workshop"
	"github.com/kalypso-dev/kalypso/workshop/seed"
	"github.com/spf13/cobra"
)

func newValidate(a *cmdutil.App, run func(context.Context, *Options) error) *cobra.Command {
	o, c := located(a, &cobra.Command{
		Use:   "validate NAME|DIR|FILE|URL",
		Short: "Check a workshop before a sandbox is made of it",
		Long: `Check a workshop: workshop.yaml against its schema, that all it names is there,
each environment of the control plane as ` + "`kalypso validate`" + ` does, that what the
clusters follow exists, and that every scenario can be read and has a check for
what it lets a user do.

Exits with
  0  when there is no error
  1  when there is
  2  when there is no such workshop, or workshop.yaml is not as it should be`,
		Example: `  kalypso workshop validate ./my-kata`,
	}, run)
	o.Output.AddTo(c, "text", "json")
	return c
}

// validated is all that is found in a workshop.
type validated struct {
	Problems     []workshop.Problem `json:"problems"`
	ControlPlane validate.Report    `json:"controlPlane"`
}

// nowhere is where a workshop's repositories are while it is validated.
var nowhere = workshop.On("http://forge.invalid/kalypso")

func runValidate(ctx context.Context, o *Options) error {
	return o.with(ctx, true, func(w *workshop.Workshop) error {
		loaded, err := w.Load(nowhere)
		if err != nil {
			return err
		}
		reader, err := seed.NewReader(loaded, nowhere)
		if err != nil {
			return err
		}
		v := validated{Problems: []workshop.Problem{}}
		if err := v.follows(ctx, loaded, reader); err != nil {
			return err
		}
		if err := v.scenarios(w); err != nil {
			return err
		}
		if err := v.controlPlane(ctx, loaded, reader); err != nil {
			return err
		}
		err = o.Output.Print(o.App, v, func() error {
			for _, p := range v.Problems {
				if _, err := fmt.Fprintln(o.Out, p); err != nil {
					return err
				}
			}
			_, err := o.Out.Write(report.Text(v.ControlPlane, report.Style{}))
			return err
		})
		if err != nil {
			return err
		}
		if len(v.Problems) > 0 || v.ControlPlane.Reaches(model.Error) {
			return cmdutil.Silent(errors.New("there are errors"))
		}
		o.Messagef("The workshop %s is in order: %d repositories, %d clusters, %d scenarios.", w.Name, len(w.Repositories), len(w.Clusters), len(w.Scenarios.Order)+len(w.Scenarios.Apart))
		return nil
	})
}

// follows reports folders that a cluster follows and that are not there.
func (v *validated) follows(ctx context.Context, w *workshop.Workshop, reader model.Reader) error {
	for i, c := range w.Clusters {
		for j, f := range c.Follows {
			at := []string{"clusters", fmt.Sprint(i), "follows", fmt.Sprint(j), "path"}
			tree, err := reader.Read(ctx, model.Reference{Repo: nowhere.Repositories + "/" + f.Repository, Branch: f.Branch})
			if errors.Is(err, model.ErrNotFound) {
				v.add(w, at, "cluster %s: %s has no branch %s", c.Name, f.Repository, f.Branch)
				continue
			}
			if err != nil {
				return err
			}
			if f.Path != "" && !hasFolder(tree, f.Path) {
				v.add(w, at, "cluster %s: %s@%s has no folder %s", c.Name, f.Repository, f.Branch, f.Path)
			}
		}
	}
	return nil
}

func (v *validated) add(w *workshop.Workshop, at []string, format string, args ...any) {
	v.Problems = append(v.Problems, w.Problem(at, format, args...))
}

func hasFolder(tree *model.Tree, folder string) bool {
	for file := range tree.Files {
		if strings.HasPrefix(file, folder+"/") {
			return true
		}
	}
	return false
}

// scenarios reports scenarios that cannot be read, and steps without a check.
func (v *validated) scenarios(w *workshop.Workshop) error {
	library, err := scenarios.Of(w)
	if err != nil {
		return err
	}
	names := library.Names()
	for _, name := range names {
		text, err := library.Source(name)
		if err != nil {
			return err
		}
		file := path.Join(w.Dir, workshop.ScenarioFolder, name+".txtar")
		for _, f := range engine.Examine(w.Name, name, text) {
			v.Problems = append(v.Problems, workshop.Problem{File: file, Line: f.Line, Message: f.Message})
		}
		info := scenarios.Parse(w.Name, name, text)
		for _, need := range info.Needs {
			if !slices.Contains(names, need) {
				v.Problems = append(v.Problems, workshop.Problem{File: file, Line: 1, Message: fmt.Sprintf("it needs the scenario %s, which is not there", need)})
			}
		}
	}
	return nil
}

// controlPlane validates each environment.
func (v *validated) controlPlane(ctx context.Context, w *workshop.Workshop, reader *seed.Reader) error {
	repo := nowhere.Repositories + "/" + w.ControlPlane.Repository
	control, _ := w.Repository(w.ControlPlane.Repository)
	tree, err := reader.Read(ctx, model.Reference{Repo: repo, Branch: control.Branches[0].Name})
	if err != nil {
		return err
	}
	objects, diagnostics := model.LoadEnvironments(tree, "")
	in := validate.Input{Diagnostics: diagnostics}
	for i, name := range w.ControlPlane.Environments {
		n := slices.IndexFunc(objects, func(e model.EnvironmentObject) bool { return e.Name == name })
		if n < 0 {
			v.add(w, []string{"controlPlane", "environments", fmt.Sprint(i)}, "%s@%s has no Environment object %s", control.Name, tree.Branch, name)
			continue
		}
		in.Known = append(in.Known, name)
		c := objects[n].Spec.ControlPlane
		var s validate.Subject
		if s.Model, err = model.LoadEnvironment(ctx, reader, name, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path}); err != nil {
			return err
		}
		if s.Trees, err = validate.Trees(ctx, reader, s.Model); err != nil {
			return err
		}
		_, err := reader.Read(ctx, model.Reference{Repo: s.Model.GitOps.Repo, Branch: s.Model.GitOps.Branch})
		s.NoGitOps = errors.Is(err, model.ErrNotFound) && s.Model.GitOps.Repo != ""
		in.Subjects = append(in.Subjects, s)
	}
	v.ControlPlane, err = validate.Validate(ctx, in)
	return err
}
