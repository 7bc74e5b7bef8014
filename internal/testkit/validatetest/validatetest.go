// Package validatetest validates repositories that are written down as text. It is
// no part of the product.
package validatetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/rogpeppe/go-internal/txtar"
)

// Input loads all environments that the branch main of a control plane
// defines.
func Input(repos *modeltest.Repositories, controlPlane string) (validate.Input, error) {
	ctx := context.Background()
	objects, diagnostics := model.LoadEnvironments(repos.Tree(controlPlane, "main"), "")
	in := validate.Input{Diagnostics: diagnostics}
	for _, o := range objects {
		in.Known = append(in.Known, o.Name)
		c := o.Spec.ControlPlane
		env, err := model.LoadEnvironment(ctx, repos, o.Name, model.Reference{Repo: c.Repo, Branch: c.Branch, Path: c.Path})
		if err != nil {
			return in, err
		}
		trees, err := validate.Trees(ctx, repos, env)
		if err != nil {
			return in, err
		}
		noGitOps := env.GitOps.Repo != "" && repos.Tree(strings.TrimPrefix(env.GitOps.Repo, modeltest.Forge), env.GitOps.Branch) == nil
		in.Subjects = append(in.Subjects, validate.Subject{Model: env, Trees: trees, NoGitOps: noGitOps})
	}
	return in, nil
}

// Change writes files of a txtar archive into repositories: those whose names begin
// with the prefix and go on as modeltest's do. An empty file removes the one of
// its name.
func Change(repos *modeltest.Repositories, archive *txtar.Archive, prefix string) error {
	for _, file := range archive.Files {
		name, ok := strings.CutPrefix(file.Name, prefix)
		repo, rest, isFile := strings.Cut(name, "@")
		if !ok || !isFile || strings.Contains(repo, "/") {
			continue
		}
		branch, path, _ := strings.Cut(rest, "/")
		if path == "" {
			return fmt.Errorf("no path in %s", file.Name)
		}
		if len(file.Data) == 0 {
			repos.Remove(repo, branch, path)
			continue
		}
		repos.Write(repo, branch, path, file.Data)
	}
	return nil
}
